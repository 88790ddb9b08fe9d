package metrics

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assent/broker"
	"assent/internal/hook"
)

// Whatever a record says, the metrics do not grow by it.
func TestRequestMetricsAreBounded(t *testing.T) {
	m := NewRequests()
	count := func() (n int) {
		ch := make(chan prometheus.Metric, 1000)
		m.settled.Collect(ch)
		return len(ch)
	}
	before := count()
	for i := range 100 {
		v := &broker.View{Outcome: hook.Outcome(fmt.Sprint("outcome ", i)), DecidedBy: &hook.Approver{Kind: fmt.Sprint("kind ", i)}}
		m.Recorded(hook.StepEnded, v)
	}
	if n := count(); n > before+1 {
		t.Errorf("%d series, %d before", n, before)
	}
}

// A request is counted where it is held, and once for each thing that became of it.
func TestRequests(t *testing.T) {
	m := NewRequests()
	at := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)
	v := &broker.View{Request: hook.Request{CreatedAt: at}, Outcome: hook.Allowed, DecidedBy: &hook.Approver{Kind: "device"}, SettledAt: at.Add(3 * time.Second)}
	for _, step := range []hook.Step{hook.StepAsked, hook.StepDecided, hook.StepOverruled} {
		m.Recorded(step, v)
		elsewhere := *v
		elsewhere.HeldElsewhere = true
		m.Recorded(step, &elsewhere)
	}
	all := prometheus.NewRegistry()
	all.MustRegister(m.Collectors()...)
	families, err := all.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			switch {
			case x.Counter != nil:
				got[f.GetName()] = fmt.Sprint(x.Counter.GetValue())
			case x.Histogram.GetSampleCount() > 0:
				var labels []string
				for _, l := range x.GetLabel() {
					labels = append(labels, l.GetValue())
				}
				got[f.GetName()] += fmt.Sprint(labels, x.Histogram.GetSampleCount(), x.Histogram.GetSampleSum())
			}
		}
	}
	want := map[string]string{"assent_requests_total": "1", "assent_requests_overruled_total": "1", "assent_request_wait_seconds": "[device allowed] 1 3"}
	if !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
}

// The labels are there before the first request, so that the first one is an increase.
func TestRequestsAreThereAtZero(t *testing.T) {
	m := NewRequests()
	ch := make(chan prometheus.Metric, 1000)
	m.settled.Collect(ch)
	if n := len(ch); n != 2*len(deciders)+3 {
		t.Errorf("%d series", n)
	}
}
