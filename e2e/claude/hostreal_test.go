package claude

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	screen "assent/e2e/rig/terminal"
	"assent/internal/api"
	"assent/internal/hook"
)

// terminal is a terminal of the host's owner, and the host with the real broker.
type terminal struct {
	*host
}

// command is assent, as its owner runs it.
func (x *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.Command(rig.Program("assent"), append(args, "--state-dir", x.State)...)
	cmd.Env = append([]string{"HOME=" + x.home, "PATH=" + filepath.Join(x.home, "bin") + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "ANTHROPIC_API_KEY=sk-ant-dummy-00000000000000000000000000000000"}, claude.Loopback(x.Model.URL())...)
	return cmd
}

// says runs a command that sends a message to an agent, and returns the message.
func (x *terminal) says(args ...string) (m hook.Message) {
	x.T.Helper()
	cmd := x.command(append([]string{"agent"}, append(args, "--json", "--wait", "30s")...)...)
	cmd.Stderr = &strings.Builder{}
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &m) != nil {
		x.T.Fatalf("%v: %v %s%s", args, err, out, cmd.Stderr)
	}
	return m
}

func (x *terminal) untilIs(m hook.Message, state hook.MessageState) hook.Message {
	x.T.Helper()
	rig.Eventually(x.T, 2*time.Minute, m.ID+" is "+string(state), func() bool {
		x.Must("GET", "/v1/agents/coder/messages/"+m.ID, "", nil, http.StatusOK, &m)
		return m.State == state
	})
	return m
}

// open runs a command of the owner's in a terminal that says how it ended.
func (x *terminal) open(args ...string) *screen.Terminal {
	x.T.Helper()
	rig.Need(x.T, "tmux")
	cmd := x.command(args...)
	term, err := screen.Open(x.Ctx, screen.Config{
		Dir: x.T.TempDir(), Home: x.home, Work: x.work, Env: cmd.Env,
		Argv: append([]string{"sh", "-c", `"$@"; echo "left with $?"; sleep 600`, "sh", cmd.Path}, cmd.Args[1:]...),
	})
	if err != nil {
		x.T.Fatal(err)
	}
	x.T.Cleanup(func() {
		if text, err := term.Screen(context.Background()); err == nil && x.T.Failed() {
			x.T.Logf("the terminal shows:\n%s", text)
		}
		if err := term.Close(); err != nil {
			x.T.Error(err)
		}
	})
	return term
}

// newTerminal pairs a terminal that its own host accepts; serve starts that. more is added to the entry of the one
// agent, coder, in agents.yaml.
func newTerminal(t *testing.T, more ...string) *terminal {
	t.Helper()
	x := unpaired(t)
	a := x.Agent
	pairing := x.command("agent", "key")
	said := filepath.Join(a.Dir, "key.err")
	f, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	accept := &strings.Builder{}
	pairing.Stdout, pairing.Stderr = accept, f
	if err := pairing.Start(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, time.Minute, "a code", func() bool { return len(a.WaitingDevices()) == 1 })
	a.Command("pair", a.WaitingDevices()[0].Code, "--role", "operate")
	if err := pairing.Wait(); err != nil {
		b, _ := os.ReadFile(said)
		t.Fatalf("%v: %s", err, b)
	}
	x.accepts(strings.TrimSpace(accept.String()), more)
	return x
}

// unpaired is a terminal of the host's owner, whom nobody knows yet.
func unpaired(t *testing.T) *terminal {
	t.Helper()
	a := rig.NewAgent(t)
	x := &terminal{&host{Agent: a, home: a.Config.Home(), state: a.State, work: a.Config.Work()}}
	for _, dir := range []string{x.home, x.work, filepath.Join(x.home, ".config", "assent")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// accepts writes agents.yaml.
func (x *terminal) accepts(device string, more []string) {
	x.T.Helper()
	x.write(filepath.Join(x.home, ".config", "assent", "agents.yaml"), strings.Join([]string{
		"accept: [" + device + "]", "agents:", "  coder:", "    project: " + x.work, "    executor: {kind: claude, cli: " + x.Config.Program + "}",
		strings.Join(more, "\n"), "",
	}, "\n"))
}

// newPhone pairs a browser that the host accepts; serve starts that.
func newPhone(t *testing.T, more ...string) (*terminal, *rig.Browser) {
	t.Helper()
	x := unpaired(t)
	b := rig.NewBrowser(t)
	b.PairAs(x.Daemon, "operate")
	x.accepts("device:"+x.Devices()[0].Thumbprint, more)
	return x, b
}

// serve starts the host, and waits until its agent is there. end ends the host, and is harmless twice.
func (x *terminal) serve() (end func()) {
	x.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	serve := x.command("agent", "serve", "--name", "box")
	serve = exec.CommandContext(ctx, serve.Path, serve.Args[1:]...)
	serve.Env = x.command().Env
	log := &strings.Builder{}
	serve.Stderr = log
	if err := serve.Start(); err != nil {
		x.T.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		cancel()
		_ = serve.Wait()
	})
	x.T.Cleanup(func() {
		end()
		if x.T.Failed() {
			x.T.Logf("the host said:\n%s", log)
		}
		x.killAgents()
	})
	rig.Eventually(x.T, time.Minute, "the agent is there", func() bool {
		l := x.agents()
		return len(l) == 1 && l[0].Status == api.AgentIdle
	})
	return end
}

func (x *terminal) agents() (list []api.Agent) {
	x.Get("/v1/agents", &list)
	return list
}

// A terminal is paired and accepted; it starts an agent, whose request is answered; it is killed with its broker in
// between, and cancelled in the end.
func TestAgentIsStartedFromATerminal(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	end := x.serve()
	a := x.Agent

	first := x.says("start", "coder", modelserver.Prompt([]modelserver.Use{a.Touch("made")}))
	r := a.WaitPending(1)[0]
	if r.SessionID != first.SessionID {
		t.Errorf("%s asks, and %s was started", r.SessionID, first.SessionID)
	}
	a.Kill()
	a.Start()
	a.Allow(a.WaitPending(1)[0])
	if m := x.untilIs(first, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted || len(m.Steps) != 4 || !a.Exists("made") {
		t.Errorf("%+v", m)
	}
	rig.Eventually(t, time.Minute, "the agent is idle again", func() bool {
		l := x.agents()
		return len(l) == 1 && l[0].Status == api.AgentIdle && len(l[0].Sessions) == 1
	})
	second := x.says("prompt", first.SessionID[:8], modelserver.Prompt([]modelserver.Use{a.Touch("never")}))
	a.WaitPending(1)
	rig.Eventually(t, time.Minute, "the agent is busy", func() bool { l := x.agents(); return len(l) == 1 && l[0].Status == api.AgentBusy })
	x.untilIs(x.says("cancel", first.SessionID[:8]), hook.MessageEnded)
	if m := x.untilIs(second, hook.MessageEnded); m.Outcome != hook.OutcomeCancelled || a.Exists("never") {
		t.Errorf("%+v", m)
	}
	rig.Eventually(t, time.Minute, "nothing waits any more", func() bool { return len(a.Pending()) == 0 })
	rig.Eventually(t, time.Minute, "its session is not said to work", func() bool { // the client says nothing of a turn that was cancelled
		var s api.Session
		a.Get("/v1/sessions/"+first.SessionID, &s)
		return s.State != "working" || s.TurnOver
	})

	// Read along and spoken to, from a pipe and from a terminal that leaves it as it is; then handed over.
	pid := x.agent(first.SessionID)
	attach := x.command("agent", "attach", first.SessionID[:8])
	attach.Stdin = strings.NewReader(modelserver.Prompt() + "\n")
	if out, err := attach.CombinedOutput(); err != nil || strings.Count(string(out), modelserver.Done) < 2 {
		t.Errorf("attach: %v %s", err, out)
	}
	desk := x.open("agent", "attach", first.SessionID[:8])
	if err := desk.Send(a.Ctx, "typed by hand"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ key, shows string }{{"Enter", `(?s)typed by hand.*typed by hand`}, {"C-c", `left with 0`}} {
		if _, err := desk.Key(a.Ctx, step.key); err != nil {
			t.Fatal(err)
		}
		if _, err := desk.Wait(a.Ctx, regexp.MustCompile(step.shows)); err != nil {
			t.Fatal(err)
		}
	}
	if now := x.agent(first.SessionID); pid == 0 || now != pid {
		t.Errorf("process %d, then %d", pid, now)
	}
	over, err := x.command("agent", "handover", first.SessionID[:8]).Output()
	if want := "cd " + x.work + " && " + a.Config.Program + " --resume " + first.SessionID + "\n"; err != nil || string(over) != want {
		t.Errorf("handover: %v %q", err, over)
	}
	if again, err := x.command("agent", "handover", first.SessionID[:8]).Output(); err != nil || string(again) != string(over) {
		t.Errorf("handover of what has ended: %v %q", err, again)
	}
	// Forgotten while the host is away, and then by the host when it comes back.
	kept := filepath.Join(x.State, "agents", first.SessionID)
	if _, err := os.Stat(filepath.Join(kept, "journal")); err != nil {
		t.Fatal(err)
	}
	end()
	a.Command("forget", first.SessionID, "--yes")
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("somebody else than the host removed it: %v", err)
	}
	x.serve()
	rig.Eventually(t, time.Minute, "the host has forgotten the session", func() bool {
		_, err := os.Stat(kept)
		return os.IsNotExist(err)
	})
	if log := a.Out.Tail(1 << 20); strings.Contains(log, "modelserver") || strings.Contains(log, second.Prompt) {
		t.Error("the broker's log has a prompt")
	}
}
