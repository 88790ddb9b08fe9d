package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig/coder"
	"assent/internal/agent/agents"
)

// Coder is a session of a real coding agent other than Claude Code: with a broker, a scripted model, and
// a home of its own that assent install has written into.
type Coder struct {
	*Daemon
	T     *testing.T
	Ctx   context.Context
	Model *coder.Model
	Run   coder.Run
	Home  string
}

// coders are the programs of agents, each installed once; guarded by codersMu.
var (
	codersMu sync.Mutex
	coders   = map[string]func() (string, error){}
)

// overACPOnly are agents that assent knows in an editor only, in the versions that they were measured with.
var overACPOnly = map[string]struct{ pkg, version string }{
	"gemini":           {"@google/gemini-cli", "0.61.0"},
	"codex-acp":        {"@agentclientprotocol/codex-acp", "2.6.0"},
	"claude-agent-acp": {"@agentclientprotocol/claude-agent-acp", "0.101.0"},
	"goose":            {"@aaif/goose", "0.20.1"},
	"kimi":             {"@moonshot-ai/kimi-code", "2.1.0"},
}

// coderProgram installs an agent in the version that it was measured with. ASSENT_E2E_CODEX and the like give
// the path of a program to take in its place, of another version perhaps.
func coderProgram(name string) (string, error) {
	if path := os.Getenv("ASSENT_E2E_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); path != "" {
		return exec.LookPath(path)
	}
	codersMu.Lock()
	defer codersMu.Unlock()
	if coders[name] == nil {
		coders[name] = sync.OnceValues(func() (string, error) {
			if p, ok := overACPOnly[name]; ok {
				return installFromNPM(p.pkg, p.version, name)
			}
			a, err := agents.Named(name)
			if err != nil {
				return "", err
			}
			return installFromNPM(a.Facts().Package, a.Facts().Version, name)
		})
	}
	return coders[name]()
}

// installFromNPM returns the path of a program of an npm package.
func installFromNPM(pkg, version, program string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", coder.ErrMissing, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	return coder.Install(ctx, cache, pkg, version, program)
}

// NewCoder prepares a session of the named agent. somebody says that an approver watches the broker, whose
// further arguments serve are.
func NewCoder(t *testing.T, name string, somebody bool, serve ...string) *Coder {
	t.Helper()
	Need(t, name)
	clients <- struct{}{}
	t.Cleanup(func() { <-clients })
	d := Serve(t, serve...)
	if somebody {
		_, token := d.Owner()
		socket := d.Look(token)
		go func() { // answers pings, until the test's end closes it
			for {
				if _, _, err := socket.ReadMessage(); err != nil {
					return
				}
			}
		}()
	}
	return CoderOf(t, d, name, d.Dir, "work")
}

// CoderOf prepares a session of the named agent with a broker, and keeps its files in dir: project is the
// directory that the agent works in. It takes no seat for clients: its test has one.
func CoderOf(t *testing.T, d *Daemon, name, dir, project string) *Coder {
	t.Helper()
	path := Need(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	m, err := coder.StartModel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	c := &Coder{Daemon: d, T: t, Ctx: ctx, Model: m, Home: filepath.Join(dir, "home")}
	c.Run = coder.Run{Dir: filepath.Join(dir, "agent"), Work: filepath.Join(dir, project), Argv: []string{path}}
	for _, dir := range []string{c.Home, c.Run.Dir, c.Run.Work, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", c.Run.Work).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	path = os.Getenv("PATH")
	if name == "qwen" || name == "claude-agent-acp" || name == "gemini" || name == "codex-acp" || name == "kimi" {
		if dir, err := qwenNode(); err == nil && dir != "" {
			path = dir + ":" + path
		}
	}
	c.Run.Env = []string{
		"HOME=" + c.Home, "PATH=" + path, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "TMPDIR=" + filepath.Join(dir, "tmp"),
		"MOCK_KEY=dummy", "NO_COLOR=1",
		"HTTPS_PROXY=" + m.URL(), "HTTP_PROXY=" + m.URL(), "NO_PROXY=127.0.0.1,localhost", // nothing leaves the machine
	}
	return c
}

// Assent runs the command as the user of the agent.
func (c *Coder) Assent(args ...string) string {
	c.T.Helper()
	cmd := exec.CommandContext(c.Ctx, Program("assent"), append(args, "--state-dir", c.State)...)
	cmd.Dir, cmd.Env = c.Run.Work, []string{"HOME=" + c.Home, "PATH=" + filepath.Dir(c.Run.Argv[0]) + ":" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.T.Fatalf("assent %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// Said runs the command as the user of the agent, and returns what it says, whatever its exit code.
func (c *Coder) Said(args ...string) string {
	cmd := exec.CommandContext(c.Ctx, Program("assent"), append(args, "--state-dir", c.State)...)
	cmd.Dir, cmd.Env = c.Run.Work, append(slices.Clone(c.Run.Env), "PATH="+filepath.Dir(c.Run.Argv[0])+":"+os.Getenv("PATH"))
	out, _ := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " ") // it is wrapped
}

// Terminal opens the agent in a terminal.
func (c *Coder) Terminal(args ...string) *coder.Terminal {
	c.T.Helper()
	Need(c.T, "tmux")
	run := c.Run
	run.Argv = append(append([]string(nil), run.Argv...), args...)
	term, err := run.Open(c.Ctx)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		if c.T.Failed() {
			ctx, cancel := context.WithTimeout(context.Background(), Soon)
			defer cancel()
			if screen, err := term.Screen(ctx); err == nil {
				c.T.Logf("the terminal shows:\n%s", screen)
			}
			c.T.Logf("the model read: %q", c.Model.Results())
		}
		if err := term.Close(); err != nil {
			c.T.Error(err)
		}
	})
	return term
}

// Shows waits until the terminal shows what matches.
func (c *Coder) Shows(term *coder.Terminal, pattern string) string {
	c.T.Helper()
	screen, err := term.Wait(c.Ctx, regexp.MustCompile(pattern))
	if err != nil {
		c.T.Fatal(err)
	}
	return screen
}

// Press presses keys in the terminal.
func (c *Coder) Press(term *coder.Terminal, keys ...string) {
	c.T.Helper()
	if err := term.Key(c.Ctx, keys...); err != nil {
		c.T.Fatal(err)
	}
}

// PressUntilGone waits until the terminal shows what matches, and presses a key until it no longer does.
func (c *Coder) PressUntilGone(term *coder.Terminal, pattern, key string) {
	c.T.Helper()
	c.Shows(term, pattern)
	for gone := false; !gone; {
		c.Press(term, key)
		for end := time.Now().Add(2 * time.Second); !gone && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			screen, err := term.Screen(c.Ctx)
			if err != nil {
				c.T.Fatal(err)
			}
			gone = !regexp.MustCompile(pattern).MatchString(screen)
		}
	}
}

// PressUntilOver presses a key in a dialog, which the terminal shows by now, until the request is over.
func (c *Coder) PressUntilOver(term *coder.Terminal, id, shows, key string) {
	c.T.Helper()
	c.Shows(term, shows)
	for c.Request(id).State == "pending" {
		if c.Ctx.Err() != nil {
			c.T.Fatal("the request is not over")
		}
		c.Press(term, key)
		for end := time.Now().Add(2 * time.Second); c.Request(id).State == "pending" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		}
	}
}

// Prompt has the agent's model make these calls, one step after the other.
func (c *Coder) Prompt(term *coder.Terminal, steps ...coder.Step) {
	c.T.Helper()
	c.Model.Script(steps...)
	before := c.Model.Asked()
	if err := term.Type(c.Ctx, coder.Words); err != nil {
		c.T.Fatal(err)
	}
	// An Enter that comes with the text is taken for a part of it, so it is pressed again.
	for taken := false; !taken; {
		c.Press(term, "Enter")
		for end := time.Now().Add(3 * time.Second); !taken && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			taken = c.Model.Asked() > before
		}
		if c.Ctx.Err() != nil {
			c.T.Fatal("the prompt is not taken")
		}
	}
}

// ModelDone waits until n turns with calls are over, and returns what the model read of its tools.
func (c *Coder) ModelDone(n int) []string {
	c.T.Helper()
	Eventually(c.T, 2*Soon, "the agent tells its model the results", func() bool { return c.Model.Ended() >= n })
	return c.Model.Results()
}

// ModelReads waits until the model has read this of a tool. Agents ask their model more than once about some
// calls.
func (c *Coder) ModelReads(text string) {
	c.T.Helper()
	Eventually(c.T, 2*Soon, "the model reads "+text, func() bool {
		for _, r := range c.Model.Results() {
			if strings.Contains(r, text) {
				return true
			}
		}
		return false
	})
}

// Path is a file in the working directory, and Exists whether it is there.
func (c *Coder) Path(name string) string { return filepath.Join(c.Run.Work, name) }

// Exists reports whether a file is in the working directory.
func (c *Coder) Exists(name string) bool {
	_, err := os.Stat(c.Path(name))
	return err == nil
}

// Write writes a file below the home.
func (c *Coder) Write(name, text string) {
	c.T.Helper()
	path := filepath.Join(c.Home, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		c.T.Fatal(err)
	}
}
