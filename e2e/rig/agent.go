package rig

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
)

// Agent is a session of the real client: with a broker, a scripted model, and a directory.
type Agent struct {
	*Daemon
	T      *testing.T
	Ctx    context.Context
	Model  *modelserver.Server
	Config claude.Config
	mcp    bool // it has the server of WithMCP
}

// NewAgent prepares a session whose hooks run with these arguments. It takes one of the two
// seats for real clients until the test ends.
func NewAgent(t *testing.T, hookArgs ...string) *Agent {
	t.Helper()
	path := Need(t, "claude")
	clients <- struct{}{}
	t.Cleanup(func() { <-clients })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	m, err := modelserver.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	d := Serve(t)
	dir := filepath.Join(d.Dir, "cc")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &Agent{Daemon: d, T: t, Ctx: ctx, Model: m, Config: claude.Config{
		Program: path, Dir: dir, ModelURL: m.URL(),
		Hook: Program("assent-hook"), HookArgs: append([]string{"--socket", d.Socket}, hookArgs...),
	}}
}

// Terminal opens the client in a terminal and gives it a prompt.
func (a *Agent) Terminal(turns ...[]modelserver.Use) *claude.Terminal {
	a.T.Helper()
	Need(a.T, "tmux")
	term, err := claude.Open(a.Ctx, a.Config)
	if err != nil {
		a.T.Fatal(err)
	}
	a.T.Cleanup(func() {
		if a.T.Failed() {
			ctx, cancel := context.WithTimeout(context.Background(), Soon)
			defer cancel()
			if screen, err := term.Screen(ctx); err == nil {
				a.T.Logf("the terminal shows:\n%s", screen)
			}
			a.T.Logf("the model read: %+v", a.Model.Results())
		}
		if err := term.Close(); err != nil {
			a.T.Error(err)
		}
	})
	if a.mcp {
		Eventually(a.T, Soon, "the client knows the tools of its server", func() bool {
			_, err := os.Stat(a.mcpListed())
			return err == nil
		})
	}
	a.Prompt(term, turns...)
	return term
}

// Prompt types a prompt that has the model ask for these tools, one turn after the other.
func (a *Agent) Prompt(term *claude.Terminal, turns ...[]modelserver.Use) {
	a.T.Helper()
	if err := term.Prompt(a.Ctx, modelserver.Prompt(turns...)); err != nil {
		a.T.Fatal(err)
	}
}

// Headless starts `claude -p` with a prompt.
func (a *Agent) Headless(turns ...[]modelserver.Use) *claude.Run {
	a.T.Helper()
	r, err := claude.Headless(a.Ctx, a.Config, modelserver.Prompt(turns...))
	if err != nil {
		a.T.Fatal(err)
	}
	a.T.Cleanup(func() { _ = r.Close() })
	return r
}

// Result waits for the end of a headless client.
func (a *Agent) Result(r *claude.Run) claude.Result {
	a.T.Helper()
	res, err := r.Wait()
	if err != nil {
		a.T.Fatal(err)
	}
	return res
}

// Answer answers the dialog in the terminal and returns the moment of the key.
func (a *Agent) Answer(term *claude.Terminal, label string) time.Time {
	a.T.Helper()
	at, err := term.Answer(a.Ctx, label)
	if err != nil {
		a.T.Fatal(err)
	}
	return at
}

// Dialog waits until the terminal asks, so that both answers are possible.
func (a *Agent) Dialog(term *claude.Terminal) {
	a.T.Helper()
	if _, err := term.Wait(a.Ctx, claude.Dialog); err != nil {
		a.T.Fatal(err)
	}
}

// ModelDone waits until the model's script is over and returns all the results it read.
func (a *Agent) ModelDone() []modelserver.Result {
	a.T.Helper()
	if _, err := a.Model.Wait(a.Ctx, func(c modelserver.Call) bool { return c.Done }); err != nil {
		a.T.Fatal(err)
	}
	return a.Model.Results()
}

// Path is that of a file in the directory the client works in.
func (a *Agent) Path(name string) string { return filepath.Join(a.Config.Work(), name) }

// Exists says whether a file is in the directory the client works in.
func (a *Agent) Exists(name string) bool {
	_, err := os.Stat(a.Path(name))
	return err == nil
}

// Run is a call of Bash.
func Run(command string) modelserver.Use {
	return modelserver.Use{Name: "Bash", Input: map[string]any{"command": command, "description": "A test"}}
}

// Touch is a call of Bash that needs permission and leaves a trace.
func (a *Agent) Touch(name string) modelserver.Use { return Run("touch " + a.Path(name)) }

// Settled returns the requests that are over, newest first.
func (d *Daemon) Settled() []Request {
	d.T.Helper()
	var rs []Request
	d.Get("/v1/requests?state=ended", &rs)
	return rs
}

// Object is a JSON object of a test.
func Object(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
