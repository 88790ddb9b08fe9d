package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/api"
	"assent/internal/hook"
)

// What takes too long, writes too much, hangs, stops asking or has lost its place is ended, with words, and with all that
// it started.
func TestHostEndsWhatGoesWrong(t *testing.T) {
	t.Parallel()
	h := newHost(t, "    sessions: 8")
	h.serve()
	// works has a session whose tool runs and does not care about signals.
	stubborn := func(seconds string) string {
		return modelserver.Prompt([]modelserver.Use{rig.Run(`sh -c 'trap "" INT TERM HUP; sleep ` + seconds + `; true'`)})
	}
	works := func(seconds string) (session, message string) {
		t.Helper()
		session = uuid.NewString()
		message = h.broker.send(session, hook.MessagePrompt, stubborn(seconds), nil)
		h.untilRuns(session, "sleep\x00"+seconds)
		return session, message
	}
	ended := func(session, message, outcome, want string) {
		t.Helper()
		m := h.until(message, hook.MessageEnded)
		if m.Outcome != outcome || !strings.Contains(why(m), want) {
			t.Errorf("want %s, %q: %+v", outcome, want, m.Steps)
		}
		rig.Eventually(t, time.Minute, "nothing of it is left", func() bool { return len(h.pids(session)) == 0 })
	}

	session := uuid.NewString()
	message := h.broker.send(session, hook.MessagePrompt, stubborn("611"), &hook.MessageOptions{TimeoutSeconds: 2})
	rig.Eventually(t, time.Minute, "the time is over", func() bool {
		for _, r := range h.Pending() { // who is waited for costs no time
			_, _, _ = h.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256}) // it may be over
		}
		return h.broker.message(message).State == hook.MessageEnded
	})
	ended(session, message, hook.OutcomeFailed, "has worked for its 2s")

	session, message = works("612")
	if err := os.Truncate(filepath.Join(h.state, "agents", session, "out.jsonl"), 257<<20); err != nil { // a hole, not a disk
		t.Fatal(err)
	}
	ended(session, message, hook.OutcomeFailed, "more than 256 MiB")

	// A client that hears nothing: the third cancel needs nobody's consent.
	session, message = works("613")
	if err := syscall.Kill(h.agent(session), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var cancels []string
	for range 3 {
		cancels = append(cancels, h.broker.send(session, hook.MessageCancel, "", nil))
	}
	ended(session, message, hook.OutcomeCancelled, "cancelled")
	for _, id := range cancels {
		h.until(id, hook.MessageEnded)
	}

	// Whatever had it so, an agent that does not ask does not last for a turn.
	config := filepath.Join(h.home, ".config", "assent", "agents.yaml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	wrapper := filepath.Join(h.home, "claude")
	h.write(wrapper, "#!/bin/sh\nexec "+h.Config.Program+" \"$@\" --permission-mode auto\n")
	if err := os.Chmod(wrapper, 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(config, strings.Replace(string(before), h.Config.Program, wrapper, 1))
	session = uuid.NewString()
	message = h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{h.Touch("unasked")}), nil)
	ended(session, message, hook.OutcomeFailed, `works in mode "auto"`)
	if h.Exists("unasked") {
		t.Error("a tool ran in a mode that does not ask")
	}
	h.write(config, string(before))

	// Without its project nothing is started, and nothing goes on.
	session = uuid.NewString()
	h.until(h.broker.send(session, hook.MessagePrompt, modelserver.Prompt(), nil), hook.MessageEnded)
	if err := os.RemoveAll(h.work); err != nil {
		t.Fatal(err)
	}
	calls := len(h.Model.Calls())
	for _, want := range []string{"directory is gone", h.work} {
		m := h.until(h.broker.send(session, hook.MessagePrompt, "hello", nil), hook.MessageRefused)
		if !strings.Contains(why(m), want) {
			t.Errorf("want %q: %+v", want, m.Steps)
		}
		rig.Eventually(t, time.Minute, "its process is gone", func() bool { return h.agent(session) == 0 })
	}
	if now := len(h.Model.Calls()); now != calls {
		t.Errorf("the model was asked %d times more", now-calls)
	}
}

// A full disk is said, also where even that cannot be written down, and is no end once there is room again.
func TestHostOnAFullDisk(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	disk := filepath.Join(h.state, "agents")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("assent-test", disk, "tmpfs", 0, "size=64m,mode=700"); err != nil {
		rig.Count(t, "small disk", "skipped")
		t.Skipf("this test needs a small disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	h.serve()
	session := uuid.NewString()
	message := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{rig.Run("sh -c 'sleep 621; true'")}), nil)
	h.untilRuns(session, "sleep\x00621")
	fill := filepath.Join(disk, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<16); err == nil; _, err = f.Write(block) {
	}
	for block := []byte{0}; err == nil; _, err = f.Write(block) {
	}
	f.Close()
	rig.Eventually(t, time.Minute, "the agent is stopped", func() bool { return len(h.pids(session)) == 0 })
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if m := h.until(message, hook.MessageEnded); m.Outcome != hook.OutcomeFailed || !strings.Contains(why(m), "disk") && !strings.Contains(why(m), "no space") {
		t.Errorf("%+v", m.Steps)
	}
	if m := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt(), nil), hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m.Steps)
	}
}

// A terminal that goes on with a session while an agent works in it has it when the agent's turn is over.
func TestATerminalTakesASessionOver(t *testing.T) {
	t.Parallel()
	rig.Need(t, "tmux")
	h := newHost(t)
	if err := h.Config.Prepare(); err != nil {
		t.Fatal(err)
	}
	h.serve()
	session := uuid.NewString()
	first := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{h.Touch("made")}), nil)
	r := h.WaitPending(1)[0]
	h.Config.Args = append(h.Config.Args, "--resume", session)
	term, err := claude.Open(h.Ctx, h.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Close() })
	if h.agent(session) == 0 {
		t.Error("the agent's turn was cut off")
	}
	h.Allow(r)
	if m := h.until(first, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted || !h.Exists("made") {
		t.Errorf("%+v", m)
	}
	rig.Eventually(t, time.Minute, "the agent leaves it to the terminal, and says so", func() bool {
		e := h.broker.event(session, api.AgentProgress)
		return h.agent(session) == 0 && e != nil && strings.Contains(e.Message, "taken over in a terminal, by process")
	})
	for _, kind := range []string{hook.MessagePrompt, hook.MessageResume, hook.MessageHandover} {
		text := "hello"
		if hook.Wordless(kind) {
			text = ""
		}
		if m := h.until(h.broker.send(session, kind, text, nil), hook.MessageRefused); !strings.Contains(why(m), "open in another place") {
			t.Errorf("%s: %+v", kind, m.Steps)
		}
	}
	pid := term.PID()
	if err := term.Kill(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, time.Minute, "the terminal's client is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	if m := h.until(h.broker.send(session, hook.MessageResume, modelserver.Prompt(), nil), hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
	if !slices.Contains(h.pids(session), h.agent(session)) {
		t.Error("the agent does not go on with it")
	}
}
