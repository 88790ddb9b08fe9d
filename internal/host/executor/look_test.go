package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// The look at a project takes seconds, without the lock. What counts is how things stand after it: whether everything is
// stopped, whom and what agents.yaml allows, and what the project brings.
func TestWhatChangesDuringTheLook(t *testing.T) {
	for name, x := range map[string]struct {
		change func(h *Host, file *optin.File, brings *string)
		want   string
	}{
		"nothing":          {func(*Host, *optin.File, *string) {}, ""},
		"everything stops": {func(h *Host, _ *optin.File, _ *string) { h.Halt(true) }, haltedWhy},
		"the device goes":  {func(_ *Host, f *optin.File, _ *string) { f.Accept = nil }, "not accepted here any more"},
		"the agent goes":   {func(_ *Host, f *optin.File, _ *string) { f.Agents = nil }, "has no agent"},
		"another mode": {func(_ *Host, f *optin.File, _ *string) {
			f.Agents = []optin.Agent{{Name: "coder", Mode: "plan", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}}
		}, "was changed"},
		"a hook comes": {func(_ *Host, _ *optin.File, b *string) { *b = "settings.json" }, "settings.json"},
	} {
		t.Run(name, func(t *testing.T) {
			file := optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Mode: "default", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}}}
			brings := ""
			h := &Host{wake: make(chan struct{}, 1), sessions: map[string]*session{}, timeouts: map[string]time.Duration{}}
			h.cfg = Config{
				Dir: t.TempDir(), Home: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return file, nil },
				Look: func(context.Context, optin.Agent) []optin.Finding { x.change(h, &file, &brings); return nil },
				Again: func(optin.Agent) []optin.Finding {
					if brings != "" {
						return []optin.Finding{{Name: "accepted", Refused: true, Detail: brings + " is new", Fix: "accept it"}}
					}
					return nil
				},
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			_, _, why := h.startable(t.Context(), nil, Order{ID: one, Agent: "coder", Session: two, Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)})
			if (why == "") != (x.want == "") || !strings.Contains(why, x.want) {
				t.Errorf("%q, want %q", why, x.want)
			}
		})
	}
}

// What changes between the look and the moment in which the agent's program reads its settings stops it before the model is
// asked, once; what changes later is what the agent was allowed to do.
func TestWhatChangesAtTheStart(t *testing.T) {
	brings := ""
	var unreadable error
	h := &Host{wake: make(chan struct{}, 1), sessions: map[string]*session{}, programs: map[string]program{}}
	h.cfg = Config{
		Dir: t.TempDir(), Home: t.TempDir(), Logf: t.Logf,
		File: func() (optin.File, error) {
			if unreadable != nil {
				return optin.File{}, unreadable
			}
			return optin.File{Agents: []optin.Agent{{Name: "coder"}}}, nil
		},
		Again: func(optin.Agent) []optin.Finding {
			return []optin.Finding{{Name: "accepted", Refused: brings != "", Detail: brings}}
		},
	}
	begins := func(unseen bool) *session {
		s := &session{h: h, dir: t.TempDir(), meta: meta{Session: two, Agent: "coder"}, book: book{fresh: true}, unseen: unseen}
		s.event(time.Now(), streamjson.Event{Kind: streamjson.Init, Mode: "default"})
		return s
	}
	if s := begins(true); s.stopping != "" || s.unseen {
		t.Errorf("%q: %s", s.stopping, s.stopWhy)
	}
	brings = "hooks that nobody accepted"
	if s := begins(true); s.stopping != "REFUSED" || s.forced != 3 || !strings.Contains(s.stopWhy, brings) {
		t.Errorf("%q: %s", s.stopping, s.stopWhy)
	}
	if s := begins(false); s.stopping != "" {
		t.Errorf("%q: %s", s.stopping, s.stopWhy)
	}
	brings, unreadable = "", errors.New("agents.yaml:3: a tab")
	if s := begins(true); s.stopping != "REFUSED" || s.forced != 3 || !strings.Contains(s.stopWhy, "assent agent doctor") || !strings.Contains(s.stopWhy, "agents.yaml:3") {
		t.Errorf("agents.yaml cannot be read: %q: %s", s.stopping, s.stopWhy)
	}
	if s := begins(false); s.stopping != "" {
		t.Errorf("agents.yaml cannot be read, later: %q: %s", s.stopping, s.stopWhy)
	}
}

// The host may die in between: the next one looks as this one would have.
func TestTheNextHostLooksAtTheStart(t *testing.T) {
	for what, begun := range map[string]bool{"a process without a prompt": false, "one with a prompt": true} {
		s := working(t, `{"type":"system","subtype":"init","permissionMode":"default"}`+"\n")
		s.h.programs = map[string]program{}
		s.h.cfg.File = func() (optin.File, error) { return optin.File{Agents: []optin.Agent{{Name: "coder"}}}, nil }
		s.h.cfg.Again = func(optin.Agent) []optin.Finding { return []optin.Finding{{Refused: true, Detail: "new hooks"}} }
		root := s.process
		for _, e := range []entry{{Process: &began{}}, {Process: &root}} {
			if err := s.note(e); err != nil {
				t.Fatal(err)
			}
		}
		if begun {
			_ = s.note(entry{Message: one, State: started})
		}
		s.closeFiles()
		if s.attach(time.Now()); s.runs != begun {
			t.Errorf("%s: it runs: %t, %s", what, s.runs, s.find(one).why)
		}
	}
}

// A look that is broken off because the host ends says nothing of the order: the next host looks.
func TestHostEndsDuringTheLook(t *testing.T) {
	s := working(t, "")
	h := s.h
	h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Sessions: 2, BudgetUSD: 5, Timeout: time.Hour}}}, nil
	}
	h.cfg.Again = func(optin.Agent) []optin.Finding { return nil }
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	s.runs = false
	ctx, cancel := context.WithCancel(t.Context())
	h.cfg.Look = func(ctx context.Context, _ optin.Agent) []optin.Finding {
		cancel()
		return []optin.Finding{{Refused: true, Detail: ctx.Err().Error()}}
	}
	o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)}
	h.offers = []Order{o}
	if h.consider(ctx, o); len(h.extra) != 0 || len(h.offers) != 1 || s.find(o.ID) != nil {
		t.Errorf("the offer: %+v", h.extra)
	}
	h.offers = nil
	for _, e := range []entry{{Order: &o}, {Message: o.ID, State: confirmed}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if s.advance(ctx, time.Now()); s.find(o.ID).state != confirmed {
		t.Errorf("what was taken: %s, %s", s.find(o.ID).state, s.find(o.ID).why)
	}
}

// However long the look at one project takes, which an agent can have it take, another session can be cancelled meanwhile.
func TestALongLookDelaysNoCancel(t *testing.T) {
	s := working(t, "")
	h := s.h
	cancel := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessageCancel, By: "key", ExpiresAt: time.Now().Add(time.Hour)}
	h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Sessions: 2, BudgetUSD: 5, Timeout: time.Hour}}}, nil
	}
	changed := make(chan struct{}, 1)
	h.cfg.Changed = func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	h.cfg.Look = func(context.Context, optin.Agent) []optin.Finding {
		h.Offer(cancel)
		for enough := time.After(time.Minute); ; {
			select {
			case <-changed:
			case <-enough:
				return []optin.Finding{{Refused: true, Detail: "nothing happened"}}
			}
			taken := frameID(cancel.ID, "taken")
			if slices.ContainsFunc(h.Outbox(), func(f api.HostFrame) bool { return f.ID == taken }) {
				h.Acked(taken, true)
			}
			h.mu.Lock()
			begun := s.find(one).cancels > 0
			h.mu.Unlock()
			if begun {
				return []optin.Finding{{Refused: true, Detail: "it was cancelled first"}}
			}
		}
	}
	_, _, why := h.startable(t.Context(), nil, Order{ID: two, Agent: "coder", Session: one, Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)})
	if !strings.Contains(why, "cancelled first") || s.find(one).cancels != 1 {
		t.Errorf("%q, cancelled %d times", why, s.find(one).cancels)
	}
}

// A process that runs goes on as agents.yaml has it now: where that names another mode or program than it was begun with, it
// ends before its next prompt, and where it names another project, it is given none.
func TestWhatChangesWhileItRuns(t *testing.T) {
	begun := optin.Agent{Name: "coder", Project: "/p", CLI: "/bin/claude", Mode: "acceptEdits", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}
	for name, x := range map[string]struct {
		change        func(*optin.Agent)
		refused, ends string
		brings        string
	}{
		"nothing":         {func(*optin.Agent) {}, "", "", ""},
		"another mode":    {func(a *optin.Agent) { a.Mode = "default" }, "", "another mode", ""},
		"another program": {func(a *optin.Agent) { a.CLI = "/usr/bin/claude" }, "", "another program", ""},
		"another project": {func(a *optin.Agent) { a.Project = "/q" }, "another project", "", ""},
		"hooks":           {func(*optin.Agent) {}, "hooks that nobody accepted", "", "hooks that nobody accepted"},
	} {
		for _, kind := range []string{hook.MessagePrompt, hook.MessageResume} {
			s := working(t, "")
			agent := begun
			s.h.cfg.File = func() (optin.File, error) {
				return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{agent}}, nil
			}
			brings := x.brings
			s.h.cfg.Again = func(optin.Agent) []optin.Finding { return []optin.Finding{{Refused: brings != "", Detail: brings}} }
			s.meta.Project, s.process.Mode, s.process.CLI = begun.Project, begun.Mode, begun.CLI
			s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
			x.change(&agent)
			o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: kind, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)}
			s.h.offers = []Order{o}
			s.h.consider(t.Context(), o)
			if taken := s.find(o.ID) != nil; taken == (x.refused != "") || !taken && !strings.Contains(s.h.extra[0].Why, x.refused) {
				t.Errorf("%s, %s: taken %t, %+v", name, kind, taken, s.h.extra)
			} else if x.brings != "" && s.forced != 3 {
				t.Errorf("%s, %s: the process that has them goes on", name, kind)
			} else if taken {
				_ = s.note(entry{Message: o.ID, State: confirmed})
				s.advance(t.Context(), time.Now())
				if m := s.find(o.ID); (s.stopping != "") != (x.ends != "") || !strings.Contains(s.stopWhy, x.ends) || (m.state == confirmed) != (x.ends != "") {
					t.Errorf("%s, %s: %s, it ends: %q", name, kind, m.state, s.stopWhy)
				}
			}
		}
	}
}

// So it is with what changes after an order was taken, and before it is handed over.
func TestWhatChangesBeforeItIsHandedOver(t *testing.T) {
	s := working(t, "")
	agent := optin.Agent{Name: "coder", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}
	s.h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{agent}}, nil
	}
	s.h.cfg.Again = func(optin.Agent) []optin.Finding { return []optin.Finding{{Refused: true, Detail: "new hooks"}} }
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)}
	for _, e := range []entry{{Order: &o}, {Message: o.ID, State: confirmed}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	s.advance(t.Context(), time.Now())
	if m := s.find(o.ID); m.state != ended || m.code != "REFUSED" || !strings.Contains(m.why, "new hooks") || s.forced != 3 {
		t.Errorf("%s %s: %s", m.state, m.code, m.why)
	}
}
