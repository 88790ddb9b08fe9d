package executor

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// What a message says that a session may spend holds until another one says another, below the agent's ceiling.
func TestHowASessionStands(t *testing.T) {
	coder := optin.Agent{Name: "coder", BudgetUSD: 5, Timeout: time.Hour}
	s := &session{meta: meta{Session: "s", Agent: "coder", Worktree: "w"}, book: book{fresh: true}}
	s.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt, BudgetUSD: 2, Timeout: time.Minute}})
	if got := s.stands(coder); got.Status != api.AgentBusy || got.BudgetUSD != 5 || got.Turn != nil || !got.Worktree {
		t.Errorf("while it is not known whether the message is ours: %+v", got)
	}
	s.apply(entry{Message: one, State: confirmed})
	s.active = 25 * time.Second
	if got := s.stands(coder); got.Status != api.AgentBusy || got.BudgetUSD != 2 || got.TimeoutSeconds != 60 || got.ActiveSeconds != 20 {
		t.Errorf("while it works: %+v", got)
	}
	cost := 2.1
	s.apply(entry{Message: one, State: ended, Outcome: hook.OutcomeFailed, Code: "BUDGET", Why: "spent", Cost: &cost})
	if got := s.stands(coder); got.Status != api.SessionBlocked || got.Turn == nil || got.Turn.Message != one || got.Turn.Code != "BUDGET" || got.CostUSD != cost {
		t.Errorf("its budget is over: %+v", got)
	}
	s.apply(entry{Order: &Order{ID: two, Kind: hook.MessageResume, BudgetUSD: 4}})
	s.apply(entry{Message: two, State: confirmed})
	s.apply(entry{Message: two, State: ended, Outcome: hook.OutcomeCompleted})
	if got := s.stands(coder); got.Status != api.SessionEnded || got.BudgetUSD != 4 || got.TimeoutSeconds != 60 || got.Turn.Outcome != hook.OutcomeCompleted {
		t.Errorf("it went on: %+v", got)
	}
	coder.BudgetUSD = 3
	if got := s.stands(coder); got.BudgetUSD != 3 {
		t.Errorf("above a ceiling that became lower: %+v", got)
	}
}

// A process that is being ended to make room for another session is not in that one's way.
func TestLiveProcesses(t *testing.T) {
	idle := &session{meta: meta{Session: "s", Agent: "coder"}, book: book{runs: true}}
	busy := &session{meta: meta{Session: "t", Agent: "coder"}, book: book{runs: true}}
	busy.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	h := &Host{sessions: map[string]*session{"s": idle, "t": busy}}
	if all, same, free := h.live("coder"); all != 2 || same != 2 || free != idle {
		t.Errorf("%d of %d, %+v", same, all, free)
	}
	idle.stopping, busy.stopping = "EXIT", "TIMEOUT"
	if all, same, free := h.live("coder"); all != 1 || same != 1 || free != nil {
		t.Errorf("while they are ended: %d of %d, %+v", same, all, free)
	}
}

// A mistake in the file takes no agent away, so that no other host gets its name, and what works can be seen and stopped; nor
// does it vanish with an agent that is taken out.
func TestAgentsWhileTheFileChanges(t *testing.T) {
	file, err := optin.File{Agents: []optin.Agent{{Name: "coder", Project: "/p"}, {Name: "other", Project: "/p"}}}, error(nil)
	works := &session{meta: meta{Session: one, Agent: "coder"}, book: book{runs: true, fresh: true}}
	rests := &session{meta: meta{Session: two, Agent: "other"}, book: book{fresh: true}}
	h := &Host{cfg: Config{File: func() (optin.File, error) { return file, err }}, sessions: map[string]*session{one: works, two: rests}, programs: map[string]program{}}
	h.cfg.Ask = nil
	names := func(why string, want ...string) {
		t.Helper()
		agents := h.Agents()
		ok := len(agents) == len(want)
		for i := range want {
			ok = ok && agents[i].Name == want[i]
		}
		if !ok {
			t.Errorf("%s: %+v, want %q", why, agents, want)
		}
		if len(agents) > 0 && (len(agents[0].Sessions) != 1 || agents[0].Sessions[0].SessionID != one) {
			t.Errorf("%s: the session that works is not there: %+v", why, agents[0])
		}
	}
	names("at first", "coder", "other")
	file, err = optin.File{}, errors.New("a mistake")
	names("a mistake", "coder", "other")
	file, err = optin.File{Agents: []optin.Agent{{Name: "zeta", Project: "/p"}}}, nil
	agents := h.Agents()
	if len(agents) != 2 || agents[1].Name != "coder" || len(agents[1].Sessions) != 1 || agents[1].Description != takenOut || agents[1].Project != nil || agents[1].Executor.CLI != "" {
		t.Errorf("taken out: %+v", agents)
	}
	file, err = optin.File{}, fs.ErrNotExist
	names("no file", "coder")
	works.runs = false
	if agents := h.Agents(); len(agents) != 0 {
		t.Errorf("nothing works: %+v", agents)
	}
}
