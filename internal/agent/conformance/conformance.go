// Package conformance checks hook events against their schemas, beside the way that they take: a
// newer agent that sends something else is seen before anything breaks by it. Nothing is refused or
// held up for it, and nothing waits for it.
//
// # Concurrency
//
// All methods may be called from any goroutine. One goroutine checks: the one that runs Run.
package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/hook"
	"assent/internal/text/show"
	"assent/schemas"
)

// Bounds of what waits to be checked. An event beyond them is counted, and not checked.
const (
	maxEvent  = 1 << 20 // bytes of one
	maxQueued = 4 << 20 // bytes of all
	maxEvents = 1024
)

// maxKinds is how many pairs of event and path are kept apart.
const maxKinds = 200

// claude is the agent whose events there are schemas of.
const claude = "claude"

// Other is the event of what has no schema of its own.
const Other = "other"

// Mismatch is one way in which events of a type differed from their schema (schema
// SchemaMismatches).
type Mismatch struct {
	Event string `json:"event"`
	// Path is the JSON pointer to the first member that differs, by name; "" for the event as a
	// whole. It is safe to show.
	Path    string    `json:"path"`
	Problem string    `json:"problem"` // of the last one
	Count   uint64    `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Report is what was found since the start.
type Report struct {
	Checked    uint64     `json:"checked"`
	Unchecked  uint64     `json:"unchecked"`
	Mismatches []Mismatch `json:"mismatches"` // the most frequent first
}

// Checker checks events. Make it with New.
type Checker struct {
	queue     chan item
	queued    atomic.Int64 // bytes in queue
	unchecked atomic.Uint64
	types     map[string]bool // events with a schema
	contract  func(agent, event string, raw []byte) error
	counts    *prometheus.CounterVec

	mu      sync.Mutex
	checked uint64             // guarded by mu
	kinds   map[kind]*Mismatch // guarded by mu
}

type item struct {
	agent, event string
	raw          []byte
}

type kind struct{ event, path string }

// New returns a Checker; Run makes it work. contract says what of an event is not as another agent than
// Claude Code, of which there are schemas, sends it; nil: the events of others are not checked.
func New(contract func(agent, event string, raw []byte) error) *Checker {
	c := &Checker{
		contract: contract,
		queue:    make(chan item, maxEvents), types: map[string]bool{}, kinds: map[kind]*Mismatch{},
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assent_schema_mismatches_total", Help: "Hook events that are not as their schema describes them. Nothing is refused for it.",
		}, []string{"event"}),
	}
	for _, name := range schemas.Names() {
		if event, ok := strings.CutPrefix(name, "hooks/"); ok && event != "Base" {
			c.types[event] = true
			c.counts.WithLabelValues(event) // there from the start, as 0
		}
	}
	c.counts.WithLabelValues(Other)
	return c
}

// Watch returns publish, and has every event checked that it published. Only what an agent's hook
// sent counts: what assent or hookd-emit made of it is no payload of the agent.
func (c *Checker) Watch(publish func(context.Context, hook.Event) (uint64, error)) func(context.Context, hook.Event) (uint64, error) {
	return func(ctx context.Context, e hook.Event) (uint64, error) {
		seq, err := publish(ctx, e)
		if err == nil && (e.Agent == claude || c.contract != nil) && !e.Emitted && e.Source == "" {
			c.note(e.Agent, e.Type, e.Raw)
		}
		return seq, err
	}
}

// note queues an event, whose payload must not change any more, and never waits.
func (c *Checker) note(agent, event string, raw []byte) {
	size := int64(len(raw))
	if size <= maxEvent && c.queued.Add(size) <= maxQueued {
		select {
		case c.queue <- item{agent, event, raw}:
			return
		default:
		}
	}
	if size <= maxEvent {
		c.queued.Add(-size)
	}
	c.unchecked.Add(1)
}

// Run checks what is queued until ctx is done.
func (c *Checker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case x := <-c.queue:
			c.check(x)
			c.queued.Add(-int64(len(x.raw)))
		}
	}
}

func (c *Checker) check(x item) {
	event := x.event
	if !c.types[event] {
		event = Other
	}
	path, problem, differs := "", "", false
	if x.agent == claude {
		path, problem, differs = first(event, x.raw)
	} else if err := c.contract(x.agent, x.event, x.raw); err != nil {
		problem, differs = short(x.agent+": "+err.Error()), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked++
	if !differs {
		return
	}
	c.counts.WithLabelValues(event).Inc()
	k := kind{event, path}
	if c.kinds[k] == nil && len(c.kinds) >= maxKinds-len(c.types)-1 { // room for one without a path of every event
		k.path, problem = "", ""
	}
	m := c.kinds[k]
	if m == nil {
		m = &Mismatch{Event: event, Path: k.path, First: time.Now().UTC()}
		c.kinds[k] = m
	}
	m.Problem, m.Last = problem, time.Now().UTC()
	m.Count++
}

// first is the first difference between a payload and the schema of its event, and of its tool's
// input, as text that is safe to show.
func first(event string, raw []byte) (path, problem string, differs bool) {
	v, ok := decode(raw)
	if !ok {
		return "", "not JSON", true
	}
	name := "hooks/" + event
	if event == Other {
		name = "hooks/Base"
	}
	found, err := schemas.Differences(name, v)
	if err != nil { // a broken schema, which the tests of package schemas would find
		return "", err.Error(), true
	}
	found = append(found, ofTool(v)...)
	if len(found) == 0 {
		return "", "", false
	}
	d := slices.MinFunc(found, func(a, b schemas.Difference) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return short(d.Pointer), short(d.Problem), true
}

// ofTool are the differences of a built-in tool's input.
func ofTool(v any) []schemas.Difference {
	members, _ := v.(map[string]any)
	tool, _ := members["tool_name"].(string)
	input, ok := members["tool_input"].(map[string]any)
	if !ok {
		return nil
	}
	found, err := schemas.Differences("tools/"+tool, input)
	if err != nil {
		return nil // a tool that nobody described
	}
	for i := range found {
		found[i].Pointer = "/tool_input" + found[i].Pointer
	}
	return found
}

func decode(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

// short makes foreign text one visible line that is not long.
func short(s string) string {
	const enough = 200
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return show.Line(s)
}

// Report returns what was found so far.
func (c *Checker) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{Checked: c.checked, Unchecked: c.unchecked.Load(), Mismatches: []Mismatch{}}
	for _, m := range c.kinds {
		r.Mismatches = append(r.Mismatches, *m)
	}
	slices.SortFunc(r.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Path, b.Path))
	})
	return r
}

// Collectors returns what /metrics shows.
func (c *Checker) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.counts, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "assent_schema_unchecked_total", Help: "Hook events that were not checked against their schema: too many at once, or too large.",
	}, func() float64 { return float64(c.unchecked.Load()) })}
}
