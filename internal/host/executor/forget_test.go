package executor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// What is kept of a session is removed once nothing works for it, and what was taken is not taken again.
func TestForget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("hosts are for Linux")
	}
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: filepath.Join(home, "agents"), Home: home, Logf: t.Logf, File: func() (optin.File, error) { return optin.File{}, nil }}
	open := func() *Host {
		t.Helper()
		h, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := open()
	order := Order{ID: two, Session: one, Agent: "coder", Kind: hook.MessagePrompt, Prompt: "SECRET words", ExpiresAt: time.Now().Add(time.Hour)}
	s, err := makeSession(h, meta{Session: one, Agent: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	h.sessions[one] = s
	now := time.Now()
	for _, e := range []entry{{At: now, Order: &order}, {At: now, Message: two, State: confirmed}, {At: now, Message: two, State: written}, {At: now, Message: two, State: started}} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	h.Forget([]string{one, "../agents", "unknown"})
	h.work(context.Background())
	done := h.Forgotten()
	slices.Sort(done)
	if !slices.Equal(done, []string{"../agents", "unknown"}) || !holds(t, cfg.Dir, "SECRET") {
		t.Errorf("in its turn: %v are forgotten", done)
	}
	if err := s.note(entry{At: now, Message: two, State: ended, Outcome: hook.OutcomeCompleted, Result: "SECRET result"}); err != nil {
		t.Fatal(err)
	}
	h.work(context.Background())
	if done := h.Forgotten(); !slices.Equal(done, []string{one}) || holds(t, cfg.Dir, "SECRET") || len(h.Outbox()) != 0 {
		t.Errorf("after it: %v, %+v", done, h.Outbox())
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = open()
	defer h.Close()
	h.Offer(order)
	if out := h.Outbox(); len(out) != 1 || out[0].Message != two || !strings.Contains(out[0].Why, "took it before") || len(h.offers) != 0 {
		t.Errorf("it is offered again: %+v", out)
	}
	h.Forget([]string{one}) // the broker did not hear it
	h.work(context.Background())
	if done := h.Forgotten(); !slices.Equal(done, []string{one}) {
		t.Errorf("again: %v", done)
	}
}

// holds says whether a file below dir holds a text.
func holds(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || strings.Contains(string(b), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
