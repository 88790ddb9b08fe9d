package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assent/e2e/claude"
	"assent/e2e/modelserver"
)

// agent is a session of the real client: with a broker, a scripted model, and a directory.
type agent struct {
	*daemon
	t      *testing.T
	ctx    context.Context
	model  *modelserver.Server
	config claude.Config
}

// newAgent prepares a session whose hooks run with these arguments. It takes one of the two
// seats for real clients until the test ends.
func newAgent(t *testing.T, hookArgs ...string) *agent {
	t.Helper()
	path := need(t, "claude")
	clients <- struct{}{}
	t.Cleanup(func() { <-clients })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	m, err := modelserver.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	d := serve(t)
	dir := filepath.Join(d.dir, "cc")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &agent{daemon: d, t: t, ctx: ctx, model: m, config: claude.Config{
		Program: path, Dir: dir, ModelURL: m.URL(),
		Hook: program("assent-hook"), HookArgs: append([]string{"--socket", d.socket}, hookArgs...),
	}}
}

// terminal opens the client in a terminal and gives it a prompt.
func (a *agent) terminal(turns ...[]modelserver.Use) *claude.Terminal {
	a.t.Helper()
	need(a.t, "tmux")
	term, err := claude.Open(a.ctx, a.config)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if a.t.Failed() {
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			defer cancel()
			if screen, err := term.Screen(ctx); err == nil {
				a.t.Logf("the terminal shows:\n%s", screen)
			}
			a.t.Logf("the model read: %+v", a.model.Results())
		}
		if err := term.Close(); err != nil {
			a.t.Error(err)
		}
	})
	a.prompt(term, turns...)
	return term
}

func (a *agent) prompt(term *claude.Terminal, turns ...[]modelserver.Use) {
	a.t.Helper()
	if err := term.Prompt(a.ctx, modelserver.Prompt(turns...)); err != nil {
		a.t.Fatal(err)
	}
}

// headless starts `claude -p` with a prompt.
func (a *agent) headless(turns ...[]modelserver.Use) *claude.Run {
	a.t.Helper()
	r, err := claude.Headless(a.ctx, a.config, modelserver.Prompt(turns...))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = r.Close() })
	return r
}

// result waits for the end of a headless client.
func (a *agent) result(r *claude.Run) claude.Result {
	a.t.Helper()
	res, err := r.Wait()
	if err != nil {
		a.t.Fatal(err)
	}
	return res
}

// answer answers the dialog in the terminal and returns the moment of the key.
func (a *agent) answer(term *claude.Terminal, label string) time.Time {
	a.t.Helper()
	at, err := term.Answer(a.ctx, label)
	if err != nil {
		a.t.Fatal(err)
	}
	return at
}

// dialog waits until the terminal asks, so that both answers are possible.
func (a *agent) dialog(term *claude.Terminal) {
	a.t.Helper()
	if _, err := term.Wait(a.ctx, claude.Dialog); err != nil {
		a.t.Fatal(err)
	}
}

// modelDone waits until the model's script is over and returns all the results it read.
func (a *agent) modelDone() []modelserver.Result {
	a.t.Helper()
	if _, err := a.model.Wait(a.ctx, func(c modelserver.Call) bool { return c.Done }); err != nil {
		a.t.Fatal(err)
	}
	return a.model.Results()
}

func (a *agent) path(name string) string { return filepath.Join(a.config.Work(), name) }

func (a *agent) exists(name string) bool {
	_, err := os.Stat(a.path(name))
	return err == nil
}

// run is a call of Bash.
func run(command string) modelserver.Use {
	return modelserver.Use{Name: "Bash", Input: map[string]any{"command": command, "description": "A test"}}
}

// touch is a call of Bash that needs permission and leaves a trace.
func (a *agent) touch(name string) modelserver.Use { return run("touch " + a.path(name)) }

// settled returns the requests that are over, newest first.
func (d *daemon) settled() []request {
	d.t.Helper()
	var rs []request
	d.get("/v1/requests?state=ended", &rs)
	return rs
}

// object is a JSON object of a test.
func object(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
