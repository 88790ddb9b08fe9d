package claude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// Left to itself, the client makes a work tree of what the remote has at that moment, and runs the hooks in it. The
// host's is of what is checked out; and what no commit of anybody's can bring along is a file that was not accepted.
func TestHostsWorkTreeBringsNothingNew(t *testing.T) {
	t.Parallel()
	h := newHost(t, "    worktree: true")
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.net"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, text)
		}
	}
	settings := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		h.write(filepath.Join(dir, ".claude", "settings.json"), `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch `+h.home+`/ran"}]}]}}`)
		git(dir, "add", ".")
		git(dir, "commit", "-q", "-m", "settings")
	}
	remote := filepath.Join(h.Dir, "remote")
	git(h.Dir, "init", "-q", remote)
	h.write(filepath.Join(remote, "a.go"), "package a\n")
	git(remote, "add", ".")
	git(remote, "commit", "-q", "-m", "one")
	git(h.Dir, "clone", "-q", remote, h.work)
	settings(remote) // by somebody else, after that
	h.serve()
	session := uuid.NewString()
	id := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt(), nil)
	if m := h.until(id, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
	if cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(h.agent(session)), "cwd")); err != nil || cwd != optin.Tree(h.work, "assent-"+session[:8]) {
		t.Errorf("it works in %s, %v", cwd, err)
	}
	settings(h.work)
	git(h.work, "rm", "-q", "--cached", ".claude/settings.json")
	if err := os.RemoveAll(filepath.Join(h.work, ".claude", "settings.json")); err != nil { // accepted is: nothing
		t.Fatal(err)
	}
	id = h.broker.send(uuid.NewString(), hook.MessagePrompt, modelserver.Prompt(), nil)
	if m := h.until(id, hook.MessageEnded); m.Outcome != hook.OutcomeFailed || !strings.Contains(m.Steps[len(m.Steps)-1].Why, "not as it was accepted") {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(filepath.Join(h.home, "ran")); err == nil {
		t.Error("a hook ran that nobody accepted")
	}
}
