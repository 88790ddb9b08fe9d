package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
)

// The real client with the hooks that assent install wrote, in a home of its own: it starts
// without a word about its settings, asks assent, and takes the answer.

// installedAgent is a session whose hooks are those of assent install, with these flags.
func installedAgent(t *testing.T, client string, flags ...string) *rig.Agent {
	t.Helper()
	path := rig.Need(t, client)
	a := rig.NewAgent(t)
	a.Config.Program, a.Config.Own = path, true
	a.Assent(append([]string{"install", "--yes"}, flags...)...)
	return a
}

func TestClaudeInstalledInAutoModeWithAskRules(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--ask")
	term := a.Open("auto mode on")
	// In auto mode the one call runs without a question, the other comes here.
	a.Prompt(term, []modelserver.Use{a.Touch("out.txt")}, []modelserver.Use{rig.Run("rm " + a.Path("out.txt"))})
	r := a.WaitPending(1)[0]
	if !strings.Contains(string(r.ToolInput), "rm ") || a.ModeOf(r) != "auto" || !a.Exists("out.txt") {
		t.Errorf("request %s in mode %s", r.ToolInput, a.ModeOf(r))
	}
	a.Allow(r)
	a.ModelDone()
	if a.Exists("out.txt") {
		t.Error("what was allowed did not run")
	}
	if n := len(a.Settled()); n != 1 {
		t.Errorf("%d requests, want the one for rm", n)
	}
	if out := a.Assent("doctor"); !strings.Contains(out, "assent-hook runs for 30 events") || !strings.Contains(out, "15 permissions.ask rules") {
		t.Errorf("doctor says\n%s", out)
	}
	a.Uninstalled()
}

func TestClaudeInstalledWithDefaultMode(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--default-mode", "default")
	// Once it offers to make auto mode the default; docs/hooks.md says so.
	offer := regexp.MustCompile("No, keep manual mode")
	term := a.Open(offer.String())
	if _, err := term.Key(a.Ctx, "Down"); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Wait(a.Ctx, regexp.MustCompile("❯ No, keep manual mode")); err != nil {
		t.Fatal(err)
	}
	// For a moment after a dialog appears Enter is not taken.
	for gone := false; !gone; {
		if _, err := term.Key(a.Ctx, "Enter"); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(a.Ctx, 3*time.Second)
		_, err := term.WaitGone(short, offer)
		cancel()
		if gone = err == nil; !gone && a.Ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	a.Prompt(term, []modelserver.Use{a.Touch("out.txt")}, []modelserver.Use{a.Touch("no.txt")})
	r := a.WaitPending(1)[0]
	if a.ModeOf(r) != "default" {
		t.Errorf("mode %s", a.ModeOf(r))
	}
	a.Allow(r)
	a.Deny(a.PendingAfter(r), "not that one")
	results := a.ModelDone()
	if !a.Exists("out.txt") || a.Exists("no.txt") || !strings.Contains(results[len(results)-1].Content, "not that one") {
		t.Errorf("the model read %+v", results)
	}
	a.Uninstalled()
}

// Without a choice install leaves auto mode alone, and says what it means.
func TestClaudeInstalledAndLeftInAutoMode(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude")
	term := a.Open("auto mode on")
	a.Prompt(term, []modelserver.Use{a.Touch("out.txt")})
	a.ModelDone()
	if !a.Exists("out.txt") || len(a.Settled()) > 0 {
		t.Errorf("%d requests", len(a.Settled()))
	}
	if out := a.Assent("install", "--yes"); !strings.Contains(out, "Nothing to do") || !strings.Contains(out, "auto mode") {
		t.Errorf("a second install says\n%s", out)
	}
	if out := a.Assent("doctor"); !regexp.MustCompile(`warn +mode +auto`).MatchString(out) || !strings.Contains(out, "assent install --ask") {
		t.Errorf("doctor says\n%s", out)
	}
}

func TestClaudeInstalledHeadless(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude", "--scope", "local")
	c := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	a.Allow(a.WaitPending(1)[0])
	if res := a.Result(c); res.IsError || !a.Exists("out.txt") {
		t.Errorf("%+v", res)
	}
	a.Assent("uninstall", "--yes", "--scope", "local")
}

// The oldest client that hooks are installed for.
func TestClaudeOldestInstalled(t *testing.T) {
	t.Parallel()
	a := installedAgent(t, "claude-oldest")
	term := a.Open(`\? for shortcuts`)
	a.Prompt(term, []modelserver.Use{a.Touch("out.txt")}, []modelserver.Use{a.Touch("no.txt")})
	r := a.WaitPending(1)[0]
	a.Allow(r)
	a.Deny(a.PendingAfter(r), "not that one")
	results := a.ModelDone()
	if !a.Exists("out.txt") || a.Exists("no.txt") || !strings.Contains(results[len(results)-1].Content, "not that one") {
		t.Errorf("the model read %+v", results)
	}
	if out := a.Assent("doctor"); !strings.Contains(out, "assent-hook runs for 27 events\n") {
		t.Errorf("doctor says\n%s", out)
	}
	a.Uninstalled()
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
			path := rig.Need(t, c.client)
			a := rig.NewAgent(t)
			a.Config.Program, a.Config.Own = path, true
			// A name that a shell would take apart.
			trace := filepath.Join(a.Config.Dir, `a trace; $HOME "x"`)
			quoted, err := json.Marshal(trace)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(a.SettingsPath()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(a.SettingsPath(), []byte(strings.Replace(c.text, `"TRACE"`, string(quoted), 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			rig.Need(t, "tmux")
			term, err := claude.Open(a.Ctx, a.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = term.Close() }()
			screen, err := term.Wait(a.Ctx, regexp.MustCompile(rig.SettingsDialog.String()+`|auto mode on|manual mode on|\? for shortcuts`))
			if err != nil || rig.SettingsDialog.MatchString(screen) != c.complains {
				t.Fatalf("%v, the client starts with\n%s", err, screen)
			}
			if c.complains {
				return
			}
			if c.runs {
				rig.Eventually(t, rig.Soon, "the hook ran", func() bool { _, err := os.Stat(trace); return err == nil })
			} else if _, err := os.Stat(trace); err == nil {
				t.Error("the hook ran")
			}
		})
	}
}
