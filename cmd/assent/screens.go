package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/screens"
)

// screenMetrics count what the record was told of who had what on the screen.
func screenMetrics(r *screens.Recorder) []prometheus.Collector {
	counter := func(name, help string, n func() uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(n()) })
	}
	return []prometheus.Collector{
		counter("assent_shown_recorded_total", "Entries of the record about who had a request on the screen.", func() uint64 { n, _ := r.Counts(); return n }),
		counter("assent_shown_dropped_total", "Devices that had a request on the screen, of which the record was not told: it was too slow.", func() uint64 { _, n := r.Counts(); return n }),
	}
}
