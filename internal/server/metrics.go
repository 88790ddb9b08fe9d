package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/machines"
)

// metrics counts what the operator watches. Its labels come from fixed lists, never from
// outside, so that nobody can make it grow.
type metrics struct {
	registry    *prometheus.Registry
	events      *prometheus.CounterVec // by type
	answers     *prometheus.CounterVec // by outcome
	decisions   *prometheus.CounterVec // by kind of approver
	unreadable  prometheus.Counter
	oversize    prometheus.Counter
	unpublished prometheus.Counter
	eventTime   prometheus.Histogram
	answerTime  prometheus.Histogram
	sockets     prometheus.Gauge
	watching    *prometheus.GaugeVec // by kind of approver
	dropped     prometheus.Counter
	unsigned    prometheus.Counter
	unverified  prometheus.Counter
	unknown     prometheus.Counter
	unpaired    *prometheus.CounterVec // by step of pairing
}

func newMetrics(version string, hooks *machines.Register, pending, waiting, ruleProblems func() int) metrics {
	m := metrics{registry: prometheus.NewRegistry()}
	one := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	vec := func(name, label, help string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		m.registry.MustRegister(c)
		for _, v := range values { // there from the start, as 0: the first one is an increase, too
			c.WithLabelValues(v)
		}
		return c
	}
	gauge := func(name, help string, n func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) }))
	}
	m.events = vec("assent_events_total", "type", "Hook events received.", append(slices.Clone(eventTypes), "other")...)
	m.unreadable = one("assent_events_unreadable_total", "Hook payloads that could not be read.")
	m.oversize = one("assent_events_oversize_total", "Hook payloads too large to be read or held.")
	m.unpublished = one("assent_events_unpublished_total", "Hook events that could not be made durable.")
	m.answers = vec("assent_hook_answers_total", "outcome", "How the waits of hooks at this broker ended.", hookAnswers...)
	m.decisions = vec("assent_decisions_total", "kind", "Decisions taken here, by kind of approver.", append(slices.Clone(approverKinds), hook.KindRule)...)
	m.dropped = one("assent_websockets_dropped_total", "WebSockets closed because their client was too slow.")
	m.unsigned = one("assent_signatures_refused_total", "What devices sent and their key did not sign: decisions, rules, subscriptions.")
	m.unverified = one("assent_verifications_refused_total", "What came without the verification of a device's owner that it needed, or with one that does not hold.")
	m.unknown = one("assent_credentials_refused_total", "Tokens, bearers and tickets that were presented and are none.")
	m.unpaired = vec("assent_pairing_failures_total", "step", "Pairings refused: a wrong, used or expired code or secret, or too many starts.",
		"redeem", "join", "start", "poll", "confirm")
	timing := func(name, help string, buckets ...float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		m.registry.MustRegister(h)
		return h
	}
	m.eventTime = timing("assent_hook_event_seconds", "What a plain event's hook was kept for, until the event was durable.",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5)
	m.answerTime = timing("assent_hook_answer_seconds", "From the moment of a decision until its waiting hook had it, durable.",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30)
	m.watching = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "assent_approver_connections", Help: "Open WebSockets of those who may decide."}, []string{"kind"})
	m.registry.MustRegister(m.watching)
	for _, kind := range approverKinds {
		m.watching.WithLabelValues(kind)
	}
	m.sockets = prometheus.NewGauge(prometheus.GaugeOpts{Name: "assent_websockets", Help: "Open WebSockets."})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "assent_build_info", Help: "The version that runs.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.sockets, build)
	gauge("assent_requests_pending", "Requests that wait for an answer.", pending)
	gauge("assent_rules_problems", "What is wrong with the files of rules; above 0, see GET /v1/rules.", ruleProblems)
	for _, mode := range machines.Silent {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "assent_sessions_not_asking", Help: "Sessions heard of within a day whose permission mode asks for nothing, or hardly anything.",
			ConstLabels: prometheus.Labels{"mode": mode},
		}, func() float64 { return float64(hooks.NotAsking(mode, time.Now())) }))
	}
	gauge("assent_machines_differing", "Machines whose hooks are of another version than this broker.", hooks.Differing)
	gauge("assent_hooks_waiting", "Hooks connected to this broker that wait.", waiting)
	return m
}

// hookAnswers are how the wait of a hook may end.
var hookAnswers = []string{"allowed", "denied", "expired", "withdrawn", "handed_back", "gone", "refused"}

// approverKinds are those of credentials that may decide.
var approverKinds = []string{"device", hook.KindOwner, "token"}

// watches counts one more WebSocket of an approver, and returns a function that ends the count.
func (m *metrics) watches(kind string) (ends func()) {
	g := m.watching.WithLabelValues(kind)
	g.Inc()
	return g.Dec
}

// eventTypes are the events of all agents' hooks, sorted; another one is counted as "other".
var eventTypes = agents.Events()

func (m *metrics) event(eventType string) {
	if _, ok := slices.BinarySearch(eventTypes, eventType); !ok {
		eventType = "other"
	}
	m.events.WithLabelValues(eventType).Inc()
}

// answer counts how the wait of a hook ended: an outcome, "gone" (the hook went away) or
// "refused" (the request could not be taken).
func (m *metrics) answer(outcome string) {
	if !slices.Contains(hookAnswers, outcome) { // a damaged record's
		outcome = "refused"
	}
	m.answers.WithLabelValues(outcome).Inc()
}

func (m *metrics) decision(kind string) { m.decisions.WithLabelValues(kind).Inc() }

// pairingFailed counts a refusal at redeem, join, start, poll or confirm.
func (m *metrics) pairingFailed(step string) { m.unpaired.WithLabelValues(step).Inc() }

// handler is GET /metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
}
