package install

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
)

var command = []string{"/opt/it's here/assent-hook", "--socket", "/run/user/1000/assent/hook.sock"}

// files are hooks.json of all kinds: those that Claude Code's installer is tried with, which have the same
// shape, and some of Codex.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{
		"codex's own":  []byte("{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"notify-send done\",\"timeout\":5}]}]}}\n"),
		"async, tabs":  []byte("{\n\t\"hooks\": {\n\t\t\"PermissionRequest\": [\n\t\t\t{\"matcher\": \"^Bash$\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\", \"async\": true}]}\n\t\t]\n\t}\n}\n"),
		"empty object": []byte("{}"),
	}
	paths, err := filepath.Glob("../../claude/install/testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			b := f.Data
			if f.Name != "before" {
				continue
			}
			if bytes.Contains(a.Comment, []byte("crlf")) {
				b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
			}
			if bytes.Contains(a.Comment, []byte("chomp")) {
				b = bytes.TrimSuffix(b, []byte("\n"))
			}
			if bytes.Contains(a.Comment, []byte("bom")) {
				b = append([]byte("\xef\xbb\xbf"), b...)
			}
			all[filepath.Base(p)] = b
		}
	}
	delete(all, "odd_members.txtar") // which Codex could not read
	return all
}

func do(t *testing.T, plan install.Plan, err error) install.Plan {
	t.Helper()
	if err == nil {
		_, err = plan.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// An install adds a hook for each event and nothing else, a second one changes nothing, and an uninstall
// puts every byte back.
func TestInstall(t *testing.T) {
	tried := 0
	all := files(t)
	all["none"] = nil
	for name, before := range all {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), ".codex")
			path := filepath.Join(home, "hooks.json")
			if before != nil {
				if err := os.Mkdir(home, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := Options(home, t.TempDir(), command)
			plan, err := install.Install(o)
			if err != nil {
				t.Skip("not a file that is written to: ", err)
			}
			tried++
			do(t, plan, nil)
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			check(t, after)
			if again, err := install.Install(o); err != nil || again.Changed() {
				t.Errorf("a second install changes it: %v", err)
			}
			un, err := install.Uninstall(o)
			do(t, un, err)
			got, err := os.ReadFile(path)
			if before == nil {
				if !os.IsNotExist(err) {
					t.Errorf("the file is still there: %s", got)
				}
				if _, err := os.Stat(home); !os.IsNotExist(err) {
					t.Error("and the directory that install made")
				}
				return
			}
			if err != nil || !bytes.Equal(got, before) {
				t.Errorf("uninstall left\n%s\nwant\n%s", got, before)
			}
		})
	}
	if tried < 20 {
		t.Errorf("%d files were tried", tried)
	}
}

// check wants one hook of assent for each event, as Codex reads it.
func check(t *testing.T, text []byte) {
	t.Helper()
	var s struct {
		Hooks map[string][]struct {
			Matcher *string
			Hooks   []struct {
				Type          string
				Command       any
				StatusMessage string
				Timeout       any
			}
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &s); err != nil {
		t.Fatal(err)
	}
	for _, event := range codex.Events {
		n := 0
		for _, g := range s.Hooks[event] {
			for _, h := range g.Hooks {
				line, _ := h.Command.(string)
				if !strings.Contains(line, "--agent") {
					continue
				}
				n++
				wantTimeout := map[string]float64{"PermissionRequest": 86400, "Interrupt": 3, "SessionEnd": 3}[event]
				if wantTimeout == 0 {
					wantTimeout = 10
				}
				if g.Matcher != nil || h.Type != "command" || h.Timeout != wantTimeout || (h.StatusMessage != "") != (event == "PermissionRequest") {
					t.Errorf("%s: %+v", event, h)
				}
				out, err := exec.Command("/bin/sh", "-c", `printf '%s\n' `+line).Output()
				want := strings.Join(command, "\n") + "\n--agent\ncodex\n"
				if event == "PermissionRequest" {
					want += "--timeout\n86390s\n"
				}
				if err != nil || string(out) != want {
					t.Errorf("%s: the shell reads %q, %v", event, out, err)
				}
			}
		}
		if n != 1 {
			t.Errorf("%d hooks for %s", n, event)
		}
	}
}

// What somebody did to the file since stays, and only what is assent's goes.
func TestUninstallLater(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "hooks.json")
	o := Options(home, t.TempDir(), command)
	plan, err := install.Install(o)
	do(t, plan, err)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mine := bytes.Replace(b, []byte(`"Stop": [`), []byte(`"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}, `), 1)
	if err := os.WriteFile(path, mine, 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err = install.Uninstall(o)
	do(t, plan, err)
	got, err := os.ReadFile(path)
	if err != nil || bytes.Contains(got, []byte("assent")) || !bytes.Contains(got, []byte(`"command": "mine"`)) || !json.Valid(got) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestHome(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	if got, err := Home(env(map[string]string{"HOME": "/h"})); err != nil || got != "/h/.codex" {
		t.Error(got, err)
	}
	if got, err := Home(env(map[string]string{"HOME": "/h", "CODEX_HOME": "/c"})); err != nil || got != "/c" {
		t.Error(got, err)
	}
	for _, bad := range []map[string]string{{}, {"HOME": "/h", "CODEX_HOME": "c"}} {
		if got, err := Home(env(bad)); err == nil {
			t.Error(bad, got)
		}
	}
}
