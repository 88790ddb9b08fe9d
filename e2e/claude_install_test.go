package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/e2e/claude"
	"assent/e2e/modelserver"
)

// The real client with the hooks that assent install wrote, in a home of its own: it starts
// without a word about its settings, asks assent, and takes the answer.

// installedAgent is a session whose hooks are those of assent install, with these flags.
func installedAgent(t *testing.T, client string, flags ...string) *agent {
	t.Helper()
	path := need(t, client)
	a := newAgent(t)
	a.config.Program, a.config.Own = path, true
	a.assent(append([]string{"install", "--yes"}, flags...)...)
	return a
}

// assent runs a command as the agent's user would, with this claude on PATH.
func (a *agent) assent(args ...string) string {
	a.t.Helper()
	bin := filepath.Join(a.config.Dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Symlink(a.config.Program, filepath.Join(bin, "claude")); err != nil && !os.IsExist(err) {
		a.t.Fatal(err)
	}
	for _, dir := range []string{a.config.Home(), a.config.Work()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			a.t.Fatal(err)
		}
	}
	cmd := exec.Command(program("assent"), append(args, "--state-dir", a.state)...)
	cmd.Dir = a.config.Work()
	cmd.Env = []string{"HOME=" + a.config.Home(), "PATH=" + bin + ":/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatalf("assent %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

func (a *agent) settingsPath() string {
	return filepath.Join(a.config.Home(), ".claude", "settings.json")
}

// settingsDialog is what the client says of settings that it does not like.
var settingsDialog = regexp.MustCompile(`Settings (Warning|Error)`)

// open opens the client in a terminal; it must have no complaint about its settings, and then
// show this.
func (a *agent) open(shows string) *claude.Terminal {
	a.t.Helper()
	need(a.t, "tmux")
	term, err := claude.Open(a.ctx, a.config)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if err := term.Close(); err != nil {
			a.t.Error(err)
		}
	})
	screen, err := term.Wait(a.ctx, regexp.MustCompile(settingsDialog.String()+"|"+shows))
	if err != nil || settingsDialog.MatchString(screen) {
		a.t.Fatalf("the client starts with: %v\n%s", err, screen)
	}
	return term
}

// modeOf is the mode that the agent was in when it asked.
func (a *agent) modeOf(r request) string {
	a.t.Helper()
	var doc struct {
		Mode string `json:"permissionMode"`
	}
	a.get("/v1/requests/"+r.ID, &doc)
	return doc.Mode
}

// uninstalled takes the hooks out again, of whatever the client has made of the file.
func (a *agent) uninstalled() {
	a.t.Helper()
	a.assent("uninstall", "--yes")
	b, err := os.ReadFile(a.settingsPath())
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	var rest map[string]json.RawMessage
	if len(b) > 0 && json.Unmarshal(b, &rest) != nil || rest["hooks"] != nil || rest["permissions"] != nil {
		a.t.Errorf("uninstall leaves:\n%s", b)
	}
}

func TestClaudeInstalledInAutoModeWithAskRules(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--ask")
	term := a.open("auto mode on")
	// In auto mode the one call runs without a question, the other comes here.
	a.prompt(term, []modelserver.Use{a.touch("out.txt")}, []modelserver.Use{run("rm " + a.path("out.txt"))})
	r := a.waitPending(1)[0]
	if !strings.Contains(string(r.ToolInput), "rm ") || a.modeOf(r) != "auto" || !a.exists("out.txt") {
		t.Errorf("request %s in mode %s", r.ToolInput, a.modeOf(r))
	}
	a.allow(r)
	a.modelDone()
	if a.exists("out.txt") {
		t.Error("what was allowed did not run")
	}
	if n := len(a.settled()); n != 1 {
		t.Errorf("%d requests, want the one for rm", n)
	}
	if out := a.assent("doctor"); !strings.Contains(out, "assent-hook runs for 30 events") || !strings.Contains(out, "15 permissions.ask rules") {
		t.Errorf("doctor says\n%s", out)
	}
	a.uninstalled()
}

func TestClaudeInstalledWithDefaultMode(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--default-mode", "default")
	// Once it offers to make auto mode the default; docs/hooks.md says so.
	offer := regexp.MustCompile("No, keep manual mode")
	term := a.open(offer.String())
	if _, err := term.Key(a.ctx, "Down"); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Wait(a.ctx, regexp.MustCompile("❯ No, keep manual mode")); err != nil {
		t.Fatal(err)
	}
	// For a moment after a dialog appears Enter is not taken.
	for gone := false; !gone; {
		if _, err := term.Key(a.ctx, "Enter"); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(a.ctx, 3*time.Second)
		_, err := term.WaitGone(short, offer)
		cancel()
		if gone = err == nil; !gone && a.ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	a.prompt(term, []modelserver.Use{a.touch("out.txt")}, []modelserver.Use{a.touch("no.txt")})
	r := a.waitPending(1)[0]
	if a.modeOf(r) != "default" {
		t.Errorf("mode %s", a.modeOf(r))
	}
	a.allow(r)
	a.deny(a.pendingAfter(r), "not that one")
	results := a.modelDone()
	if !a.exists("out.txt") || a.exists("no.txt") || !strings.Contains(results[len(results)-1].Content, "not that one") {
		t.Errorf("the model read %+v", results)
	}
	a.uninstalled()
}

// pendingAfter waits for a request after r.
func (a *agent) pendingAfter(r request) request {
	a.t.Helper()
	var next request
	eventually(a.t, 2*soon, "the next request", func() bool {
		for _, p := range a.pending() {
			if p.ID != r.ID {
				next = p
				return true
			}
		}
		return false
	})
	return next
}

// Without a choice install leaves auto mode alone, and says what it means.
func TestClaudeInstalledAndLeftInAutoMode(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude")
	term := a.open("auto mode on")
	a.prompt(term, []modelserver.Use{a.touch("out.txt")})
	a.modelDone()
	if !a.exists("out.txt") || len(a.settled()) > 0 {
		t.Errorf("%d requests", len(a.settled()))
	}
	if out := a.assent("install", "--yes"); !strings.Contains(out, "Nothing to do") || !strings.Contains(out, "auto mode") {
		t.Errorf("a second install says\n%s", out)
	}
	if out := a.assent("doctor"); !regexp.MustCompile(`warn +mode +auto`).MatchString(out) || !strings.Contains(out, "assent install --ask") {
		t.Errorf("doctor says\n%s", out)
	}
}

func TestClaudeInstalledHeadless(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--scope", "local")
	c := a.headless([]modelserver.Use{a.touch("out.txt")})
	a.allow(a.waitPending(1)[0])
	if res := a.result(c); res.IsError || !a.exists("out.txt") {
		t.Errorf("%+v", res)
	}
	a.assent("uninstall", "--yes", "--scope", "local")
}

// The oldest client that hooks are installed for.
func TestClaudeOldestInstalled(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude-oldest")
	term := a.open(`\? for shortcuts`)
	a.prompt(term, []modelserver.Use{a.touch("out.txt")}, []modelserver.Use{a.touch("no.txt")})
	r := a.waitPending(1)[0]
	a.allow(r)
	a.deny(a.pendingAfter(r), "not that one")
	results := a.modelDone()
	if !a.exists("out.txt") || a.exists("no.txt") || !strings.Contains(results[len(results)-1].Content, "not that one") {
		t.Errorf("the model read %+v", results)
	}
	if out := a.assent("doctor"); !strings.Contains(out, "assent-hook runs for 27 events\n") {
		t.Errorf("doctor says\n%s", out)
	}
	a.uninstalled()
}

// What docs/hooks.md says about the client and its settings files.
func TestClaudeReadsItsSettings(t *testing.T) {
	hook := `"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch", "args": ["TRACE"], "timeout": 10}]}]}`
	for name, c := range map[string]struct {
		client, text string
		complains    bool
		runs         bool
	}{
		"a comment":                    {"claude", "{\n// mine\n" + hook + "}", true, false},
		"a comment, oldest":            {"claude-oldest", "{\n// mine\n" + hook + "}", true, false},
		"a trailing comma":             {"claude", "{" + hook + ",}", true, false},
		"a trailing comma, oldest":     {"claude-oldest", "{" + hook + ",}", true, false},
		"a byte order mark":            {"claude", "\xef\xbb\xbf{" + hook + "}", false, true},
		"a byte order mark, oldest":    {"claude-oldest", "\xef\xbb\xbf{" + hook + "}", false, true},
		"hooks twice":                  {"claude", "{" + hook + `, "hooks": {}}`, false, false},
		"an unknown event":             {"claude", "{" + strings.TrimSuffix(hook, "}") + `, "NoSuchEvent": []}}`, true, false},
		"the mode called manual":       {"claude-oldest", "{" + hook + `, "permissions": {"defaultMode": "manual"}}`, true, false},
		"nothing at all":               {"claude", "", false, false},
		"a list of hooks":              {"claude", `{"hooks": []}`, false, false},
		"args without a shell, oldest": {"claude-oldest", "{" + hook + "}", false, true},
		"args without a shell":         {"claude", "{" + hook + "}", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := need(t, c.client)
			a := newAgent(t)
			a.config.Program, a.config.Own = path, true
			// A name that a shell would take apart.
			trace := filepath.Join(a.config.Dir, `a trace; $HOME "x"`)
			quoted, err := json.Marshal(trace)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(a.settingsPath()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(a.settingsPath(), []byte(strings.Replace(c.text, `"TRACE"`, string(quoted), 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			need(t, "tmux")
			term, err := claude.Open(a.ctx, a.config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = term.Close() }()
			screen, err := term.Wait(a.ctx, regexp.MustCompile(settingsDialog.String()+`|auto mode on|manual mode on|\? for shortcuts`))
			if err != nil || settingsDialog.MatchString(screen) != c.complains {
				t.Fatalf("%v, the client starts with\n%s", err, screen)
			}
			if c.complains {
				return
			}
			if c.runs {
				eventually(t, soon, "the hook ran", func() bool { _, err := os.Stat(trace); return err == nil })
			} else if _, err := os.Stat(trace); err == nil {
				t.Error("the hook ran")
			}
		})
	}
}
