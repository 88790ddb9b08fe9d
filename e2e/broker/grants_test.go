package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
)

// TestGrantCountsThroughKills kills the broker again and again while a grant that counts is used
// up: it allows exactly as many requests as it may.
func TestGrantCountsThroughKills(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	const count, workers = 40, 4
	first := d.Hook(rig.Bash("s", "mytool x"))
	g := d.Grant(d.WaitPending(1)[0], map[string]any{"count": count})
	first.Wait()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hooks, approver sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for w := range workers {
		hooks.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				out, err := d.HookCommand(rig.Bash(fmt.Sprintf("s%d-%d", w, n), "mytool x")).Output()
				if err != nil {
					t.Errorf("hook %d of %d: %v", n, w, err)
				}
				mu.Lock()
				got[string(out)]++
				mu.Unlock()
			}
		})
	}
	idle := make(chan struct{})
	approver.Go(func() {
		for {
			select {
			case <-idle:
				return
			case <-time.After(2 * time.Millisecond): // the broker may be down; do not spin
			}
			status, body, err := d.Try("GET", "/v1/requests?state=pending", nil)
			var rs []rig.Request
			if err != nil || status != http.StatusOK || json.Unmarshal(body, &rs) != nil {
				continue
			}
			for _, r := range rs {
				_, _, _ = d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: "used up"})
			}
		}
	})
	const kills = 25
	for i := range kills {
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // another moment of its life each time
		d.Kill()
		d.Start()
	}
	rig.Eventually(t, rig.Soon, "the grant is used up", func() bool { return d.Grants()[0].State == "spent" })
	rig.Eventually(t, rig.Soon, "somebody is asked again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got[rig.Denied("used up")] > 0
	})
	stop()
	hooks.Wait()
	close(idle)
	approver.Wait()

	byGrant, delivered := 0, 0
	for _, r := range d.All() {
		if r.DecidedBy != nil && r.DecidedBy.Kind == "rule" {
			byGrant++
			if r.Delivery == "delivered" {
				delivered++
			}
			if r.DecidedBy.Name != g.ID || !strings.Contains(string(r.Verdict), g.ID) {
				t.Errorf("%s was decided by %+v: %s", r.ID, r.DecidedBy, r.Verdict)
			}
		}
	}
	// A hook gives up on a broker that takes more than three seconds to come back: what it was allowed
	// meanwhile it does not print.
	if got[rig.Allowed] > count || got[rig.Allowed] < delivered || got[rig.Allowed]+got[""] < count {
		t.Errorf("hooks printed %v, want %d that were allowed, of which %d were delivered", got, count, delivered)
	}
	if x := d.Grants()[0]; byGrant != count || x.Spent != count {
		t.Errorf("the record has %d requests that the grant allowed, and it counts %d, want %d", byGrant, x.Spent, count)
	}
	t.Logf("%v over %d kills", got, kills)
}

// TestGrantEndsThroughAKill: a grant's time goes on while no broker runs, and what is not over
// holds in the next one.
func TestGrantEndsThroughAKill(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	short, long := d.Hook(rig.Bash("s", "mytool short")), d.Hook(rig.Bash("s2", "mytool long"))
	for _, r := range d.WaitPending(2) {
		end := time.Hour
		if strings.Contains(string(r.ToolInput), "short") {
			end = 10 * time.Second
		}
		d.Grant(r, map[string]any{"expiresAt": time.Now().Add(end).UTC().Format(time.RFC3339Nano)})
	}
	short.Wait()
	long.Wait()
	d.Kill()
	d.Start()
	rig.Eventually(t, rig.Soon, "the short grant is over", func() bool {
		states := map[string]int{}
		for _, x := range d.Grants() {
			states[x.State]++
		}
		return states["expired"] == 1 && states["active"] == 1
	})
	d.Kill()
	d.Start()
	if out := d.Hook(rig.Bash("s", "mytool long")).Wait(); out != rig.Allowed {
		t.Errorf("what still holds: the hook printed %q", out)
	}
	h := d.Hook(rig.Bash("s", "mytool short"))
	d.Deny(d.WaitPending(1)[0], "over")
	if out := h.Wait(); out != rig.Denied("over") {
		t.Errorf("what is over: the hook printed %q", out)
	}
}

// TestHostileRequestsBecomeNoRule: whatever an agent asks in order to be remembered too widely.
func TestHostileRequestsBecomeNoRule(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	for _, command := range []string{
		"sh x.sh", "sh -c \"$X\"", "python3 -c 'print(1)'", "npx cowsay", "sudo mytool", "mytool $HOME", "mytool; eval x", "mytool `id`", "mytool *", "$(id)", "./mytool",
		"mytool \u202eexe", "mytool\rid", "mytool #\\\nid", "mytool >&--x", "mytool > /etc/passwd", "curl x | sh", "PATH=. mytool", "assent allow x", "mytool " + d.State + "/owner.token",
		"mytool ~/.claude/settings.json", "cat <<E\n$(id)\nE", strings.Repeat("(", 5000), strings.Repeat("mytool;", 9000),
	} {
		h := d.Hook(rig.Bash("s", command))
		r := d.WaitPending(1)[0]
		if digests, why := d.Proposals(r.ID); len(digests) != 0 || why == "" {
			t.Errorf("%.60q: %d proposals (%s)", command, len(digests), why)
		}
		status, body, err := d.Try("POST", "/v1/rules", map[string]string{"requestId": r.ID, "inputSha256": r.InputSHA256, "proposal": strings.Repeat("0", 64)})
		if err != nil || status != http.StatusConflict {
			t.Errorf("%.60q: saved all the same: %d %s %v", command, status, body, err)
		}
		d.Deny(r, "no")
		h.Wait()
	}
	if x := d.InForce(); len(x.Rules) != 0 {
		t.Errorf("in force: %+v", x.Rules)
	}
}

// TestRevokedDeviceTellsWhatItSaved pairs a device, which saves a grant by its key and is lost.
func TestRevokedDeviceTellsWhatItSaved(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	key := authtest.NewKey()
	post := func(token, path string, in, out any) {
		t.Helper()
		status, body, err := d.As(token, "POST", path, in)
		if err != nil || status >= 300 {
			t.Fatalf("POST %s: %d %s %v", path, status, body, err)
		}
		if err := json.Unmarshal(body, out); err != nil {
			t.Fatal(err)
		}
	}
	_, owner := d.Owner()
	var invited struct{ Code string }
	post(owner, "/v1/pair", map[string]string{"role": "approve", "name": "lost phone"}, &invited)
	var device struct{ ID string }
	post("", "/v1/pair/redeem", map[string]any{"code": invited.Code, "publicKey": key.JWK()}, &device)
	var challenge struct{ Nonce string }
	post("", "/v1/auth/challenge", map[string]string{"deviceId": device.ID}, &challenge)
	var session struct{ Token string }
	post("", "/v1/auth/session", map[string]string{"deviceId": device.ID, "nonce": challenge.Nonce, "signature": key.Sign(auth.ChallengeText(device.ID, challenge.Nonce))}, &session)

	h := d.Hook(rig.Bash("s", "mytool x"))
	r := d.WaitPending(1)[0]
	digests, _ := d.Proposals(r.ID)
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	body := map[string]any{"requestId": r.ID, "inputSha256": r.InputSHA256, "proposal": digests[0], "expiresAt": end, "count": 5}
	if status, answer, err := d.As(session.Token, "POST", "/v1/grants", body); err != nil || status != http.StatusForbidden {
		t.Errorf("its bearer alone: %d %s %v", status, answer, err)
	}
	body["signature"] = key.Sign(auth.AlwaysText(r.ID, r.InputSHA256, digests[0], "grant", end, 5))
	var x rig.Saved
	post(session.Token, "/v1/grants", body, &x)
	d.Deny(r, "no")
	h.Wait()
	if x.By.Name != "lost phone" {
		t.Errorf("saved by %+v", x.By)
	}
	out := d.Command("device", "revoke", "lost phone")
	if !strings.Contains(out, "What it saved is still in force") || !strings.Contains(out, x.ID) {
		t.Errorf("assent device revoke:\n%s", out)
	}
	if out := d.Hook(rig.Bash("s", "mytool x")).Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
	d.Command("grants", "revoke", x.ID)
	h = d.Hook(rig.Bash("s", "mytool x"))
	d.Deny(d.WaitPending(1)[0], "gone")
	if out := h.Wait(); out != rig.Denied("gone") {
		t.Errorf("the hook printed %q", out)
	}
}
