package executor

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// An agent can write what its program is taken to say, and its journal. Whatever cost that is, what is told of the session
// is a number that JSON has and that a broker takes: else the host could tell of no agent at all any more.
func TestFiguresOfALyingAgent(t *testing.T) {
	for name, lines := range map[string][]string{
		"more than anything costs": {`{"type":"result","subtype":"success","total_cost_usd":1e7}`},
		"sums without end": {
			`{"type":"result","subtype":"success","total_cost_usd":1.7e308}`, "exit",
			`{"type":"result","subtype":"success","total_cost_usd":1.7e308}`, "exit",
			`{"type":"result","subtype":"success","total_cost_usd":1.7e308}`,
		},
		"calls that are all as dear": {
			`{"type":"control_response","response":{"subtype":"success","request_id":"usage-base","response":{"session":{"total_cost_usd":0}}}}`,
			`{"type":"control_response","response":{"subtype":"success","request_id":"usage-1","response":{"session":{"total_cost_usd":1.7e308}}}}`, "killed",
		},
		"no number": {`{"type":"result","subtype":"success","total_cost_usd":1e999}`},
	} {
		b := book{fresh: true}
		b.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
		b.apply(entry{Message: one, State: started})
		begin := func() { b.apply(entry{Process: &began{}}); b.apply(entry{Process: &began{PID: 1, ID: "x"}}) }
		begin()
		for _, l := range lines {
			switch l {
			case "exit":
				b.apply(entry{Exit: &exit{Saved: true}})
				begin()
				continue
			case "killed":
				b.apply(entry{Exit: &exit{}, Unmetered: math.MaxInt})
				continue
			}
			e, err := streamjson.Parse([]byte(l))
			if err != nil {
				t.Fatal(err)
			}
			b.apply(entry{Cost: &e.CostUSD, Base: e.Request == usage+usageBase})
		}
		b.apply(entry{Message: one, State: ended, Outcome: hook.OutcomeFailed})
		s := &session{meta: meta{Session: two}, book: b}
		told := s.stands(optin.Agent{})
		if _, err := json.Marshal(told); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, cost := range []float64{told.CostUSD, told.Turn.CostUSD} {
			if !(cost >= 0 && cost <= api.MaxCost) {
				t.Errorf("%s: it cost %v", name, cost)
			}
		}
	}
}

// The same of a journal that somebody else wrote.
func TestFiguresOfALyingJournal(t *testing.T) {
	for _, text := range []string{
		`{"cost":1e308}`, `{"cost":-1e308}`, `{"cost":-1e308,"base":true}`, fmt.Sprintf(`{"active":%d,"unmetered":%d}`, math.MaxInt64, math.MaxInt64), `{"active":-5,"unmetered":-9223372036854775808}`,
	} {
		var e entry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		b := book{fresh: true}
		for range 3 {
			b.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
			b.apply(entry{Message: one, State: started})
			b.apply(entry{Process: &began{PID: 1, ID: "x"}})
			b.apply(e)
			cost := 1e308
			b.apply(entry{Cost: &cost, Unmetered: e.Unmetered})
			b.apply(entry{Exit: &exit{}, Unmetered: e.Unmetered})
		}
		if cost := b.cost(); !(cost >= 0 && cost <= api.MaxCost) {
			t.Errorf("%s: it cost %v", text, cost)
		}
		if b.active += time.Hour; b.active < time.Hour {
			t.Errorf("%s: it worked for %v", text, b.active)
		}
	}
}

// An answer to what was not asked is no figure, and nothing is written because of it: an agent can write as many as it likes.
func TestFiguresThatNobodyAskedFor(t *testing.T) {
	s := working(t, "")
	answer := func(id string, cost float64) {
		s.event(time.Now(), streamjson.Event{Kind: streamjson.Answer, Request: usage + id, Metered: true, CostUSD: cost})
	}
	answer(usageBase, 1)
	s.event(time.Now(), streamjson.Event{Kind: streamjson.Says, Call: "msg_1"}) // which it is asked about
	size, asks := s.journal.size, s.asks
	for _, id := range []string{usageBase, "0", "2", "x", ""} {
		answer(id, 5)
	}
	if s.journal.size != size || s.asks != asks || s.cost() != 0 || s.stopping != "" {
		t.Errorf("%d bytes, asked %d times, it cost %v, %q", s.journal.size-size, s.asks, s.cost(), s.stopping)
	}
	answer("1", 1.5)
	answer("1", 9)
	if s.cost() != 0.5 || s.unmetered != 0 {
		t.Errorf("it cost %v, %d calls are not known", s.cost(), s.unmetered)
	}
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	size = s.journal.size
	for range 3 {
		s.event(time.Now(), streamjson.Event{Kind: streamjson.Result, Outcome: streamjson.Success, CostUSD: 1.5})
	}
	if s.journal.size != size {
		t.Errorf("%d bytes of journal for what is known", s.journal.size-size)
	}
}
