package broker

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/audit"
)

// TestTokenBoundToKey: a token that is bound to a key decides nothing by itself; signed with the key, its allow is verified by trace,
// audit and a hook that requires signatures.
func TestTokenBoundToKey(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Start()
	url, _ := d.Owner()
	home := rig.TempDir(t) // of the program, which is no neighbour of the broker
	keyFile := filepath.Join(home, "bot.key")
	env := []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	run := func(more []string, args ...string) (string, error) {
		cmd := exec.Command(rig.Program("assent"), args...)
		cmd.Env = append(env, more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	key, err := run(nil, "token", "key", keyFile)
	if err != nil {
		t.Fatalf("%v: %s", err, key)
	}
	var told struct{ Trust string }
	if out, err := run(nil, "token", "key", keyFile, "--json"); err != nil || json.Unmarshal([]byte(out), &told) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.Refused(2, "token", "create", "--role", "admin", "--name", "bot", "--key", strings.TrimSpace(key))
	token := strings.TrimSpace(d.Command("token", "create", "--role", "approve", "--name", "bot", "--key", strings.TrimSpace(key)))
	if list := d.Command("token", "list"); !strings.Contains(list, told.Trust) {
		t.Errorf("the list does not say the key: %s", list)
	}
	bearer := []string{"ASSENT_TOKEN=" + token, "ASSENT_URL=" + url}
	both := append(bearer, "ASSENT_TOKEN_KEY="+keyFile)

	conf := filepath.Join(d.Dir, ".config", "assent", "hook.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("require = signed\ntrust = "+told.Trust+" independent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(command string) *rig.HookRun {
		t.Helper()
		h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program("assent-hook-strict"), "--socket", d.Socket, "--timeout", "120s")}
		h.Cmd.Env, h.Cmd.Dir, h.Cmd.Stdin = d.Env(), d.Dir, bytes.NewReader(rig.Bash("s", command))
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		return h
	}

	// The token alone: whatever would let something through, or stop it, is refused.
	h := ask("make x")
	r := d.WaitPending(1)[0]
	for _, args := range [][]string{{"allow", r.ID}, {"deny", r.ID}, {"hand-back", r.ID}, {"allow", r.ID, "--grant", "15m", "--json"}, {"stop", "--all"}, {"pause", "1h"}} {
		if out, err := run(bearer, args...); err == nil || !strings.Contains(out, "bound to a key") || !strings.Contains(out, "ASSENT_TOKEN_KEY") {
			t.Errorf("assent %v with the token alone: %v, %s", args, err, out)
		}
	}
	d.Must("POST", "/v1/requests/"+r.ID+"/decision", token, map[string]string{"behavior": "allow", "inputSha256": r.InputSHA256}, http.StatusForbidden, nil)
	if d.WaitPending(1)[0].ID != r.ID {
		t.Error("it does not wait any more")
	}
	// With the key: signed, recorded, verified, printed by the hook.
	if out, err := run(both, "allow", r.ID, "--signed"); err != nil || !strings.Contains(out, "make x") || !strings.Contains(out, "signed by "+told.Trust) {
		t.Errorf("%v: %s", err, out)
	}
	if out := h.Wait(); !strings.Contains(out, `"allow"`) {
		t.Errorf("the hook printed %q and said %s", out, h.Stderr.String())
	}
	if out := d.Command("trace", r.ID); !strings.Contains(out, "signed by token bot, signature verified") {
		t.Errorf("trace says %s", out)
	}
	// Without --signed nobody says what was shown: the record has the signature, the hook leaves it to the agent's prompt.
	h = ask("make y")
	plain := d.WaitPending(1)[0]
	if out, err := run(both, "allow", plain.ID); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "does not say what was shown") {
		t.Errorf("the hook printed %q and said %s", out, h.Stderr.String())
	}
	for _, args := range [][]string{{"stop", "--all"}, {"stop", "--lift"}, {"pause", "1h"}, {"pause", "--end"}} {
		if out, err := run(both, args...); err != nil {
			t.Errorf("assent %v with the key: %v, %s", args, err, out)
		}
	}
	h = ask("make z")
	last := d.WaitPending(1)[0]
	if out, err := run(both, "deny", last.ID, "-m", "no"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out := h.Wait(); out != rig.Denied("no") {
		t.Errorf("the hook printed %q", out)
	}

	pub, export := filepath.Join(home, "pub"), filepath.Join(home, "export")
	if err := os.WriteFile(pub, []byte(d.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Command("audit", "export", "--output", export)
	out, err := run(nil, "audit", "verify", export, "--key", pub, "--json")
	var rep audit.Report
	if err != nil || json.Unmarshal([]byte(out), &rep) != nil || rep.Signed != 3 || rep.Decisions != 3 {
		t.Errorf("%v: %s", err, out)
	}
	if found := strings.Count(d.Command("audit", "search", "--device", told.Trust, "--json"), `"signature":"good"`); found != 3 {
		t.Errorf("%d are found by the key", found)
	}
	var id string
	for line := range strings.Lines(d.Command("token", "list")) {
		if strings.Contains(line, told.Trust) {
			id = strings.Fields(line)[0]
		}
	}
	d.Command("token", "revoke", id)
	h = ask("make w")
	if out, err := run(both, "allow", d.WaitPending(1)[0].ID, "--signed"); err == nil {
		t.Errorf("a revoked token allows: %s", out)
	}
	d.Deny(d.WaitPending(1)[0], "end")
	h.Wait()
}
