package claude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// pluginAgent is an agent with the plugin, and assent-hook where the plugin looks for it.
func pluginAgent(t *testing.T, client string) *rig.Agent {
	t.Helper()
	path := rig.Need(t, client)
	a := rig.NewAgent(t)
	a.Config.Program, a.Config.Own = path, true
	home := a.Config.Home()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a.Config.Work(), filepath.Join(home, ".config", "assent")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".config", "assent", "hook.conf"), []byte("socket = "+a.Socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Plugin("marketplace", "add", repository)
	a.Plugin("install", "assent@assent")
	return a
}

func TestClaudePluginBringsTheHooks(t *testing.T) {
	t.Parallel()
	a := pluginAgent(t, "claude")
	a.WithProgram()
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Allow(r)
	a.Result(run)
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	// PostToolUse runs assent-hook too.
	a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	if out := a.Assent("doctor", "--json"); !strings.Contains(out, "the plugin assent@assent is switched on") {
		t.Errorf("doctor says %s", out)
	}
	a.Plugin("uninstall", "assent@assent")
	run = a.Headless([]modelserver.Use{a.Touch("two.txt")})
	if res := a.Result(run); len(res.Denials) != 1 || a.Exists("two.txt") || len(a.Settled()) != 1 {
		t.Errorf("without the plugin: %+v, %d requests", res, len(a.Settled()))
	}
}

// A client that does not know today's events starts without a word about the plugin's.
func TestClaudePluginInTerminals(t *testing.T) {
	for _, client := range []string{"claude", "claude-oldest"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			a := pluginAgent(t, client)
			a.WithProgram()
			a.Config.Args = append(a.Config.Args, "--permission-mode", "default")
			term := a.Open(`\? for shortcuts|(?m)^ *❯`)
			a.Prompt(term, []modelserver.Use{a.Touch("out.txt")})
			a.Allow(a.WaitPending(1)[0])
			a.ModelDone()
			if !a.Exists("out.txt") {
				t.Error("the allowed command did not run")
			}
		})
	}
}

// Without assent-hook on the machine the client's own prompt decides.
func TestClaudePluginWithoutAssent(t *testing.T) {
	t.Parallel()
	a := pluginAgent(t, "claude")
	a.Config.Args = append(a.Config.Args, "--permission-mode", "default")
	term := a.Open(`\? for shortcuts|(?m)^ *❯`)
	a.Prompt(term, []modelserver.Use{a.Touch("out.txt")})
	a.Dialog(term)
	a.Answer(term, "Yes")
	a.ModelDone()
	if !a.Exists("out.txt") {
		t.Error("the command did not run after a yes in the terminal")
	}
}

// The plugin's script does not let an environment send requests elsewhere, nor run a program from
// the working directory.
func TestPluginScript(t *testing.T) {
	for _, path := range []string{"/usr/local/bin/assent-hook", "/usr/bin/assent-hook", "/opt/homebrew/bin/assent-hook"} {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("%s is there, and the script would run it", path)
		}
	}
	dir := t.TempDir()
	script, err := filepath.Abs("../../plugin/hooks/assent-hook")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	spy := []byte("#!/bin/sh\necho \"$0 $* [$ASSENT_SOCKET$ASSENT_URL$ASSENT_TOKEN]\"\n")
	for _, path := range []string{filepath.Join(bin, "assent-hook"), filepath.Join(dir, "assent-hook")} {
		if err := os.WriteFile(path, spy, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(path string) string {
		cmd := exec.Command(script, "--timeout", "5s")
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + path, "ASSENT_SOCKET=/evil", "ASSENT_URL=http://evil", "ASSENT_TOKEN=t"}
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("PATH=%s: %v", path, err)
		}
		return string(out)
	}
	if got, want := run(".::"+bin), filepath.Join(bin, "assent-hook")+" --timeout 5s []\n"; got != want {
		t.Errorf("it ran %q, want %q", got, want)
	}
	if got := run("."); got != "" {
		t.Errorf("without a program it said %q", got)
	}
}

// Nor does it let the variables decide by which a program finds its files: a repository could name a
// place with a hook.conf or a socket of its own.
func TestPluginScriptKnowsWhereToLook(t *testing.T) {
	dir := t.TempDir()
	script, err := filepath.Abs("../../plugin/hooks/assent-hook")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, ".local", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	spy := []byte("#!/bin/sh\necho \"${XDG_CONFIG_HOME-} ${XDG_STATE_HOME-} ${XDG_RUNTIME_DIR-}\"\n")
	if err := os.WriteFile(filepath.Join(bin, "assent-hook"), spy, 0o700); err != nil {
		t.Fatal(err)
	}
	for runtime, want := range map[string]string{
		"/run/user/1000": "/run/user/1000", "/repo/run": "", "/run/user/1000/../../../repo": "", "/run/user/": "", "run": "", "": "",
	} {
		cmd := exec.Command(script)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "XDG_CONFIG_HOME=/repo/config", "XDG_STATE_HOME=/repo/state", "XDG_RUNTIME_DIR=" + runtime}
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("XDG_RUNTIME_DIR=%s: %v, it ran with %q, want %q", runtime, err, out, want)
		}
	}
}

// Only what PATH names is run: no pattern, and nothing below the working directory by way of HOME.
func TestPluginScriptRunsNothingElse(t *testing.T) {
	for _, path := range []string{"/usr/local/bin/assent-hook", "/usr/bin/assent-hook", "/opt/homebrew/bin/assent-hook"} {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("%s is there, and the script would run it", path)
		}
	}
	dir := t.TempDir()
	script, err := filepath.Abs("../../plugin/hooks/assent-hook")
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"bin", filepath.Join(".local", "bin")} {
		bin := filepath.Join(dir, sub)
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "assent-hook"), []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, env := range [][]string{{"HOME=.", "PATH=/none"}, {"HOME=/none", "PATH=" + dir + "/b*"}, {"PATH=/none"}} {
		cmd := exec.Command(script)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.Output(); err != nil || len(out) > 0 {
			t.Errorf("%v: %q %v", env, out, err)
		}
	}
}
