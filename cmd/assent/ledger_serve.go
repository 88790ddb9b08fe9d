package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/agent/claude"
	"assent/internal/outlet/ledger"
	"assent/internal/store/stream"
)

// newLedger makes what writes the ledgers of this machine's repositories. Its place is in a file of
// this state directory: several brokers of one cluster each write their own machine's.
func newLedger(stateDir string, streams *stream.Stream, tools claude.MutationTools, logf func(string, ...any)) (*ledger.Follower, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find this machine's name for the ledgers: %w", err)
	}
	return ledger.NewFollower(ledger.Config{
		Path:   filepath.Join(stateDir, "ledger.json"),
		Events: streams.EventsAfter, EventsNow: streams.EventsNow, EventBounds: streams.EventBounds, Mutation: claude.MutationOf(tools),
		Host: host, Logf: logf,
	}), nil
}

// ledgerMetrics are what an operator watches of the ledgers; none without any.
func ledgerMetrics(f *ledger.Follower) (list []prometheus.Collector) {
	if f == nil {
		return nil
	}
	counter := func(name, help string, n func(ledger.Stats) uint64) {
		list = append(list, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(n(f.Stats())) }))
	}
	counter("assent_ledger_stored_total", "Mutations that are in the ledger of their work tree.", func(s ledger.Stats) uint64 { return s.Stored })
	counter("assent_ledger_failed_total", "Mutations whose ledger could not be written when they came.", func(s ledger.Stats) uint64 { return s.Failed })
	counter("assent_ledger_unreadable_total", "Tool events that cannot be read as mutations.", func(s ledger.Stats) uint64 { return s.Unreadable })
	counter("assent_ledger_elsewhere_total", "Mutations on other machines or outside of a git work tree.", func(s ledger.Stats) uint64 { return s.Elsewhere + s.NoRepo })
	counter("assent_ledger_lost_total", "Work trees whose mutations left the event stream before they could be stored.", func(s ledger.Stats) uint64 { return s.Lost })
	gauge := func(name, help string, n func(ledger.Stats) float64) {
		list = append(list, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return n(f.Stats()) }))
	}
	gauge("assent_ledger_waiting", "Work trees whose ledger cannot be written; what they miss is in the event stream.", func(s ledger.Stats) float64 { return float64(s.Held) })
	gauge("assent_ledger_sequence", "Sequence of the last event that the ledgers are done with.", func(s ledger.Stats) float64 { return float64(s.Seq) })
	return list
}
