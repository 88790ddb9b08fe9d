package cli

import (
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

	"assent/e2e/rig"
)

// TestStopLeavesHooksAnAnswerOrAWayBack stops a broker politely while hooks of all kinds wait,
// while people decide and while events come in, and starts it again: every hook prints what the
// record says, whoever was told that a decision counts was told the truth, and no event is lost.
func TestStopLeavesHooksAnAnswerOrAWayBack(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Args = []string{"--listen", rig.FreePort(t)} // remote hooks come back to the same address
	d.Start()
	submit := d.CreateToken("submit", "elsewhere")

	const local, remote = 12, 6
	hooks := map[string]*rig.HookRun{} // by command
	for i := range local {
		command := fmt.Sprintf("echo local-%d", i)
		hooks[command] = d.Hook(rig.Bash("local", command))
	}
	for i := range remote {
		command := fmt.Sprintf("echo remote-%d", i)
		hooks[command] = d.RemoteHook(submit, rig.Bash("remote", command))
	}
	rs := d.WaitPending(local + remote)

	// The agent's own HTTP hook has no way back. It must hear of the end, at least.
	plain := make(chan error, 1)
	go func() {
		status, body, err := d.As(submit, "POST", "/v1/hooks", json.RawMessage(rig.Bash("plain", "echo plain")))
		if err == nil {
			err = fmt.Errorf("answered %d %s", status, body)
			plain <- err
			return
		}
		plain <- nil
	}()
	d.WaitPending(local + remote + 1)
	// One whose time runs out while there is no broker has an end of its own.
	impatient := d.Hook(rig.Bash("impatient", "echo impatient"), "--timeout", "20s", "--on-timeout", "deny", "--on-failure", "deny")
	d.WaitPending(local + remote + 2)

	// A third of them are decided before, a third while the broker stops, and events come in.
	var crowd sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]bool{} // requests whose approver got a 200
	decide := func(r rig.Request) {
		status, _, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: "no: " + r.ID})
		if err == nil && status == http.StatusOK {
			mu.Lock()
			acknowledged[r.ID] = true
			mu.Unlock()
		}
	}
	for i, r := range rs {
		if i%3 == 0 {
			decide(r)
		}
	}
	if len(acknowledged) != len(rs)/3 {
		t.Fatalf("only %d decisions of %d were recorded", len(acknowledged), len(rs)/3)
	}
	for i, r := range rs {
		if i%3 == 1 {
			crowd.Go(func() { decide(r) })
		}
	}
	const events = 20
	for i := range events {
		crowd.Go(func() {
			if out, err := d.HookCommand(rig.Payload("Stop", fmt.Sprintf("event-%d", i), nil)).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("event %d: %v %s", i, err, out)
			}
		})
	}
	if code := d.Stop(); code != 0 {
		t.Errorf("the broker stopped with code %d", code)
	}
	crowd.Wait()
	if err := <-plain; err != nil {
		t.Errorf("the agent's own HTTP hook: %v", err)
	}
	if out := impatient.Wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("a hook that was told to deny in time printed %q", out)
	}
	t.Logf("%d of %d decisions were recorded before the stop", len(acknowledged), 2*len(rs)/3)

	d.Start()
	for _, r := range rs {
		r = d.Until(r.ID, "settled, or its hook is back", func(r rig.Request) bool { return r.State == "ended" || !r.Detached })
		if r.State == "pending" {
			if acknowledged[r.ID] {
				t.Errorf("%s: its approver was told that it was decided", r.ID)
			}
			d.Allow(r)
		}
	}
	for _, r := range rs {
		var input struct{ Command string }
		rig.Must(t, json.Unmarshal(r.ToolInput, &input))
		out := hooks[input.Command].Wait()
		want := rig.Allowed
		if rec := d.Step(r.ID, "decided"); rec.Decision.Behavior == "deny" {
			want = rig.Denied("no: " + r.ID)
		} else if acknowledged[r.ID] {
			t.Errorf("%s: the approver was told that a denial counts, the record says %+v", r.ID, rec.Decision)
		}
		if out != want {
			t.Errorf("%s printed %q, the record says %q", input.Command, out, want)
		}
	}
	seen := map[string]string{}
	c := rig.Consume(t, d)
	rig.Eventually(t, rig.Soon, "all events are in the stream", func() bool {
		for _, m := range c.Take() {
			if id, ok := seen[m.Data]; ok && id != m.ID {
				t.Errorf("%s came under two ids", m.Data)
			}
			if m.Subject == "hooks.Stop" {
				seen[m.Data] = m.ID
			}
		}
		return len(seen) == events
	})
}

// TestBackupIsRestored runs the commands of docs/operations.md: what was there at the time of the
// backup is there again, what came later is not, and what the page warns of is true.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.State = filepath.Join(d.Dir, "xdg", "assent") // where the page says it is
	config := filepath.Join(d.Dir, ".config", "assent")
	rig.Must(t, os.MkdirAll(config, 0o700))
	rules := filepath.Join(config, "rules.yaml")
	rig.Must(t, os.WriteFile(rules, []byte("version: 1\ndeny:\n  - Bash(rm *)\n"), 0o600))
	d.Start()
	token := d.CreateToken("view", "board")
	h := d.Hook(rig.Bash("before", "mytool x"))
	before := d.WaitPending(1)[0]
	grant := d.Grant(before, map[string]any{"count": 5})
	h.Wait()
	waits := d.Hook(rig.Bash("before", "echo waits"))
	open := d.WaitPending(1)[0]

	if code := d.Stop(); code != 0 {
		t.Fatalf("the broker stopped with code %d", code)
	}
	run := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-e", "-c", script)
		cmd.Env, cmd.Dir = d.Env(), d.Dir
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v %s", script, err, out)
		}
	}
	run(rig.DocsBlock(t, "operations.md", "Backup", "sh"))
	for _, name := range []string{"assent-state.tar.gz", "assent-config.tar.gz"} {
		if fi, err := os.Stat(filepath.Join(d.Dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, mode %v; others must not read it", name, err, fi.Mode())
		}
	}

	// Life goes on, and the hook that waited has its answer.
	d.Start()
	d.Until(open.ID, "back", func(r rig.Request) bool { return !r.Detached })
	d.Allow(open)
	if out := waits.Wait(); out != rig.Allowed {
		t.Errorf("over the backup the hook got %q", out)
	}
	var tokens []struct{ ID, Name string }
	d.Get("/v1/tokens", &tokens)
	for _, x := range tokens {
		d.Command("token", "revoke", x.ID)
	}
	if status, _, err := d.As(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("a revoked token: %d %v", status, err)
	}
	later := d.Hook(rig.Bash("later", "echo later"))
	d.Allow(d.WaitPending(1)[0])
	later.Wait()
	rig.Must(t, os.WriteFile(rules, []byte("version: 1\n"), 0o600))
	d.Stop()

	run(rig.DocsBlock(t, "operations.md", "Restore", "sh"))
	d.Start()
	if fi, err := os.Stat(d.State); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the restored state directory: %v, mode %v", err, fi.Mode())
	}
	if r := d.Request(before.ID); r.Outcome != "denied" || r.DecidedBy == nil {
		t.Errorf("the request that was decided before: %+v", r)
	}
	if r := d.Request(open.ID); r.State != "pending" || !r.Detached {
		t.Errorf("the request that waited: %s %s, detached %v", r.State, r.Outcome, r.Detached)
	}
	for _, r := range d.All() {
		if r.SessionID == "later" {
			t.Errorf("what came later is there: %+v", r)
		}
	}
	if list := d.Grants(); len(list) != 1 || list[0].ID != grant.ID || list[0].Spent != 0 {
		t.Errorf("grants: %+v", list)
	}
	if status, _, err := d.As(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusOK {
		t.Errorf("a token that was revoked since holds again, says the page: %d %v", status, err)
	}
	if out := d.Hook(rig.Bash("after", "rm x")).Wait(); !strings.Contains(out, `"deny"`) {
		t.Errorf("the rules of the backup: %q", out)
	}
	rig.Eventually(t, rig.Soon, "the session is in history", func() bool {
		return strings.Contains(strings.Join(d.Sessions(), " "), "before")
	})
	// It goes on as any broker does.
	h = d.Hook(rig.Bash("after", "echo after"))
	for _, r := range d.WaitPending(2) {
		if r.ID != open.ID {
			d.Allow(r)
		}
	}
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("after the restore a hook printed %q", out)
	}
}

// TestLogForPrograms: with --log-format json every line of the log is an object, whatever hooks
// send, and none holds a payload or a secret.
func TestLogForPrograms(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t, "--log-format", "json", "--verbose", "--no-link")
	d.Start()
	token := d.CreateToken("approve", "bot")
	const secret = "sesame-sesame"
	h := d.Hook(rig.Bash("s\n{\"level\":\"error\"}", "echo "+secret))
	r := d.WaitPending(1)[0]
	if status, body, err := d.As(token, "POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: secret}); err != nil || status != http.StatusOK {
		t.Fatalf("deny: %d %s %v", status, body, err)
	}
	h.Wait()
	for _, bad := range []string{`{"hook_event_name":"PermissionRequest","tool_name":"` + secret + `"}`, secret, `{"hook_event_name":"x\n` + secret[:3] + `"}`} {
		d.Hook([]byte(bad)).Wait()
	}
	if status, _, err := d.As(secret, "GET", "/v1/requests?q="+secret, nil); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %d %v", status, err)
	}
	if code := d.Stop(); code != 0 {
		t.Fatalf("code %d", code)
	}
	log := d.Out.Tail(1 << 20)
	_, owner := d.Owner()
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
