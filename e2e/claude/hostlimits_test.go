package claude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
)

// What a session may spend is counted over all of its processes.
func TestHostCountsOverProcesses(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.serve()
	session := uuid.NewString()
	prompt := func(budget float64, state hook.MessageState) hook.Message {
		t.Helper()
		return h.until(h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{rig.Run("echo x")}), &hook.MessageOptions{BudgetUSD: budget}), state)
	}
	cost := func() float64 {
		t.Helper()
		var c float64
		rig.Eventually(t, time.Minute, "the cost is told", func() bool {
			e := h.broker.event(session, api.AgentCompleted)
			if e != nil {
				c = e.CostUSD
			}
			return e != nil
		})
		return c
	}
	prompt(0.01, hook.MessageEnded)
	one := cost() // of a turn
	if m := prompt(one+0.0001, hook.MessageRefused); !strings.Contains(m.Steps[len(m.Steps)-1].Why, "has spent") {
		t.Errorf("%+v", m.Steps)
	}
	for n, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		pid := h.agent(session)
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		rig.Eventually(t, time.Minute, "the process is gone", func() bool { return h.agent(session) == 0 })
		// Enough for one more turn, if what went before is counted once.
		spent := one * float64(n+1)
		if m := prompt(spent+1.5*one, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
			t.Errorf("after %v: %+v", sig, m)
		}
		want := one * float64(n+2)
		rig.Eventually(t, time.Minute, "the cost of both is told", func() bool { c := cost(); return c > want*0.99 && c < want*1.01 })
	}
}

// However often its agent is killed in the middle of a turn, a session's budget is passed by one call of the model
// at most; then it takes more, and goes on in a process that has what is left.
func TestHostBudgetHoldsOverKills(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.serve()
	session := uuid.NewString()
	echo := []modelserver.Use{rig.Run("echo x")}
	h.until(h.broker.send(session, hook.MessagePrompt, modelserver.Prompt(echo), nil), hook.MessageEnded)
	var call float64
	rig.Eventually(t, time.Minute, "the cost is told", func() bool {
		if e := h.broker.event(session, api.AgentCompleted); e != nil {
			call = e.CostUSD / float64(len(h.Model.Calls()))
		}
		return call > 0
	})
	budget, over := 12.5*call, false
	for range 12 {
		before := len(h.Model.Calls())
		id := h.broker.send(session, hook.MessageResume, modelserver.Prompt(echo, echo, []modelserver.Use{rig.Run("sleep 600; echo x")}), &hook.MessageOptions{BudgetUSD: budget})
		rig.Eventually(t, 2*time.Minute, "it hangs, or is over", func() bool {
			m := h.broker.message(id)
			over = m.State == hook.MessageRefused || m.State == hook.MessageEnded
			return over || len(h.Model.Calls()) >= before+3
		})
		if over {
			break
		}
		if err := syscall.Kill(h.agent(session), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.until(id, hook.MessageEnded)
	}
	if spent := float64(len(h.Model.Calls())) * call; !over || spent > budget+call {
		t.Errorf("over %v: %v was spent of %v, at %v a call", over, spent, budget, call)
	}
	more := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt(echo), &hook.MessageOptions{BudgetUSD: 1}), hook.MessageEnded)
	pid := h.agent(session)
	less := h.until(h.broker.send(session, hook.MessagePrompt, modelserver.Prompt(echo), &hook.MessageOptions{BudgetUSD: 0.5}), hook.MessageEnded)
	if now := h.agent(session); more.Outcome != hook.OutcomeCompleted || less.Outcome != hook.OutcomeCompleted || now == pid || now == 0 {
		t.Errorf("process %d, then %d: %+v, %+v", pid, now, more, less)
	}
}

// A session that is open elsewhere has one writer already.
func TestHostIsNoSecondWriter(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	session := uuid.NewString()
	first := exec.Command(h.Config.Program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--session-id", session)
	first.Dir = h.work
	first.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-dummy-00000000000000000000000000000000"}, claude.Loopback(h.Model.URL())...)
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	if _, err := in.Write(streamjson.Prompt(uuid.NewString(), session, modelserver.Prompt())); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, time.Minute, "the session is begun", func() bool {
		found, _ := filepath.Glob(filepath.Join(h.home, ".claude", "projects", "*", session+".jsonl"))
		live, _ := filepath.Glob(filepath.Join(h.home, ".claude", "sessions", "*.json"))
		return len(found) == 1 && len(live) == 1
	})
	h.serve()
	refused := func(kind, want string) {
		t.Helper()
		m := h.until(h.broker.send(session, kind, "go on", nil), hook.MessageRefused)
		if !strings.Contains(m.Steps[len(m.Steps)-1].Why, want) {
			t.Errorf("%s: %+v", kind, m.Steps)
		}
	}
	refused(hook.MessagePrompt, "begun elsewhere")
	for range 100 { // each is looked at by itself
		refused(hook.MessageResume, "open in another place: process")
	}
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if m := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt(), nil), hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
	// Nor has it a second one here: who writes to the pipe in the middle of a turn, that the agent is to ask no more, ends it.
	id := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{h.Touch("made")}), nil)
	h.WaitPending(1)
	pipe, err := os.OpenFile(filepath.Join(h.state, "agents", session, "in.fifo"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.WriteString(`{"type":"control_request","request_id":"x","request":{"subtype":"set_permission_mode","mode":"dontAsk"}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if m := h.until(id, hook.MessageEnded); m.Outcome != hook.OutcomeFailed || h.agent(session) != 0 || h.Exists("made") {
		t.Errorf("%+v", m)
	}
}
