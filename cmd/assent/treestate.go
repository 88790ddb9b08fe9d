package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/api"
	"assent/internal/store/tree"
	"assent/internal/text/show"
)

// treeMetrics says whether the tree over the record stands still; a broker without one has stopped.
func treeMetrics(t *tree.Log) []prometheus.Collector {
	gauge := func(name, help string, n func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, n)
	}
	return []prometheus.Collector{
		gauge("assent_record_tree_stopped", "1 while the tree over the record takes nothing more: the record is not what the tree says, or is damaged.", func() float64 {
			if t == nil || t.Stopped() != nil {
				return 1
			}
			return 0
		}),
		gauge("assent_record_tree_late_entries", "Entries of the record that have waited for their checkpoint for more than two minutes.", func() float64 {
			if t == nil {
				return 0
			}
			return float64(t.Health().Late)
		}),
	}
}

// warnOfTree says that the broker cannot prove its record, or not all of it. Nothing that waits for an answer depends on that.
func (a *app) warnOfTree(ctx context.Context) {
	b, err := a.broker()
	if err != nil {
		return
	}
	var c api.Checkpoint
	if err := b.call(ctx, http.MethodGet, "/v1/audit/checkpoint", nil, &c); err != nil {
		return // assent doctor says why
	}
	switch {
	case c.Stopped != "":
		fmt.Fprintln(a.err, "assent: the tree over the record has stopped: "+show.Line(c.Stopped))
	case c.Late != "":
		fmt.Fprintln(a.err, "assent: the tree over the record does not keep up; "+show.Line(c.Late))
	}
}
