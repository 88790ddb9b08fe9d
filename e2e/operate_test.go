package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestStopLeavesHooksAnAnswerOrAWayBack stops a broker politely while hooks of all kinds wait,
// while people decide and while events come in, and starts it again: every hook prints what the
// record says, whoever was told that a decision counts was told the truth, and no event is lost.
func TestStopLeavesHooksAnAnswerOrAWayBack(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.args = []string{"--listen", freePort(t)} // remote hooks come back to the same address
	d.start()
	submit := d.createToken("submit", "elsewhere")

	const local, remote = 12, 6
	hooks := map[string]*hookRun{} // by command
	for i := range local {
		command := fmt.Sprintf("echo local-%d", i)
		hooks[command] = d.hook(bash("local", command))
	}
	for i := range remote {
		command := fmt.Sprintf("echo remote-%d", i)
		hooks[command] = d.remoteHook(submit, bash("remote", command))
	}
	rs := d.waitPending(local + remote)

	// The agent's own HTTP hook has no way back. It must hear of the end, at least.
	plain := make(chan error, 1)
	go func() {
		status, body, err := d.as(submit, "POST", "/v1/hooks", json.RawMessage(bash("plain", "echo plain")))
		if err == nil {
			err = fmt.Errorf("answered %d %s", status, body)
			plain <- err
			return
		}
		plain <- nil
	}()
	d.waitPending(local + remote + 1)
	// One whose time runs out while there is no broker has an end of its own.
	impatient := d.hook(bash("impatient", "echo impatient"), "--timeout", "20s", "--on-timeout", "deny", "--on-failure", "deny")
	d.waitPending(local + remote + 2)

	// A third of them are decided before, a third while the broker stops, and events come in.
	var crowd sync.WaitGroup
	var mu sync.Mutex
	told := map[string]bool{} // requests whose approver was told that the decision counts
	decide := func(r request) {
		status, _, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: "no: " + r.ID})
		if err == nil && status == http.StatusOK {
			mu.Lock()
			told[r.ID] = true
			mu.Unlock()
		}
	}
	for i, r := range rs {
		if i%3 == 0 {
			decide(r)
		}
	}
	if len(told) != len(rs)/3 {
		t.Fatalf("only %d decisions of %d were recorded", len(told), len(rs)/3)
	}
	for i, r := range rs {
		if i%3 == 1 {
			crowd.Go(func() { decide(r) })
		}
	}
	const events = 20
	for i := range events {
		crowd.Go(func() {
			if out, err := d.hookCommand(payload("Stop", fmt.Sprintf("event-%d", i), nil)).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("event %d: %v %s", i, err, out)
			}
		})
	}
	if code := d.stop(); code != 0 {
		t.Errorf("the broker stopped with code %d", code)
	}
	crowd.Wait()
	if err := <-plain; err != nil {
		t.Errorf("the agent's own HTTP hook: %v", err)
	}
	if out := impatient.wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("a hook that was told to deny in time printed %q", out)
	}
	t.Logf("%d of %d decisions were recorded before the stop", len(told), 2*len(rs)/3)

	d.start()
	for _, r := range rs {
		r = d.until(r.ID, "settled, or its hook is back", func(r request) bool { return r.State == "ended" || !r.Detached })
		if r.State == "pending" {
			if told[r.ID] {
				t.Errorf("%s: its approver was told that it was decided", r.ID)
			}
			d.allow(r)
		}
	}
	for _, r := range rs {
		var input struct{ Command string }
		must(t, json.Unmarshal(r.ToolInput, &input))
		out := hooks[input.Command].wait()
		want := allowed
		if rec := d.step(r.ID, "decided"); rec.Decision.Behavior == "deny" {
			want = denied("no: " + r.ID)
		} else if told[r.ID] {
			t.Errorf("%s: the approver was told that a denial counts, the record says %+v", r.ID, rec.Decision)
		}
		if out != want {
			t.Errorf("%s printed %q, the record says %q", input.Command, out, want)
		}
	}
	seen := map[string]string{}
	c := consume(t, d)
	eventually(t, soon, "all events are in the stream", func() bool {
		for _, m := range c.take() {
			if id, ok := seen[m.data]; ok && id != m.id {
				t.Errorf("%s came under two ids", m.data)
			}
			if m.subject == "hooks.Stop" {
				seen[m.data] = m.id
			}
		}
		return len(seen) == events
	})
}

// remoteHook starts assent hook, which comes by HTTP.
func (d *daemon) remoteHook(token string, payload []byte) *hookRun {
	d.t.Helper()
	url, _ := d.owner()
	h := &hookRun{t: d.t, cmd: exec.Command(program("assent"), "hook", "--url", url, "--timeout", "120s")}
	h.cmd.Env = append(d.env(), "ASSENT_TOKEN="+token)
	h.cmd.Dir = d.dir
	h.cmd.Stdin = bytes.NewReader(payload)
	h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
	if err := h.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

// TestBackupIsRestored runs the commands of docs/operations.md: what was there at the time of the
// backup is there again, what came later is not, and what the page warns of is true.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.state = filepath.Join(d.dir, "xdg", "assent") // where the page says it is
	config := filepath.Join(d.dir, ".config", "assent")
	must(t, os.MkdirAll(config, 0o700))
	rules := filepath.Join(config, "rules.yaml")
	must(t, os.WriteFile(rules, []byte("version: 1\ndeny:\n  - Bash(rm *)\n"), 0o600))
	d.start()
	token := d.createToken("view", "board")
	h := d.hook(bash("before", "mytool x"))
	before := d.waitPending(1)[0]
	grant := d.grant(before, map[string]any{"count": 5})
	h.wait()
	waits := d.hook(bash("before", "echo waits"))
	open := d.waitPending(1)[0]

	if code := d.stop(); code != 0 {
		t.Fatalf("the broker stopped with code %d", code)
	}
	run := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-e", "-c", script)
		cmd.Env, cmd.Dir = d.env(), d.dir
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v %s", script, err, out)
		}
	}
	run(docsBlock(t, "operations.md", "Backup", "sh"))
	for _, name := range []string{"assent-state.tar.gz", "assent-config.tar.gz"} {
		if fi, err := os.Stat(filepath.Join(d.dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, mode %v; others must not read it", name, err, fi.Mode())
		}
	}

	// Life goes on, and the hook that waited has its answer.
	d.start()
	d.until(open.ID, "back", func(r request) bool { return !r.Detached })
	d.allow(open)
	if out := waits.wait(); out != allowed {
		t.Errorf("over the backup the hook got %q", out)
	}
	var tokens []struct{ ID, Name string }
	d.get("/v1/tokens", &tokens)
	for _, x := range tokens {
		d.command("token", "revoke", x.ID)
	}
	if status, _, err := d.as(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("a revoked token: %d %v", status, err)
	}
	later := d.hook(bash("later", "echo later"))
	d.allow(d.waitPending(1)[0])
	later.wait()
	must(t, os.WriteFile(rules, []byte("version: 1\n"), 0o600))
	d.stop()

	run(docsBlock(t, "operations.md", "Restore", "sh"))
	d.start()
	if fi, err := os.Stat(d.state); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the restored state directory: %v, mode %v", err, fi.Mode())
	}
	if r := d.request(before.ID); r.Outcome != "denied" || r.DecidedBy == nil {
		t.Errorf("the request that was decided before: %+v", r)
	}
	if r := d.request(open.ID); r.State != "pending" || !r.Detached {
		t.Errorf("the request that waited: %s %s, detached %v", r.State, r.Outcome, r.Detached)
	}
	for _, r := range d.all() {
		if r.SessionID == "later" {
			t.Errorf("what came later is there: %+v", r)
		}
	}
	if list := d.grants(); len(list) != 1 || list[0].ID != grant.ID || list[0].Spent != 0 {
		t.Errorf("grants: %+v", list)
	}
	if status, _, err := d.as(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusOK {
		t.Errorf("a token that was revoked since holds again, says the page: %d %v", status, err)
	}
	if out := d.hook(bash("after", "rm x")).wait(); !strings.Contains(out, `"deny"`) {
		t.Errorf("the rules of the backup: %q", out)
	}
	eventually(t, soon, "the session is in history", func() bool {
		return strings.Contains(strings.Join(d.sessions(), " "), "before")
	})
	// It goes on as any broker does.
	h = d.hook(bash("after", "echo after"))
	for _, r := range d.waitPending(2) {
		if r.ID != open.ID {
			d.allow(r)
		}
	}
	if out := h.wait(); out != allowed {
		t.Errorf("after the restore a hook printed %q", out)
	}
}

// TestLogForPrograms: with --log-format json every line of the log is an object, whatever hooks
// send, and none holds a payload or a secret.
func TestLogForPrograms(t *testing.T) {
	t.Parallel()
	d := newDaemon(t, "--log-format", "json", "--verbose", "--no-link")
	d.start()
	token := d.createToken("approve", "bot")
	const secret = "sesame-sesame"
	h := d.hook(bash("s\n{\"level\":\"error\"}", "echo "+secret))
	r := d.waitPending(1)[0]
	if status, body, err := d.as(token, "POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: secret}); err != nil || status != http.StatusOK {
		t.Fatalf("deny: %d %s %v", status, body, err)
	}
	h.wait()
	for _, bad := range []string{`{"hook_event_name":"PermissionRequest","tool_name":"` + secret + `"}`, secret, `{"hook_event_name":"x\n` + secret[:3] + `"}`} {
		d.hook([]byte(bad)).wait()
	}
	if status, _, err := d.as(secret, "GET", "/v1/requests?q="+secret, nil); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %d %v", status, err)
	}
	if code := d.stop(); code != 0 {
		t.Fatalf("code %d", code)
	}
	log := d.out.tail(1 << 20)
	_, owner := d.owner()
	for what, text := range map[string]string{"a payload": secret, "a token": token, "the owner's token": owner} {
		if strings.Contains(log, text) {
			t.Errorf("%s is in the log:\n%s", what, log)
		}
	}
	decided := false
	for line := range strings.Lines(log) {
		var entry struct {
			Level, Msg, ID, Kind, Outcome string
			Time                          time.Time
		}
		if !strings.HasPrefix(line, "{") {
			if !strings.HasPrefix(line, "assent is ready.") && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "To pair") {
				t.Errorf("a line that no program can read: %q", line)
			}
			continue
		}
		dec := json.NewDecoder(strings.NewReader(line))
		if err := dec.Decode(&entry); err != nil || entry.Level == "" || entry.Msg == "" || entry.Time.IsZero() {
			t.Errorf("%v in %q", err, line)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			t.Errorf("more than one value in %q", line)
		}
		if entry.Msg == "decided" {
			decided = entry.ID == r.ID && entry.Kind == "token" && entry.Outcome == "denied"
		}
	}
	if !decided {
		t.Errorf("the decision is not in the log:\n%s", log)
	}
}
