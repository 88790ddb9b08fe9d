package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/hook"
	"assent/internal/tool/leaktest"
	"assent/schemas"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// run has events checked and returns what was found.
func run(t *testing.T, events ...hook.Event) (Report, map[string]float64) {
	t.Helper()
	var r Report
	counts := map[string]float64{}
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		publish := c.Watch(func(context.Context, hook.Event) (uint64, error) { return 7, nil })
		for _, e := range events {
			if seq, err := publish(ctx, e); seq != 7 || err != nil {
				t.Errorf("publish: %d, %v", seq, err)
			}
			synctest.Wait()
		}
		r = c.Report()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		counts = gather(t, c)
		doc, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("SchemaMismatches", doc); err != nil {
			t.Error(err)
		}
	})
	return r, counts
}

// gather reads the metrics: by event, and "unchecked".
func gather(t *testing.T, c *Checker) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := "unchecked"
			if len(m.GetLabel()) > 0 {
				name = m.GetLabel()[0].GetValue()
			}
			out[name] = m.GetCounter().GetValue()
		}
	}
	return out
}

func event(eventType, raw string) hook.Event {
	return hook.Event{Agent: "claude", Type: eventType, Raw: []byte(raw)}
}

func TestMismatches(t *testing.T) {
	const common = `"session_id":"s","cwd":"/"`
	for _, c := range []struct{ eventType, raw, event, path, problem string }{
		{"Stop", `{` + common + `,"hook_event_name":"Stop","stop_hook_active":false,"new":{"member":1}}`, "", "", ""},
		{"Stop", `{` + common + `,"hook_event_name":"Stop"}`, "Stop", "/stop_hook_active", "missing"},
		{"Stop", `{` + common + `,"stop_hook_active":false}`, "Stop", "/hook_event_name", "missing"},
		{"PreToolUse", `{` + common + `,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":1,"tool_input":"ls"}`, "PreToolUse", "/tool_input", "expected object, but got string"},
		{"PreToolUse", `{` + common + `,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{}}`, "PreToolUse", "/tool_input/command", "missing"},
		{"PreToolUse", `{` + common + `,"hook_event_name":"PreToolUse","tool_name":"mcp__x__y","tool_use_id":"t","tool_input":{}}`, "", "", ""},
		{"InstructionsLoaded", `{` + common + `,"hook_event_name":"InstructionsLoaded","trigger":"init"}`, "", "", ""},
		{"BrandNew", `{` + common + `,"hook_event_name":"BrandNew"}`, "", "", ""},
		{"BrandNew", `{"cwd":"/","hook_event_name":"BrandNew"}`, Other, "/session_id", "missing"},
		{"", `not json`, Other, "", "not JSON"},
		{"", ``, Other, "", "not JSON"},
		{"Stop", `{` + common + `} {}`, "Stop", "", "not JSON"},
		{"Stop", `[]`, "Stop", "", "expected object, but got array"},
		{"../Stop", `{}`, Other, "/cwd", "missing"},
	} {
		r, counts := run(t, event(c.eventType, c.raw), event(c.eventType, c.raw))
		if r.Checked != 2 || r.Unchecked != 0 {
			t.Errorf("%s: %+v", c.raw, r)
		}
		if c.event == "" {
			if len(r.Mismatches) != 0 {
				t.Errorf("%s: %+v", c.raw, r.Mismatches)
			}
			continue
		}
		if len(r.Mismatches) != 1 {
			t.Errorf("%s: %+v", c.raw, r.Mismatches)
			continue
		}
		if m := r.Mismatches[0]; m.Event != c.event || m.Path != c.path || m.Problem != c.problem || m.Count != 2 || m.First.IsZero() || m.Last.Before(m.First) {
			t.Errorf("%s: %+v", c.raw, m)
		}
		if counts[c.event] != 2 || len(counts) != 35 {
			t.Errorf("%s: %v", c.raw, counts)
		}
	}
}

// What a real client sent is as the schemas say.
func TestRecordedPayloadsConform(t *testing.T) {
	files, err := filepath.Glob("../../../schemas/testdata/payloads/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	var events []hook.Event
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		events = append(events, event(name, string(raw)))
	}
	if r, _ := run(t, events...); int(r.Checked) != len(files) || len(r.Mismatches) != 0 {
		t.Errorf("%+v", r)
	}
}

// What no hook sent is not checked, and what was not published neither.
func TestOnlyHooksAreChecked(t *testing.T) {
	bad := event("Stop", "{}")
	emitted, via, other := bad, bad, bad
	emitted.Emitted, via.Source, other.Agent = true, hook.SourceMCP, "codex"
	if r, _ := run(t, emitted, via, other); r.Checked+r.Unchecked != 0 {
		t.Errorf("%+v", r)
	}
	c := New(nil)
	refused := errors.New("no room")
	if _, err := c.Watch(func(context.Context, hook.Event) (uint64, error) { return 0, refused })(t.Context(), bad); !errors.Is(err, refused) {
		t.Error(err)
	}
	if len(c.queue) != 0 {
		t.Error("an event that was not published is checked")
	}
}

// TestQueueIsBounded: nobody waits, whatever comes; what is not checked is counted, and room comes
// back.
func TestQueueIsBounded(t *testing.T) {
	for _, size := range []int{0, 2, 64 << 10, maxEvent, maxEvent + 1, 16 << 20} {
		c := New(nil)
		raw := make([]byte, size)
		const n = 5000
		for range n {
			c.note("claude", "Stop", raw)
		}
		if c.queued.Load() > maxQueued || len(c.queue) > maxEvents || int(c.unchecked.Load())+len(c.queue) != n || size > maxEvent && len(c.queue) > 0 || size <= maxEvent && len(c.queue) == 0 {
			t.Errorf("%d bytes: %d bytes in %d events, %d unchecked", size, c.queued.Load(), len(c.queue), c.unchecked.Load())
		}
		for len(c.queue) > 0 {
			x := <-c.queue
			c.queued.Add(-int64(len(x.raw)))
		}
		if c.queued.Load() != 0 {
			t.Errorf("%d bytes: %d stay counted", size, c.queued.Load())
		}
	}
}

// TestKindsAreBounded: paths hold foreign names, and nobody can make the report grow.
func TestKindsAreBounded(t *testing.T) {
	var events []hook.Event
	const n = 1000
	for i := range n {
		name := fmt.Sprintf("question %d\x1b[2J%s", i, strings.Repeat("x", 500))
		answers, err := json.Marshal(map[string]int{name: 1})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event("PreToolUse", `{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":{"questions":[],"answers":`+string(answers)+`}}`))
	}
	r, counts := run(t, events...)
	var sum uint64
	for _, m := range r.Mismatches {
		sum += m.Count
		if len(m.Path) > 400 || strings.Contains(m.Path, "\x1b") {
			t.Errorf("path %q", m.Path)
		}
	}
	if len(r.Mismatches) > maxKinds || sum != n || counts["PreToolUse"] != n {
		t.Errorf("%d kinds, %d of %d, %v", len(r.Mismatches), sum, n, counts["PreToolUse"])
	}
}

func BenchmarkCheck(b *testing.B) {
	raw, err := os.ReadFile("../../../schemas/testdata/payloads/PreToolUse.json")
	if err != nil {
		b.Fatal(err)
	}
	c := New(nil)
	b.ReportAllocs()
	for b.Loop() {
		c.check(item{"claude", "PreToolUse", raw})
	}
}

func BenchmarkNote(b *testing.B) {
	c := New(nil)
	raw := make([]byte, 1000)
	for b.Loop() {
		c.note("claude", "PreToolUse", raw)
	}
}

// Of agents without schemas their contract is asked.
func TestContract(t *testing.T) {
	c := New(func(agent, event string, _ []byte) error {
		if agent == "other" && event == "Stop" {
			return errors.New("no\nsuch thing")
		}
		return nil
	})
	publish := c.Watch(func(context.Context, hook.Event) (uint64, error) { return 1, nil })
	for _, e := range []hook.Event{{Agent: "other", Type: "Stop"}, {Agent: "other", Type: "SessionEnd"}, {Agent: "other", Type: "Stop", Emitted: true}} {
		if _, err := publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		c.check(<-c.queue)
	}
	r := c.Report()
	if r.Checked != 2 || len(r.Mismatches) != 1 || r.Mismatches[0].Event != "Stop" || r.Mismatches[0].Problem != "other: no⟦U+000A⟧such thing" && !strings.Contains(r.Mismatches[0].Problem, "other: no") {
		t.Errorf("%+v", r)
	}
}
