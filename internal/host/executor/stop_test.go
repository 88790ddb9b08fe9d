package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
	"assent/internal/host/process"
)

const cancelID = "44444444-4444-4444-8444-444444444444"

func cancelBy(key string) Order {
	return Order{ID: cancelID, Session: two, Agent: "coder", Kind: hook.MessageCancel, By: key, ExpiresAt: time.Now().Add(time.Minute)}
}

// A mistake in agents.yaml, or that it is gone, keeps nobody from cancelling who was accepted before; and nobody is let in by it.
func TestCancelWhileAgentsYAMLIsBroken(t *testing.T) {
	good := optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Sessions: 2, BudgetUSD: 5, Timeout: time.Hour}}}
	for name, broken := range map[string]error{"a mistake": errors.New("agents.yaml:3: a tab"), "gone": fs.ErrNotExist} {
		for _, began := range []bool{true, false} { // whether this host ever could read it
			for key, want := range map[string]bool{"key": true, "another": false} {
				t.Run(name+" "+strconv.FormatBool(began)+" "+key, func(t *testing.T) {
					s := working(t, "")
					s.find(one).By = "key"
					h := s.h
					h.programs = map[string]program{}
					file, err := good, error(nil)
					h.cfg.File = func() (optin.File, error) { return file, err }
					if began {
						h.mu.Unlock()
						h.Agents()
						h.mu.Lock()
					}
					file, err = optin.File{}, broken
					h.mu.Unlock()
					stoppers, agents := h.Stoppers(two), h.Agents()
					h.mu.Lock()
					if !slices.Equal(stoppers, []string{"key"}) || len(agents) != 1 || agents[0].Status != "busy" {
						t.Errorf("%v may cancel %+v", stoppers, agents)
					}
					o := cancelBy(key)
					h.offers = []Order{o}
					h.consider(t.Context(), o)
					if got := s.find(o.ID) != nil; got != want || want == (len(h.extra) > 0) {
						t.Errorf("taken: %t, %+v", got, h.extra)
					}
					// A prompt is refused as before.
					p := o
					p.ID, p.Kind, p.Prompt = "33333333-3333-4333-8333-333333333333", hook.MessagePrompt, "x"
					h.offers = []Order{p}
					if h.consider(t.Context(), p); s.find(p.ID) != nil {
						t.Error("a prompt is taken")
					}
				})
			}
		}
	}
}

// An agent can write the file that says until when messages are over. That keeps prompts away, and no cancel.
func TestCancelWhateverTimesAreOver(t *testing.T) {
	s := working(t, "")
	h := s.h
	h.cfg.File = func() (optin.File, error) { return optin.File{Accept: []string{"key"}}, nil }
	if err := os.WriteFile(filepath.Join(h.cfg.Dir, idsFile), []byte(`{"":"2099-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.loadIDs(); err != nil {
		t.Fatal(err)
	}
	o := cancelBy("key")
	p := o
	p.ID, p.Kind, p.Prompt = "33333333-3333-4333-8333-333333333333", hook.MessagePrompt, "x"
	h.offers = []Order{o, p}
	h.consider(t.Context(), p)
	h.consider(t.Context(), o)
	if s.find(o.ID) == nil || s.find(p.ID) != nil || len(h.extra) != 1 || h.extra[0].Why != overWhy {
		t.Errorf("%+v", h.extra)
	}
}

// A key that its owner has taken out of the file stays out, whatever becomes of that later.
func TestCancelByAKeyThatWasTakenOut(t *testing.T) {
	s := working(t, "")
	s.find(one).By = "key"
	file, err := optin.File{Accept: []string{}}, error(nil)
	s.h.cfg.File = func() (optin.File, error) { return file, err }
	for range 2 {
		o := cancelBy("key")
		s.h.offers = []Order{o}
		if s.h.consider(t.Context(), o); s.find(o.ID) != nil || len(s.h.extra) != 1 || !strings.Contains(s.h.extra[0].Why, "not accepted here any more") {
			t.Errorf("%+v", s.h.extra)
		}
		s.h.extra, err = nil, errors.New("agents.yaml:3: a tab")
	}
}

// How hard an agent was told to stop is not forgotten with the host: the next one goes on with it.
func TestTheNextHostGoesOnWithACancel(t *testing.T) {
	for cancels, want := range map[int]int{1: 0, 2: 2, 3: 3} {
		for _, state := range []state{written, started} {
			s := working(t, "")
			if err := s.note(entry{At: time.Now(), Message: one, State: state, Cancels: cancels}); err != nil {
				t.Fatal(err)
			}
			s.find(one).state = state
			s.closeFiles()
			if s.attach(time.Now()); s.forced != want {
				t.Errorf("%d cancels of one that is %s: %d, want %d", cancels, state, s.forced, want)
			}
			if told := slices.Contains(s.controls, repeats+one); told != (cancels == 1) {
				t.Errorf("%d cancels of one that is %s: told to interrupt: %t", cancels, state, told)
			}
		}
	}
}

// What is cancelled while its project is looked at is not started, and need not wait for the end of the look to be taken.
func TestCancelDuringTheLook(t *testing.T) {
	s := working(t, "")
	h := s.h
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	s.runs = false
	h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Sessions: 2, BudgetUSD: 5, Timeout: time.Hour}}}, nil
	}
	h.cfg.Again = func(optin.Agent) []optin.Finding { return nil }
	h.cfg.Settings = func(optin.Agent) ([]byte, error) { t.Error("it is started"); return nil, errors.New("no") }
	o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)}
	for _, e := range []entry{{Order: &o}, {Message: o.ID, State: confirmed}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	taken := make(chan struct{})
	h.cfg.Changed = func() {
		if s.find(cancelID) != nil {
			select {
			case <-taken:
			default:
				close(taken)
			}
		}
	}
	h.cfg.Look = func(context.Context, optin.Agent) []optin.Finding {
		h.Offer(cancelBy("key"))
		<-taken
		h.Acked(frameID(cancelID, "taken"), true)
		return nil
	}
	s.advance(t.Context(), time.Now())
	s.advance(t.Context(), time.Now())
	if m, c := s.find(o.ID), s.find(cancelID); m.outcome != hook.OutcomeCancelled || c.state != ended {
		t.Errorf("the prompt: %s, %s; the cancel: %s", m.state, m.outcome, c.state)
	}
}

// While everything is stopped, a prompt that was not handed over is cancelled, also one to a session that runs.
func TestAPromptThatWaitsIsStopped(t *testing.T) {
	s := working(t, "")
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessagePrompt, Prompt: "x", ExpiresAt: time.Now().Add(time.Minute)}
	for _, e := range []entry{{Order: &o}, {Message: o.ID, State: confirmed}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	s.h.halted = true
	if s.advance(t.Context(), time.Now()); s.find(o.ID).outcome != hook.OutcomeCancelled {
		t.Errorf("it is %s", s.find(o.ID).state)
	}
}

// A prompt of which no receipt came may be about to begin: its process ends when everything is stopped.
func TestALostPromptIsStoppedWithEverything(t *testing.T) {
	for _, state := range []state{written, started, lost} {
		s := working(t, "")
		s.find(one).state = state
		s.h.mu.Unlock()
		s.h.Halt(true)
		s.h.mu.Lock()
		if s.stopping != "CANCELLED" || s.forced != 2 {
			t.Errorf("%s: %q, %d", state, s.stopping, s.forced)
		}
	}
}

// Whether a terminal has the session is looked at in the moment in which a prompt is handed over: the look of every two seconds
// is too old for that.
func TestNoPromptForASessionThatATerminalHas(t *testing.T) {
	s := working(t, "")
	h := s.h
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	s.process.Mode = "default"
	h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Mode: "default", Sessions: 2, BudgetUSD: 5, Timeout: time.Hour}}}, nil
	}
	h.cfg.Again = func(optin.Agent) []optin.Finding { return nil }
	o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: hook.MessageResume, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)}
	for _, e := range []entry{{Order: &o}, {Message: o.ID, State: confirmed}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	start, _, _ := strings.Cut(process.ID(os.Getpid()), ".")
	sessionFile(t, h.cfg.Home, os.Getpid(), fmt.Sprintf(`{"pid":%d,"procStart":%q,"sessionId":%q,"kind":"interactive","status":"idle","cwd":"/"}`, os.Getpid(), start, two))
	s.advance(t.Context(), time.Now())
	if m := s.find(o.ID); m.state != ended || !strings.Contains(m.why, "open in another place") || m.tries > 0 {
		t.Errorf("it is %s: %s", m.state, m.why)
	}
}
