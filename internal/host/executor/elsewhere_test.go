package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// sessionFile writes what the client keeps of a session of a process, and returns a way to take it away.
func sessionFile(t *testing.T, home string, pid int, text string) (remove func()) {
	t.Helper()
	path := filepath.Join(home, ".claude", "sessions", fmt.Sprint(pid, ".json"))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

const notTold = "cannot be told"

// As long as it is not known whether somebody works on a session, there or just now, no process is started for it.
func TestNotStartedWhileItIsNotKnownWhoWorks(t *testing.T) {
	file := optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Mode: "default", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}}}
	h := &Host{wake: make(chan struct{}, 1), sessions: map[string]*session{}, timeouts: map[string]time.Duration{}}
	var look func()
	h.cfg = Config{
		Dir: t.TempDir(), Home: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return file, nil },
		Look:  func(context.Context, optin.Agent) []optin.Finding { look(); return nil },
		Again: func(optin.Agent) []optin.Finding { return nil },
	}
	startable := func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _, why := h.startable(t.Context(), nil, Order{ID: one, Agent: "coder", Session: two, Kind: hook.MessagePrompt, Prompt: "x", By: "key", ExpiresAt: time.Now().Add(time.Minute)})
		return why
	}
	look = func() {}
	remove := sessionFile(t, h.cfg.Home, os.Getpid(), `{"pid":`)
	if why := startable(); !strings.Contains(why, notTold) || !strings.Contains(why, "send this again") {
		t.Errorf("before: %q", why)
	}
	remove()
	if why := startable(); why != "" {
		t.Errorf("without the file: %q", why)
	}
	look = func() { sessionFile(t, h.cfg.Home, os.Getpid(), `{"pid":`) }
	if why := startable(); !strings.Contains(why, notTold) {
		t.Errorf("meanwhile: %q", why)
	}
}

// Nor is it handed over, nor its process given a prompt. The process goes on with what it does: that somebody else came is not known.
func TestNotHandedOverWhileItIsNotKnownWhoWorks(t *testing.T) {
	s := working(t, "")
	s.h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", Sessions: 1, BudgetUSD: 5, Timeout: time.Hour}}}, nil
	}
	s.h.cfg.Again = func(optin.Agent) []optin.Finding { return nil }
	s.end(time.Now(), s.find(one), hook.OutcomeCompleted, "", "", "")
	refused := func(kind, prompt string) string {
		o := Order{ID: "33333333-3333-4333-8333-333333333333", Session: two, Agent: "coder", Kind: kind, Prompt: prompt, By: "key", ExpiresAt: time.Now().Add(time.Minute)}
		s.h.offers, s.h.extra = []Order{o}, nil
		s.h.consider(t.Context(), o)
		if s.find(o.ID) != nil || len(s.h.extra) == 0 {
			t.Fatalf("a %s was taken", kind)
		}
		return s.h.extra[0].Why
	}
	own := sessionFile(t, s.h.cfg.Home, s.process.PID, `{"pid":`)
	s.limits(time.Now())
	if why := s.considerHandover(); why != "" || s.unclear != "" {
		t.Errorf("its own process writes its file: %q, %q", why, s.unclear)
	}
	own()
	sessionFile(t, s.h.cfg.Home, os.Getpid(), `{"pid":`)
	if why := refused(hook.MessageHandover, ""); !strings.Contains(why, notTold) {
		t.Errorf("handover: %q", why)
	}
	s.limits(time.Now().Add(lookEvery))
	if why := refused(hook.MessagePrompt, "x"); !strings.Contains(why, notTold) {
		t.Errorf("prompt: %q", why)
	}
	if s.stopping != "" {
		t.Errorf("its process is ended: %s", s.stopWhy)
	}
}
