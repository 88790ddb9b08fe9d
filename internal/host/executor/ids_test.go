package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// takes has a host take a message that can need no process: it says whether that is so, and else why not.
func (h *Host) takes(t *testing.T, o Order) (taken bool, why string) {
	t.Helper()
	h.Offer(o)
	h.mu.Lock()
	for _, p := range h.offers {
		h.consider(t.Context(), p)
	}
	taken = h.findLocked(o.ID) != nil
	h.mu.Unlock()
	for _, f := range h.Outbox() {
		if f.Message == o.ID && f.Why != "" {
			why = f.Why
		}
	}
	return taken, why
}

// What a device signed is obeyed once: also where the directory of the session that it was for was removed while no host ran,
// and where the machine's clock goes back behind the end of its time.
func TestAMessageIsTakenOnce(t *testing.T) {
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Dir: filepath.Join(home, "agents"), Home: home, Logf: t.Logf,
		File: func() (optin.File, error) {
			return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder"}}}, nil
		},
		Settings: func(optin.Agent) ([]byte, error) { return nil, nil },
	}
	open := func() *Host {
		t.Helper()
		h, err := Open(cfg)
		if err != nil {
			t.Skip(err)
		}
		return h
	}
	order := func(id string, d time.Duration) Order {
		return Order{ID: id, Session: one, Agent: "coder", Kind: hook.MessageCancel, By: "key", ExpiresAt: time.Now().Add(d)}
	}
	begin := func(h *Host) {
		t.Helper()
		s, err := makeSession(h, meta{Session: one, Agent: "coder"})
		if err != nil {
			t.Fatal(err)
		}
		h.sessions[one] = s
	}
	h := open()
	begin(h)
	first := order(two, time.Hour)
	if taken, why := h.takes(t, first); !taken {
		t.Fatal(why)
	}
	h.Refuse(two, "no device signed it") // of a broker that says so to have the record say that it was refused
	if _, why := h.takes(t, first); why != "" {
		t.Errorf("of a message that was taken it is said: %s", why)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(cfg.Dir, one)); err != nil {
		t.Fatal(err)
	}
	h = open()
	defer h.Close()
	begin(h)
	if taken, why := h.takes(t, first); taken || !strings.Contains(why, "took it before") {
		t.Errorf("its journal is gone: taken %t, %q", taken, why)
	}
	// Another one is taken, and an hour later its id is dropped.
	later := order("33333333-3333-4333-8333-333333333333", 2*time.Hour)
	if taken, why := h.takes(t, later); !taken {
		t.Error(why)
	}
	if err := h.keepIDs(time.Now().Add(3 * time.Hour)); err != nil || len(h.ids) > 0 {
		t.Errorf("%v, %v", h.ids, err)
	}
	h.over, h.ids = time.Time{}, nil
	if err := h.loadIDs(); err != nil {
		t.Fatal(err)
	}
	delete(h.sessions, one)
	later.Kind, later.Prompt = hook.MessagePrompt, "x" // a cancel counts whenever it comes
	if taken, why := h.takes(t, later); taken || why != overWhy {
		t.Errorf("the clock went back: taken %t, %q", taken, why)
	}
}

// What an earlier version wrote is read.
func TestIDsOfEarlierHosts(t *testing.T) {
	h := &Host{cfg: Config{Dir: t.TempDir()}}
	if err := os.WriteFile(filepath.Join(h.cfg.Dir, idsFile), []byte(`{"`+two+`":"2099-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.loadIDs(); err != nil || len(h.ids) != 1 || !h.over.IsZero() {
		t.Errorf("%v, %v, %v", h.ids, h.over, err)
	}
}
