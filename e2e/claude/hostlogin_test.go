package claude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/api"
	"assent/internal/hook"
)

// An agent whose program is not logged in fails its turn, with what to do; the doctor says so before; and the session
// goes on once that is fixed.
func TestHostIsNotLoggedIn(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	key := h.key
	h.key = ""
	doctor := func() string {
		t.Helper()
		cmd := exec.Command(rig.Program("assent"), "agent", "doctor", "--state-dir", h.state)
		cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "ANTHROPIC_API_KEY=" + h.key}, claude.Loopback(h.Model.URL())...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	if out := doctor(); !strings.Contains(out, "was never started here") || !strings.Contains(out, "/login") {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(filepath.Join(h.home, ".claude.json")); err == nil {
		t.Error("the doctor had the client make files")
	}
	h.serve()
	session := uuid.NewString()
	m := h.until(h.broker.send(session, hook.MessagePrompt, modelserver.Prompt(), nil), hook.MessageEnded)
	if m.Outcome != hook.OutcomeFailed || !strings.Contains(why(m), "not logged in") || !strings.Contains(why(m), "/login") {
		t.Errorf("%+v", m)
	}
	rig.Eventually(t, rig.Soon, "it is told", func() bool {
		e := h.broker.event(session, api.AgentFailed)
		return e != nil && e.Error.Code == "LOGIN"
	})
	if out := doctor(); !strings.Contains(out, "not logged in, so each turn fails") {
		t.Errorf("%s", out)
	}
	if n := len(h.Model.Calls()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	h.kill()
	h.killAgents()
	h.key = key
	h.serve()
	if out := doctor(); !strings.Contains(out, "is logged in") {
		t.Errorf("%s", out)
	}
	if m := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt(), nil), hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
}
