package notify

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestCollectors: all is shown from the start, and each try counts once.
func TestCollectors(t *testing.T) {
	p := &Push{status: map[string]*sendStatus{}, notices: []Notice{{Name: "a"}, {Name: "b"}}, devices: map[string]*stored{
		"d": {record: record{Subscription: &Subscription{Endpoint: "https://push.example/secret"}}}, "off": {},
	}}
	p.counts = newCounts(p)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p.Collectors()...)
	p.counts.sent(true, true)
	p.counts.sent(true, false)
	p.counts.sent(true, false)
	p.counts.sent(false, true)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"assent_push_deliveries_total device": 1, "assent_push_deliveries_total notice": 1,
		"assent_push_failures_total device": 2, "assent_push_failures_total notice": 0,
		"assent_push_news_dropped_total": 0,
		"assent_push_targets device":     1, "assent_push_targets notice": 2,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
}
