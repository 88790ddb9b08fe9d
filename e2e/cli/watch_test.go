package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// watching is a terminal with a shell, and a broker for it.
type watching struct {
	*screen
	d *rig.Daemon
}

func newWatching(t *testing.T, columns, rows int) *watching {
	t.Helper()
	d := rig.Serve(t)
	s := newScreen(t, os.Getenv(rig.BinEnv)+":/usr/bin:/bin")
	w := &watching{s, d}
	w.size(columns, rows)
	s.line("export ASSENT_STATE_DIR=" + d.State)
	return w
}

func (w *watching) size(columns, rows int) {
	w.t.Helper()
	w.do("resize-window", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows))
}

// asks raises a request and waits until it is seen.
func (w *watching) asks(payload []byte, seen string) *rig.HookRun {
	w.t.Helper()
	h := w.d.Hook(payload)
	w.see(seen)
	return h
}

// styled is the screen with what it is styled by.
func (w *watching) styled() string {
	out, _ := w.try("capture-pane", "-p", "-e")
	return out
}

// armed waits until the keys count: they are faint before.
func (w *watching) armed() {
	w.t.Helper()
	bold := regexp.MustCompile(`\x1b\[[0-9;]*1(?:;[0-9;]*)?m(?:\x1b\[[0-9;]*m)*a(?:\x1b\[[0-9;]*m)+ [a-z :]*allow`)
	rig.Eventually(w.t, rig.Soon, "the keys are armed", func() bool { return bold.MatchString(w.styled()) })
}

func (w *watching) press(key string) {
	w.t.Helper()
	w.armed()
	w.do("send-keys", key)
}

// call is the payload of a PermissionRequest for a tool.
func call(t *testing.T, session, tool string, input map[string]string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"session_id": session, "cwd": "/home/dev/shop", "hook_event_name": "PermissionRequest", "permission_mode": "default",
		"tool_name": tool, "tool_input": input,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readCall(t *testing.T) []byte {
	t.Helper()
	return call(t, "one", "Read", map[string]string{"file_path": "/home/dev/shop/a.txt"})
}

// TestWatchFillsTheScreen answers requests on the screen of assent watch, in a real terminal.
func TestWatchFillsTheScreen(t *testing.T) {
	t.Parallel()
	w := newWatching(t, 80, 24)
	w.afresh("assent watch; echo code $?")
	w.see(`Nothing waits\. Requests appear here`)
	read := w.asks(readCall(t), `1 waits · 1 session(.|\n)*file_path: /home/dev/shop/a\.txt`)
	edit := w.asks(call(t, "two", "Edit", map[string]string{
		"file_path": "/home/dev/shop/a.js", "old_string": "a\nb", "new_string": "a\nc\u202e\x1b[31m"}), `2 wait · 2 sessions`)
	w.press("a")
	if out := read.Wait(); !strings.Contains(out, `"behavior":"allow"`) {
		t.Errorf("the first request was answered %s", out)
	}
	w.see(`1 waits(.|\n)*− b\n(.|\n)*\+ c⟦U\+202E⟧⟦U\+001B⟧\[31m(.|\n)*#\d+ allowed, delivered`)

	// In 40 columns, too; and words with a denial.
	w.size(40, 12)
	w.see(`(?m)^─{40}$`)
	w.press("m")
	w.see(`(?m)^> `)
	w.line("use pnpm, not npm")
	if out := edit.Wait(); !strings.Contains(out, `"message":"use pnpm, not npm"`) {
		t.Errorf("the second request was answered %s", out)
	}
	w.see(`nothing waits(.|\n)*Nothing waits\.`)

	w.size(80, 24)
	// What is dangerous wants the key twice, and is told in assent's words.
	bad := w.asks(call(t, "one", "Bash", map[string]string{"command": "rm -rf ~/ --no-preserve-root"}), `!! Danger: (.|\n)*rm -rf ~/`)
	w.press("a")
	w.see(`Press a again to allow(.|\n)*a again: allow`)
	if rs := w.d.Pending(); len(rs) != 1 {
		t.Fatalf("%d requests wait after one press", len(rs))
	} else {
		rig.Eventually(t, rig.Soon, "the record has that it was on this screen", func() bool {
			on := w.d.Screens(rs[0].ID)
			return len(on) == 1 && on[0].By.Kind == "owner-cli"
		})
	}
	w.press("a")
	if out := bad.Wait(); !strings.Contains(out, `"behavior":"allow"`) {
		t.Errorf("the dangerous request was answered %s", out)
	}
	w.see(`nothing waits`)
	w.do("send-keys", "q")
	w.see(`code 0`)
}

// TestWatchRestoresTheTerminal: whatever ends it, the terminal is as it was before.
func TestWatchRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWatching(t, 80, 24)
	w.line("export NO_COLOR=1")
	w.afresh("stty -g > before; echo kept")
	w.see(`kept`)
	hook := w.asks(readCall(t), `[$#]`)
	_ = hook
	pid := filepath.Join(w.home(), "project", "pid")
	for name, sig := range map[string]syscall.Signal{"terminated": syscall.SIGTERM, "interrupted": syscall.SIGINT} {
		w.afresh("sh -c 'echo $$ > pid; exec assent watch'; echo code $?; stty -g | cmp - before && echo same " + name)
		w.see(`1 waits`)
		w.armed()
		if c := regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3|4|9|10)[0-8]m`).FindString(w.styled()); c != "" {
			t.Errorf("a colour in spite of NO_COLOR: %q in\n%s", c, w.styled())
		}
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, sig); err != nil {
			t.Fatal(err)
		}
		w.see(`code 0\s+same ` + name)
		out, err := w.try("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}")
		if err != nil || strings.TrimSpace(out) != "0 1 0 0" {
			t.Errorf("%s: alternate screen, cursor, mouse, keypad: %q, %v", name, out, err)
		}
	}
	w.d.Deny(w.d.WaitPending(1)[0], "")
	hook.Wait()
}

// TestWatchPrintsLines: what reads it is no person, and gets lines; so does one who wants them.
func TestWatchPrintsLines(t *testing.T) {
	t.Parallel()
	w := newWatching(t, 80, 24)
	w.afresh("assent watch --lines")
	w.see(`Nothing waits\.`)
	read := w.asks(readCall(t), `(?m)^\[\d+\] .* Read a\.txt  until \d`)
	n := w.see(`(?m)^\[(\d+)\] `)
	w.line("a " + n)
	if out := read.Wait(); !strings.Contains(out, `"behavior":"allow"`) {
		t.Errorf("it was answered %s", out)
	}
	w.line("q")
	w.see(`(?m)^[$#] *$`)
}

// TestAllowByNumberAsks: at a terminal a number that was never shown is shown, and asked about. What a
// command wrote into a pipe was not shown.
func TestAllowByNumberAsks(t *testing.T) {
	t.Parallel()
	w := newWatching(t, 80, 24)
	hook := w.d.Hook(readCall(t))
	w.d.WaitPending(1)
	w.afresh("assent pending | wc -l; assent trace 1 > trace.txt; assent allow 1; echo code $?")
	w.see(`file_path: /home/dev/shop/a\.txt(.|\n)*Allow this\? \[y/N\]`)
	w.line("")
	w.see(`nothing was allowed\s+code 4`)
	w.afresh("assent; echo code $?")
	w.see(`1 waits · 1 session(.|\n)* 1 (.|\n)*Read: /home/dev/shop/a\.txt(.|\n)*assent allow 1(.|\n)*code 0`)
	w.afresh("assent allow 1; echo code $?")
	w.see(`Allowed Read(.|\n)*code 0`)
	hook.Wait()
}
