// Package metrics says in Prometheus' words what a broker does: requests by what the record says of them,
// streams, the spool, what is kept beside requests, and who could decide. Each outlet has its own.
//
// Labels come from fixed lists, whatever a record holds, so that nothing grows by it.
//
// # Concurrency
//
// All functions and methods may be called from any goroutine.
package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"assent/broker"
	"assent/hookclient"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/reqcontext"
	"assent/internal/store/stream"
)

// Requests count requests by what the record says of them, so that one whose hook came back
// to another broker is counted once.
type Requests struct {
	asked     prometheus.Counter
	overruled prometheus.Counter
	settled   *prometheus.HistogramVec
}

// NewRequests makes them.
func NewRequests() *Requests {
	m := &Requests{
		asked:     prometheus.NewCounter(prometheus.CounterOpts{Name: "assent_requests_total", Help: "Permission requests taken."}),
		overruled: prometheus.NewCounter(prometheus.CounterOpts{Name: "assent_requests_overruled_total", Help: "Denied requests whose tool ran all the same."}),
		settled: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "assent_request_wait_seconds",
			Help:    "From a request's arrival to its end, by outcome and kind of decider (none: nobody decided).",
			Buckets: []float64{.01, .1, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400},
		}, []string{"outcome", "decider"}),
	}
	// There from the start, as 0: the first one is an increase, too.
	for _, kind := range deciders {
		m.settled.WithLabelValues(string(hook.Allowed), kind)
		m.settled.WithLabelValues(string(hook.Denied), kind)
	}
	for _, outcome := range []hook.Outcome{hook.Expired, hook.Withdrawn, hook.HandedBack} {
		m.settled.WithLabelValues(string(outcome), "none")
	}
	return m
}

// deciders are the kinds of approvers.
var deciders = []string{hook.KindRule, "device", "token", hook.KindOwner}

// Recorded is a broker's Config.Recorded. Another replica's requests are that one's to count.
func (m *Requests) Recorded(step hook.Step, v *broker.View) {
	if v.HeldElsewhere {
		return
	}
	switch step {
	case hook.StepAsked:
		m.asked.Inc()
	case hook.StepDecided, hook.StepEnded:
		m.settled.WithLabelValues(settledAs(v.Outcome), decider(v.DecidedBy)).Observe(max(0, v.SettledAt.Sub(v.CreatedAt).Seconds()))
	case hook.StepOverruled:
		m.overruled.Inc()
	}
}

// settledAs is a label from a fixed list, whatever the record says.
func settledAs(o hook.Outcome) string {
	switch o {
	case hook.Allowed, hook.Denied, hook.Expired, hook.Withdrawn, hook.HandedBack:
		return string(o)
	}
	return "other"
}

// decider is a label from a fixed list, whatever the record says.
func decider(by *hook.Approver) string {
	switch {
	case by == nil:
		return "none"
	case slices.Contains(deciders, by.Kind):
		return by.Kind
	}
	return "other"
}

// Collectors are those of the requests.
func (m *Requests) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.asked, m.overruled, m.settled}
}

// streamMetrics ask the streams when they are looked at. What does not answer is left out.
type streamMetrics struct {
	streams *stream.Stream
	// followers say up to which event each reader of EVENTS is done.
	followers map[string]func() uint64

	messages, bytes, lag, free *prometheus.Desc
}

// Streams is about the streams. followers say up to which event each reader of EVENTS is done.
func Streams(streams *stream.Stream, followers map[string]func() uint64) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &streamMetrics{
		streams: streams, followers: followers,
		messages: desc("assent_stream_messages", "Messages that a stream holds.", "stream"),
		bytes:    desc("assent_stream_bytes", "Size of a stream.", "stream"),
		lag:      desc("assent_stream_lag_events", "Events that a reader of the event stream is behind.", "consumer"),
		free:     desc("assent_state_free_bytes", "Space that the disk of the state directory still has."),
	}
}

func (m *streamMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.messages, m.bytes, m.lag, m.free} {
		to <- d
	}
}

func (m *streamMetrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	cursors := make(map[string]uint64, len(m.followers))
	for name, cursor := range m.followers { // first: they may move meanwhile
		cursors[name] = cursor()
	}
	if _, newest, err := m.streams.EventBounds(ctx); err == nil {
		for name, cursor := range cursors {
			gauge(m.lag, float64(newest-min(cursor, newest)), name)
		}
	}
	for _, name := range []string{stream.EventsStream, stream.RecordStream} {
		if messages, bytes, err := m.streams.Size(ctx, name); err == nil {
			gauge(m.messages, float64(messages), name)
			gauge(m.bytes, float64(bytes), name)
		}
	}
	if free, err := m.streams.Free(); err == nil {
		gauge(m.free, float64(free))
	}
}

// Spool shows the spool of this machine, which lies in dir.
func Spool(dir string) []prometheus.Collector {
	waiting := func() float64 {
		bytes, err := hookclient.Waiting(dir)
		if err != nil {
			return 0 // what cannot be read is said by the log
		}
		return float64(bytes)
	}
	lost := func(of func(dropped, torn int) int) func() float64 {
		return func() float64 {
			dropped, torn, err := hookclient.Lost(dir)
			if err != nil {
				return 0
			}
			return float64(of(dropped, torn))
		}
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_spool_bytes", Help: "Size of the events that wait in the spool."}, waiting),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assent_spool_dropped_total", Help: "Spooled events that made room for newer ones."},
			lost(func(dropped, _ int) int { return dropped })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assent_spool_unreadable_total", Help: "Spooled events that could not be read back."},
			lost(func(_, torn int) int { return torn })),
	}
}

// Contexts shows what is kept in memory beside the requests that wait.
func Contexts(s *reqcontext.Store) []prometheus.Collector {
	dropped := func(part string, n func(files, all uint64) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "assent_context_dropped_total", Help: "What people were not shown beside requests, because its memory was full.", ConstLabels: prometheus.Labels{"part": part},
		}, func() float64 { return float64(n(s.Dropped())) })
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_context_bytes", Help: "Memory for what is shown beside the requests that wait."},
			func() float64 { _, bytes := s.Held(); return float64(bytes) }),
		dropped("file", func(files, _ uint64) uint64 { return files }),
		dropped("all", func(_, all uint64) uint64 { return all }),
	}
}

// Approvers counts who could decide, by kind, whether they look or not.
func Approvers(who *auth.Auth) []prometheus.Collector {
	gauge := func(kind string, n func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "assent_approvers", Help: "Credentials that may decide.", ConstLabels: prometheus.Labels{"kind": kind},
		}, func() float64 { return float64(n()) })
	}
	return []prometheus.Collector{
		gauge("device", func() (n int) {
			for _, d := range who.Devices() {
				if d.Role.Includes(auth.RoleApprove) {
					n++
				}
			}
			return n
		}),
		gauge("token", func() (n int) {
			for _, t := range who.Tokens() {
				if t.Role.Includes(auth.RoleApprove) && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(time.Now())) {
					n++
				}
			}
			return n
		}),
	}
}

// Process is what Go and the operating system say.
func Process() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
}
