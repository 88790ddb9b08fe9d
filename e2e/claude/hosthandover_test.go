package claude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// repository makes the project one of git, with a commit.
func (h *host) repository() {
	h.T.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=x", "-c", "user.email=x@example.net", "commit", "-q", "--allow-empty", "-m", "begin"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = h.work, []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			h.T.Fatalf("git %v: %v %s", args, err, out)
		}
	}
}

// shell runs a line in a shell as the host's owner does, and returns what it printed.
func (h *host) shell(line string) string {
	h.T.Helper()
	cmd := exec.CommandContext(h.Ctx, "bash", "-c", line)
	cmd.Dir = h.home
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-dummy-00000000000000000000000000000000"}, claude.Loopback(h.Model.URL())...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.T.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func why(m hook.Message) string { return m.Steps[len(m.Steps)-1].Why }

// A session with a work tree of its own is handed over at the end of its turn; a shell goes on with it there, and
// the host after that.
func TestHostHandsOver(t *testing.T) {
	t.Parallel()
	h := newHost(t, "    worktree: true")
	h.repository()
	h.serve()
	session := uuid.NewString()
	first := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{rig.Run("touch here")}), nil)
	r := h.WaitPending(1)[0]
	waiting := h.broker.send(session, hook.MessagePrompt, "later", nil)
	over := h.broker.send(session, hook.MessageHandover, "", nil)
	h.until(over, hook.MessageStarted)
	if m := h.until(waiting, hook.MessageRefused); !strings.Contains(why(m), "handed over to a terminal") {
		t.Errorf("%+v", m.Steps)
	}
	h.Allow(r)
	if m := h.until(first, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
	m := h.until(over, hook.MessageEnded)
	tree := filepath.Join(h.work, ".claude", "worktrees", "assent-"+session[:8])
	if m.Outcome != hook.OutcomeCompleted || m.Command != "cd "+tree+" && "+h.Config.Program+" --resume "+session {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(filepath.Join(tree, "here")); err != nil {
		t.Errorf("the session did not work in its work tree: %v", err)
	}
	if left := h.pids(session); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if m := h.until(h.broker.send(session, hook.MessagePrompt, "go on", nil), hook.MessageRefused); !strings.Contains(why(m), "resume") {
		t.Errorf("%+v", m.Steps)
	}

	if out := h.shell(m.Command + " -p '" + modelserver.Prompt() + "'"); !strings.Contains(out, modelserver.Done) {
		t.Errorf("the shell says %q", out)
	}
	begun, _ := filepath.Glob(filepath.Join(h.home, ".claude", "projects", "*", session+".jsonl"))
	if len(begun) != 1 {
		t.Errorf("the session's transcripts are %q", begun)
	}
	if m := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt([]modelserver.Use{rig.Run("pwd > there")}), nil), hook.MessageStarted); m.State != hook.MessageStarted {
		t.Errorf("%+v", m)
	}
	h.Allow(h.WaitPending(1)[0])
	rig.Eventually(t, time.Minute, "the host's session works where it did", func() bool {
		where, _ := os.ReadFile(filepath.Join(tree, "there"))
		return strings.TrimSpace(string(where)) == tree
	})
	again := h.until(h.broker.send(session, hook.MessageHandover, "", nil), hook.MessageEnded) // when it is idle, or at the end of that turn
	if again.Command != m.Command {
		t.Errorf("%+v", again)
	}
}
