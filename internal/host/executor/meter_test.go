package executor

import (
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
)

// What the client says before its first call is what it begins with. Of calls that it was killed before it could
// meter, each is taken for as dear as the dearest, and one more may have been on its way.
func TestCostOfWhatWasKilled(t *testing.T) {
	b := book{fresh: true}
	is := func(want float64) {
		t.Helper()
		if got := b.cost(); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("cost %v, want %v", got, want)
		}
	}
	says := func(total float64, base bool, unmetered int) {
		b.apply(entry{Cost: &total, Base: base, Unmetered: unmetered})
	}
	begin := func() { b.apply(entry{Process: &began{}}); b.apply(entry{Process: &began{PID: 1, ID: "x"}}) }
	b.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	begin()
	b.apply(entry{Message: one, State: started})
	b.apply(entry{Exit: &exit{}}) // before any figure
	is(unknownCall)
	b = book{fresh: true}
	b.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	begin()
	says(0.5, true, 0) // another's, from before
	is(0)
	b.apply(entry{Message: one, State: started})
	says(0.6, false, 0)
	says(0.5, true, 0) // read again
	says(0.9, false, 2)
	is(0.4)
	b.apply(entry{Exit: &exit{}, Unmetered: 2})
	is(0.4 + 3*0.3)
	b.apply(entry{Message: one, State: ended, Outcome: hook.OutcomeFailed})
	begin()
	says(0.5, true, 0)
	b.apply(entry{Exit: &exit{}}) // while it had nothing to do
	is(0.4 + 3*0.3)
}

// What the agent says in a turn is told at its end, in one text, and that its budget is over. What agents say that it
// started is not.
func TestWhatATurnTells(t *testing.T) {
	dir := t.TempDir()
	j, err := testJournal(dir+"/journal", func(entry) {})
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	s := &session{h: &Host{cfg: Config{Dir: dir, Logf: t.Logf}, said: map[string]time.Time{}}, dir: dir, meta: meta{Session: two, Agent: "coder"}, journal: j, book: book{fresh: true}}
	now := time.Unix(1, 0)
	s.book.apply(entry{At: now, Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	s.book.apply(entry{At: now, Message: one, State: written})
	says := func(e streamjson.Event) { s.event(now, e) }
	says(streamjson.Event{Kind: streamjson.Says, Text: "of before"})
	says(streamjson.Event{Kind: streamjson.Lifecycle, Prompt: one, State: streamjson.Started})
	says(streamjson.Event{Kind: streamjson.Says, Text: "I look."})
	says(streamjson.Event{Kind: streamjson.Says, Text: "inner", Within: true})
	says(streamjson.Event{Kind: streamjson.Says, Text: strings.Repeat("ä", maxResult)})
	says(streamjson.Event{Kind: streamjson.Result, Outcome: streamjson.MaxBudget, Failed: true, CostUSD: 5.1})
	var told []string
	for _, f := range s.frames() {
		if f.Event == nil {
			continue
		}
		told = append(told, f.Event.Kind)
		switch f.Event.Kind {
		case api.AgentOutput:
			if m := f.Event.Message; !strings.HasPrefix(m, "I look.\n\nää") || len(m) > maxResult {
				t.Errorf("%d bytes: %.40q", len(m), m)
			}
		case api.AgentBlocked:
			if e := f.Event; e.Error == nil || e.Error.Code != "BUDGET" || !strings.Contains(e.Message, "$5.10") || e.RequestID != "" {
				t.Errorf("%+v", e)
			}
		}
	}
	if got := strings.Join(told, " "); got != "started output failed blocked" {
		t.Error(got)
	}
}
