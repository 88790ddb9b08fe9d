package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
)

// dialogue is a command in a terminal of its own, with a person who types.
type dialogue struct {
	t    *testing.T
	dir  string
	tmux string
}

// converse starts assent in a terminal, with a home in dir.
func converse(t *testing.T, dir string, args ...string) *dialogue {
	t.Helper()
	d := &dialogue{t: t, dir: dir, tmux: rig.Need(t, "tmux")}
	line := "env -i HOME=" + dir + "/home PATH=/usr/bin:/bin TERM=screen " + rig.Program("assent")
	for _, a := range args {
		line += " '" + a + "'"
	}
	d.run("-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "120", line+"; echo \"exit $?\"; cat")
	t.Cleanup(func() { d.run("kill-server") })
	return d
}

func (d *dialogue) run(args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.tmux, append([]string{"-L", "e2e"}, args...)...)
	cmd.Env = []string{"HOME=" + d.dir, "PATH=" + os.Getenv("PATH"), "TMUX_TMPDIR=" + d.dir, "LANG=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("tmux %s: %v", args[0], err)
	}
	return string(out)
}

// answer waits for a question and types a line.
func (d *dialogue) answer(question, line string) {
	d.t.Helper()
	d.sees(question)
	d.run("send-keys", "-l", "--", line)
	d.run("send-keys", "Enter")
}

func (d *dialogue) sees(text string) string {
	d.t.Helper()
	var screen string
	end := time.After(rig.Soon)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		screen = d.run("capture-pane", "-p", "-J")
		if strings.Contains(screen, text) {
			return screen
		}
		select {
		case <-tick.C:
		case <-end:
			d.t.Fatalf("no %q on the screen:\n%s", text, screen)
		}
	}
}

// At a terminal install asks what should reach assent, and whether to write.
func TestInstallAsksAtATerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string // to: what should reach assent, write this
		mode    string
		rules   bool
		written bool
	}{
		"leave it":  {[]string{"1", ""}, "", false, true},
		"ask rules": {[]string{"2", "y"}, "", true, true},
		"the mode":  {[]string{"3", "yes"}, "default", false, true},
		"Enter":     {[]string{"", ""}, "default", false, true},
		"no":        {[]string{"1", "n"}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := rig.TempDir(t)
			if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
				t.Fatal(err)
			}
			d := converse(t, dir, "install", "--claude-version", "2.1.329")
			d.answer("1, 2 or 3 [3]:", c.answers[0])
			d.answer("Write this to "+dir+"/home/.claude/settings.json? (d shows each line) [Y/n/d]", c.answers[1])
			path := filepath.Join(dir, "home", ".claude", "settings.json")
			if !c.written {
				d.sees("assent: nothing was changed")
				d.sees("exit 1")
				if _, err := os.Stat(path); err == nil {
					t.Error("it was written")
				}
				return
			}
			screen := d.sees("exit 0")
			if !strings.Contains(screen, "Wrote "+path) || !strings.Contains(screen, "Next: start the broker") {
				t.Errorf("the screen:\n%s", screen)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var s struct {
				Permissions struct {
					DefaultMode string   `json:"defaultMode"`
					Ask         []string `json:"ask"`
				} `json:"permissions"`
			}
			if err := json.Unmarshal(b, &s); err != nil {
				t.Fatal(err)
			}
			if s.Permissions.DefaultMode != c.mode || slices.Contains(s.Permissions.Ask, "Bash(git push:*)") != c.rules {
				t.Errorf("permissions %+v", s.Permissions)
			}
			if c.mode != "" && !strings.Contains(fmt.Sprint(screen), "No, keep manual mode") {
				t.Errorf("the screen does not warn of the client's offer:\n%s", screen)
			}
		})
	}
}
