package server

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// metrics counts what the operator watches. It is written by hand in the Prometheus text
// format: a handful of counters does not need a client library.
type metrics struct {
	version     string
	pending     func() int
	waiting     func() int
	events      counterVec // by type
	answers     counterVec // by outcome
	decisions   counterVec // by kind of approver
	unreadable  counter
	oversize    counter
	unpublished counter
	sockets     counter // a gauge: it goes down too
	dropped     counter
}

type counter struct{ n atomic.Int64 }

func (c *counter) add(d int64) { c.n.Add(d) }

// counterVec counts by one label. Its values come from fixed lists, never from outside.
type counterVec struct {
	mu sync.Mutex
	n  map[string]int64 // guarded by mu
}

func (c *counterVec) add(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[label]++
}

// eventTypes are Claude Code's 33 hook events; another one is counted as "other".
var eventTypes = []string{
	"ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult",
	"FileChanged", "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied",
	"PermissionRequest", "PostCompact", "PostModelSwitch", "PostToolBatch", "PostToolUse",
	"PostToolUseFailure", "PreCompact", "PreModelSwitch", "PreToolUse", "SessionEnd",
	"SessionStart", "Setup", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
	"TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion", "UserPromptSubmit",
	"WorktreeCreate", "WorktreeRemove",
}

func (m *metrics) event(eventType string) {
	if _, ok := slices.BinarySearch(eventTypes, eventType); !ok {
		eventType = "other"
	}
	m.events.add(eventType)
}

// answer counts how the wait of a hook ended: an outcome, "gone" (the hook went away) or
// "refused" (the request could not be taken).
func (m *metrics) answer(outcome string) { m.answers.add(outcome) }

func (m *metrics) decision(kind string) { m.decisions.add(kind) }

// serve is GET /metrics.
func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, n int64) {
		family(name, kind, help)
		fmt.Fprintf(&b, "%s %d\n", name, n)
	}
	vec := func(name, label, help string, c *counterVec) {
		family(name, "counter", help)
		c.mu.Lock()
		defer c.mu.Unlock()
		labels := make([]string, 0, len(c.n))
		for l := range c.n {
			labels = append(labels, l)
		}
		slices.Sort(labels)
		for _, l := range labels {
			fmt.Fprintf(&b, "%s{%s=%s} %d\n", name, label, strconv.Quote(l), c.n[l])
		}
	}
	family("assent_build_info", "gauge", "The version that runs.")
	fmt.Fprintf(&b, "assent_build_info{version=%s} 1\n", strconv.Quote(m.version))
	vec("assent_events_total", "type", "Hook events received.", &m.events)
	one("assent_events_unreadable_total", "counter", "Hook payloads that could not be read.", m.unreadable.n.Load())
	one("assent_events_oversize_total", "counter", "Hook payloads too large to be read or held.", m.oversize.n.Load())
	one("assent_events_unpublished_total", "counter", "Hook events that could not be made durable.", m.unpublished.n.Load())
	vec("assent_hook_answers_total", "outcome", "How the waits of hooks at this broker ended.", &m.answers)
	vec("assent_decisions_total", "kind", "Decisions taken here, by kind of approver.", &m.decisions)
	one("assent_requests_pending", "gauge", "Requests that wait for an answer.", int64(m.pending()))
	one("assent_hooks_waiting", "gauge", "Hooks connected to this broker that wait.", int64(m.waiting()))
	one("assent_websockets", "gauge", "Open WebSockets.", m.sockets.n.Load())
	one("assent_websockets_dropped_total", "counter", "WebSockets closed because their client was too slow.", m.dropped.n.Load())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // the client is gone if this fails
}
