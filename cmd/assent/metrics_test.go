package main

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"assent/broker"
	"assent/internal/hook"
)

// Whatever a record says, the metrics do not grow by it.
func TestRequestMetricsAreBounded(t *testing.T) {
	m := newRequestMetrics()
	count := func() (n int) {
		ch := make(chan prometheus.Metric, 1000)
		m.settled.Collect(ch)
		return len(ch)
	}
	before := count()
	for i := range 100 {
		v := &broker.View{Outcome: hook.Outcome(fmt.Sprint("outcome ", i)), DecidedBy: &hook.Approver{Kind: fmt.Sprint("kind ", i)}}
		m.recorded(hook.StepEnded, v)
	}
	if n := count(); n > before+1 {
		t.Errorf("%d series, %d before", n, before)
	}
}
