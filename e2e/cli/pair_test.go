package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

func TestPairAndRevokeFromTheTerminal(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	s := d.StartsAs("Firefox on Linux")
	if got := d.Polls(s); got != http.StatusAccepted {
		t.Errorf("before: %d", got)
	}
	if out := d.Refused(4, "pair", "QQQQ-QQQQ"); !strings.Contains(out, "begin again at the device") {
		t.Errorf("a wrong code: %s", out)
	}
	d.Refused(2, "pair", s.Code, "--role", "submit")
	d.Refused(2, "pair", s.Code, "more")
	out := d.Command("pair", strings.ToLower(s.Code), "--name", "desk")
	if !strings.Contains(out, "Paired desk, role approve") {
		t.Errorf("%s", out)
	}
	if got := d.Polls(s); got != http.StatusOK {
		t.Errorf("after: %d", got)
	}
	d.Refused(4, "pair", s.Code)

	second := d.StartsAs("")
	doc := d.Command("pair", second.Code, "--role", "view", "--json", "--name", "desk")
	rig.Valid(t, "Device", []byte(doc))
	var dev struct{ ID, Role, Name string }
	if err := json.Unmarshal([]byte(doc), &dev); err != nil || dev.Role != "view" || dev.Name != "desk 2" { // a name of its own
		t.Errorf("%v %s", err, doc)
	}
	list := d.Command("device", "list")
	if strings.Count(list, "desk") != 2 || !strings.Contains(list, dev.ID) {
		t.Errorf("%s", list)
	}
	d.Refused(2, "device", "revoke")
	d.Refused(2, "device", "rewoke", "desk")
	d.Refused(4, "device", "revoke", "nobody")
	if out := d.Command("device", "revoke", dev.ID); !strings.Contains(out, "Revoked desk 2") {
		t.Errorf("%s", out)
	}
	if got := d.Polls(second); got != http.StatusForbidden {
		t.Errorf("a poll of a revoked one: %d", got)
	}
	rig.Valid(t, "Device", []byte(d.Command("device", "revoke", "desk", "--json")))
	if out := d.Command("device", "list"); !strings.Contains(out, "assent pair") {
		t.Errorf("%s", out)
	}
	if out := d.Command("device", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("%s", out)
	}

	// A link alone stands on standard output; a loopback one gets no QR code unless it must.
	if out := d.Command("pair"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "/#pair=") {
		t.Errorf("%q", out)
	}
	if out := d.Command("pair", "--qr"); strings.Count(out, "█") < 50 || strings.Contains(out, "\x1b") {
		t.Errorf("%s", out)
	}
	rig.Valid(t, "Pairing", []byte(d.Command("pair", "--json")))
}

// At a terminal a person sees whom they let in, made safe to look at, and can say no.
func TestPairAsksAtATerminal(t *testing.T) {
	t.Parallel()
	tmux := rig.Need(t, "tmux")
	d := rig.Serve(t, "--public-url", "https://box.example")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-L", "pair"}, args...)...)
		cmd.Env = append(d.Env(), "TMUX_TMPDIR="+d.Dir, "LANG=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v %s", args[0], err, out)
		}
		return string(out)
	}
	profile := filepath.Join(d.Dir, "profile")
	if err := os.WriteFile(profile, []byte("PS1='$ '\nPATH="+os.Getenv(rig.BinEnv)+":$PATH\nexport ASSENT_STATE_DIR="+d.State+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "60", "env ENV="+profile+" sh")
	t.Cleanup(func() {
		cmd := exec.Command(tmux, "-L", "pair", "kill-server")
		cmd.Env = []string{"TMUX_TMPDIR=" + d.Dir}
		_ = cmd.Run() // it may have ended
	})
	screen := func(what string) string {
		t.Helper()
		var s string
		rig.Eventually(t, rig.Soon, "the terminal shows "+what, func() bool {
			s = run("capture-pane", "-p")
			return strings.Contains(s, what)
		})
		return s
	}
	typed := func(text string) { t.Helper(); run("send-keys", text, "Enter") }

	theirs := d.StartsAs("Safari on iPhone")
	typed("assent pair " + theirs.Code)
	screen(`"Safari on iPhone" asks to be paired, from 127.0.0.1`)
	screen("Is it yours, and may it answer requests (role approve)? [y/N]")
	typed("")
	screen("refused; nothing was paired")
	if got := d.Polls(theirs); got != http.StatusForbidden {
		t.Errorf("after a no: %d", got)
	}
	ours := d.StartsAs("Firefox on Linux")
	typed("clear; assent pair " + ours.Code + " --role view")
	screen("may it see requests, not answer them (role view)?")
	typed("y")
	screen("Paired Firefox on Linux, role view")
	if got := d.Polls(ours); got != http.StatusOK {
		t.Errorf("after a yes: %d", got)
	}
	typed("clear; assent pair")
	s := screen("it works once")
	if strings.Count(s, "█") < 50 || !strings.Contains(s, "https://box.example/#pair=") {
		t.Errorf("no QR code:\n%s", s)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' {
			t.Errorf("%U on the screen", r)
		}
	}
}

// What the page sends is what it signed, also where the content is odd, and the record shows it.
func TestPageSignaturesAreVerified(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Do(chromedp.Navigate(d.PairingURL()))
	b.See("main", rig.Word("empty.head"))
	const asks = "[data-ui=card]:not([data-state=over])"
	verified := func(h *rig.HookRun, id string) {
		t.Helper()
		h.Wait()
		if out := d.Command("trace", id); !strings.Contains(out, "signature verified") {
			t.Errorf("%s", out)
		}
	}

	// A question with text that JSON may spell in several ways, and an answer of one's own.
	odd := "Wh\u00efch <b> & \u2028 \U0001f600 \"colour\" \\ 1e2?"
	question, err := json.Marshal(map[string]any{
		"session_id": "s1", "cwd": "/tmp", "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion",
		"tool_input": map[string]any{"questions": []map[string]any{
			{"question": odd, "header": "H", "multiSelect": false, "options": []map[string]string{{"label": "<A & B>", "description": "d"}, {"label": "C", "description": "d"}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	question = bytes.Replace(question, []byte(`"header"`), []byte(`"weight": 1.5, "10": 1, "9": 2, "header"`), 1) // members that JavaScript puts into another order
	h := d.Hook(question)
	id := d.WaitPending(1)[0].ID
	b.See(asks, rig.Word("question.own"))
	b.Do(chromedp.SendKeys(chromedp.CSS(asks+" [data-ui=other]"), "gr\u00fcn & <i> \u00e9"))
	b.Shot("question.png")
	b.Tap(asks + " [data-action=allow]")
	verified(h, id)
	if rec := d.Step(id, "decided"); !strings.Contains(string(rec.Decision.UpdatedInput), "gr\u00fcn") {
		t.Errorf("%s", rec.Decision.UpdatedInput)
	}

	// Words.
	h = d.Hook(rig.Bash("s1", "echo one"))
	id = d.WaitPending(1)[0].ID
	b.See(asks, "echo one")
	b.Do(chromedp.SendKeys(chromedp.CSS(asks+" [data-ui=note]"), "n\u00f6t \"so\" <fast> & \\ \u4e2d"))
	b.Tap(asks + " [data-action=deny]")
	verified(h, id)

	// A plan takes an empty object.
	plan, err := os.ReadFile(filepath.Join("..", "..", "schemas", "testdata", "payloads", "PermissionRequest-ExitPlanMode.json"))
	if err != nil {
		t.Fatal(err)
	}
	h = d.Hook(plan)
	id = d.WaitPending(1)[0].ID
	b.Tap(asks + " [data-action=allow]")
	verified(h, id)

	// The page's bearer in other hands decides nothing.
	h = d.Hook(rig.Bash("s1", "echo two"))
	r := d.WaitPending(1)[0]
	bearer := b.StolenBearer()
	status, body, err := d.As(bearer, "POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != http.StatusForbidden {
		t.Errorf("with a stolen bearer: %d %s %v", status, body, err)
	}
	if status, _, err := d.As(bearer, "GET", "/v1/requests", nil); err != nil || status != http.StatusOK {
		t.Errorf("the bearer itself is no good: %d %v", status, err)
	}
	b.See(asks, "echo two")
	b.Tap(asks + " [data-action=allow]")
	verified(h, r.ID)
}
