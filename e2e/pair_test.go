package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"assent/internal/auth/authtest"
)

// started is what POST /v1/pair/start answers.
type started struct{ Code, Secret string }

// startsAs begins a pairing as a device of this name would.
func (d *daemon) startsAs(name string) started {
	d.t.Helper()
	status, body, err := d.as("", "POST", "/v1/pair/start", map[string]any{"publicKey": authtest.NewKey().JWK(), "name": name})
	if err != nil || status != http.StatusCreated {
		d.t.Fatalf("%d %s %v", status, body, err)
	}
	valid(d.t, "PairingStart", body)
	var s started
	if err := json.Unmarshal(body, &s); err != nil {
		d.t.Fatal(err)
	}
	return s
}

// polls returns the status of a poll.
func (d *daemon) polls(s started) int {
	d.t.Helper()
	status, body, err := d.as("", "POST", "/v1/pair/poll", map[string]string{"secret": s.Secret})
	if err != nil {
		d.t.Fatalf("%s %v", body, err)
	}
	return status
}

// refused runs an assent command that must end with this code, and returns what it said.
func (d *daemon) refused(code int, args ...string) string {
	d.t.Helper()
	cmd := exec.Command(program("assent"), append(args, "--state-dir", d.state)...)
	cmd.Env = d.env()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		d.t.Errorf("assent %s: %v, want code %d\n%s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

func TestPairAndRevokeFromTheTerminal(t *testing.T) {
	t.Parallel()
	d := serve(t)
	s := d.startsAs("Firefox on Linux")
	if got := d.polls(s); got != http.StatusAccepted {
		t.Errorf("before: %d", got)
	}
	if out := d.refused(4, "pair", "QQQQ-QQQQ"); !strings.Contains(out, "begin again at the device") {
		t.Errorf("a wrong code: %s", out)
	}
	d.refused(2, "pair", s.Code, "--role", "submit")
	d.refused(2, "pair", s.Code, "more")
	out := d.command("pair", strings.ToLower(s.Code), "--name", "desk")
	if !strings.Contains(out, "Paired desk, role approve") {
		t.Errorf("%s", out)
	}
	if got := d.polls(s); got != http.StatusOK {
		t.Errorf("after: %d", got)
	}
	d.refused(4, "pair", s.Code)

	second := d.startsAs("")
	doc := d.command("pair", second.Code, "--role", "view", "--json", "--name", "desk")
	valid(t, "Device", []byte(doc))
	var dev struct{ ID, Role, Name string }
	if err := json.Unmarshal([]byte(doc), &dev); err != nil || dev.Role != "view" || dev.Name != "desk 2" { // a name of its own
		t.Errorf("%v %s", err, doc)
	}
	list := d.command("device", "list")
	if strings.Count(list, "desk") != 2 || !strings.Contains(list, dev.ID) {
		t.Errorf("%s", list)
	}
	d.refused(2, "device", "revoke")
	d.refused(2, "device", "rewoke", "desk")
	d.refused(4, "device", "revoke", "nobody")
	if out := d.command("device", "revoke", dev.ID); !strings.Contains(out, "Revoked desk 2") {
		t.Errorf("%s", out)
	}
	if got := d.polls(second); got != http.StatusForbidden {
		t.Errorf("a poll of a revoked one: %d", got)
	}
	valid(t, "Device", []byte(d.command("device", "revoke", "desk", "--json")))
	if out := d.command("device", "list"); !strings.Contains(out, "assent pair") {
		t.Errorf("%s", out)
	}
	if out := d.command("device", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("%s", out)
	}

	// A link alone stands on standard output; a loopback one gets no QR code unless it must.
	if out := d.command("pair"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "/#pair=") {
		t.Errorf("%q", out)
	}
	if out := d.command("pair", "--qr"); strings.Count(out, "█") < 50 || strings.Contains(out, "\x1b") {
		t.Errorf("%s", out)
	}
	valid(t, "Pairing", []byte(d.command("pair", "--json")))
}

// At a terminal a person sees whom they let in, made safe to look at, and can say no.
func TestPairAsksAtATerminal(t *testing.T) {
	t.Parallel()
	tmux := need(t, "tmux")
	d := serve(t, "--public-url", "https://box.example")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-L", "pair"}, args...)...)
		cmd.Env = append(d.env(), "TMUX_TMPDIR="+d.dir, "LANG=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v %s", args[0], err, out)
		}
		return string(out)
	}
	profile := filepath.Join(d.dir, "profile")
	if err := os.WriteFile(profile, []byte("PS1='$ '\nPATH="+os.Getenv(binEnv)+":$PATH\nexport ASSENT_STATE_DIR="+d.state+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "60", "env ENV="+profile+" sh")
	t.Cleanup(func() {
		cmd := exec.Command(tmux, "-L", "pair", "kill-server")
		cmd.Env = []string{"TMUX_TMPDIR=" + d.dir}
		_ = cmd.Run() // it may have ended
	})
	screen := func(what string) string {
		t.Helper()
		var s string
		eventually(t, soon, "the terminal shows "+what, func() bool {
			s = run("capture-pane", "-p")
			return strings.Contains(s, what)
		})
		return s
	}
	typed := func(text string) { t.Helper(); run("send-keys", text, "Enter") }

	theirs := d.startsAs("Safari on iPhone")
	typed("assent pair " + theirs.Code)
	screen(`"Safari on iPhone" asks to be paired, from 127.0.0.1`)
	screen("Is it yours, and may it answer requests (role approve)? [y/N]")
	typed("")
	screen("refused; nothing was paired")
	if got := d.polls(theirs); got != http.StatusForbidden {
		t.Errorf("after a no: %d", got)
	}
	ours := d.startsAs("Firefox on Linux")
	typed("clear; assent pair " + ours.Code + " --role view")
	screen("may it see requests, not answer them (role view)?")
	typed("y")
	screen("Paired Firefox on Linux, role view")
	if got := d.polls(ours); got != http.StatusOK {
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
	d := serve(t)
	b := newBrowser(t)
	b.do(chromedp.Navigate(d.pairingURL()))
	b.see("main", "Nothing waits for you")
	const asks = ".card:not(.over)"
	verified := func(h *hookRun, id string) {
		t.Helper()
		h.wait()
		if out := d.command("trace", id); !strings.Contains(out, "signature verified") {
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
	h := d.hook(question)
	id := d.waitPending(1)[0].ID
	b.see(asks, "In my own words")
	b.do(chromedp.SendKeys(chromedp.CSS(asks+" input.other"), "gr\u00fcn & <i> \u00e9"))
	b.shot("question.png")
	b.tap(asks + " button.allow")
	verified(h, id)
	if rec := d.step(id, "decided"); !strings.Contains(string(rec.Decision.UpdatedInput), "gr\u00fcn") {
		t.Errorf("%s", rec.Decision.UpdatedInput)
	}

	// Words.
	h = d.hook(bash("s1", "echo one"))
	id = d.waitPending(1)[0].ID
	b.see(asks, "echo one")
	b.tap(asks + " button.third")
	b.do(chromedp.SendKeys(chromedp.CSS(asks+" textarea"), "n\u00f6t \"so\" <fast> & \\ \u4e2d"))
	b.tap(asks + " button.deny")
	verified(h, id)

	// A plan takes an empty object.
	plan, err := os.ReadFile(filepath.Join("..", "schemas", "testdata", "payloads", "PermissionRequest-ExitPlanMode.json"))
	if err != nil {
		t.Fatal(err)
	}
	h = d.hook(plan)
	id = d.waitPending(1)[0].ID
	b.tap(asks + " button.allow")
	verified(h, id)

	// The page's bearer in other hands decides nothing.
	h = d.hook(bash("s1", "echo two"))
	r := d.waitPending(1)[0]
	bearer := b.stolenBearer()
	status, body, err := d.as(bearer, "POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != http.StatusForbidden {
		t.Errorf("with a stolen bearer: %d %s %v", status, body, err)
	}
	if status, _, err := d.as(bearer, "GET", "/v1/requests", nil); err != nil || status != http.StatusOK {
		t.Errorf("the bearer itself is no good: %d %v", status, err)
	}
	b.see(asks, "echo two")
	b.tap(asks + " button.allow")
	verified(h, r.ID)
}

// stolenBearer is what a thief with a look at the page's traffic would have.
func (b *browser) stolenBearer() string {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const real = fetch; window.fetch = (u, o) => { window.stolen = o?.headers?.authorization ?? window.stolen; return real(u, o) } })()`))
	// The page asks for a ticket when it connects anew.
	b.do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("offline")); dispatchEvent(new Event("online")); dispatchEvent(new Event("focus")); document.dispatchEvent(new Event("visibilitychange"))`))
	var stolen string
	eventually(b.t, soon, "a bearer in the page's traffic", func() bool {
		stolen = value(b, chromedp.Evaluate[string](`window.stolen ?? ""`))
		return stolen != ""
	})
	return strings.TrimPrefix(stolen, "Bearer ")
}
