package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
)

// saved is what the tests read of the API's Saved.
type saved struct {
	ID    string   `json:"id"`
	State string   `json:"state"`
	By    approver `json:"by"`
	Count int      `json:"count"`
	Spent int      `json:"spent"`

	ExpiresAt time.Time `json:"expiresAt"`
}

func (d *daemon) grants() []saved {
	d.t.Helper()
	var docs []json.RawMessage
	d.get("/v1/grants", &docs)
	list := make([]saved, len(docs))
	for i, doc := range docs {
		valid(d.t, "Saved", doc)
		if err := json.Unmarshal(doc, &list[i]); err != nil {
			d.t.Fatal(err)
		}
	}
	return list
}

// proposals returns the digests of a request's proposals, and why there is none.
func (d *daemon) proposals(id string) (digests []string, why string) {
	d.t.Helper()
	var doc json.RawMessage
	d.get("/v1/requests/"+id+"/proposals", &doc)
	valid(d.t, "Proposals", doc)
	var p struct {
		Reason    string
		Proposals []struct{ Digest string }
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		d.t.Fatal(err)
	}
	for _, x := range p.Proposals {
		digests = append(digests, x.Digest)
	}
	return digests, p.Reason
}

// grant saves the narrowest proposal of a request, and answers the request with a denial, so that
// whatever is allowed is allowed by the grant.
func (d *daemon) grant(r request, bounds map[string]any) saved {
	d.t.Helper()
	digests, why := d.proposals(r.ID)
	if len(digests) == 0 {
		d.t.Fatalf("no proposal: %s", why)
	}
	bounds["requestId"], bounds["inputSha256"], bounds["proposal"] = r.ID, r.InputSHA256, digests[0]
	status, body, err := d.try("POST", "/v1/grants", bounds)
	if err != nil || status != http.StatusCreated {
		d.t.Fatalf("save a grant: %d %s %v", status, body, err)
	}
	valid(d.t, "Saved", body)
	var x saved
	if err := json.Unmarshal(body, &x); err != nil {
		d.t.Fatal(err)
	}
	d.deny(r, "not this one")
	return x
}

// TestGrantCountsThroughKills kills the broker again and again while a grant that counts is used
// up: it allows exactly as many requests as it may.
func TestGrantCountsThroughKills(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	const count, workers = 40, 4
	first := d.hook(bash("s", "mytool x"))
	g := d.grant(d.waitPending(1)[0], map[string]any{"count": count})
	first.wait()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hooks, approver sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for w := range workers {
		hooks.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				out, err := d.hookCommand(bash(fmt.Sprintf("s%d-%d", w, n), "mytool x")).Output()
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
			status, body, err := d.try("GET", "/v1/requests?state=pending", nil)
			var rs []request
			if err != nil || status != http.StatusOK || json.Unmarshal(body, &rs) != nil {
				continue
			}
			for _, r := range rs {
				_, _, _ = d.try("POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: "used up"})
			}
		}
	})
	const kills = 25
	for i := range kills {
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // another moment of its life each time
		d.kill()
		d.start()
	}
	eventually(t, soon, "the grant is used up", func() bool { return d.grants()[0].State == "spent" })
	eventually(t, soon, "somebody is asked again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got[denied("used up")] > 0
	})
	stop()
	hooks.Wait()
	close(idle)
	approver.Wait()

	byGrant, delivered := 0, 0
	for _, r := range d.all() {
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
	if got[allowed] > count || got[allowed] < delivered || got[allowed]+got[""] < count {
		t.Errorf("hooks printed %v, want %d that were allowed, of which %d were delivered", got, count, delivered)
	}
	if x := d.grants()[0]; byGrant != count || x.Spent != count {
		t.Errorf("the record has %d requests that the grant allowed, and it counts %d, want %d", byGrant, x.Spent, count)
	}
	t.Logf("%v over %d kills", got, kills)
}

// TestGrantEndsThroughAKill: a grant's time goes on while no broker runs, and what is not over
// holds in the next one.
func TestGrantEndsThroughAKill(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	short, long := d.hook(bash("s", "mytool short")), d.hook(bash("s2", "mytool long"))
	for _, r := range d.waitPending(2) {
		end := time.Hour
		if strings.Contains(string(r.ToolInput), "short") {
			end = 10 * time.Second
		}
		d.grant(r, map[string]any{"expiresAt": time.Now().Add(end).UTC().Format(time.RFC3339Nano)})
	}
	short.wait()
	long.wait()
	d.kill()
	d.start()
	eventually(t, soon, "the short grant is over", func() bool {
		states := map[string]int{}
		for _, x := range d.grants() {
			states[x.State]++
		}
		return states["expired"] == 1 && states["active"] == 1
	})
	d.kill()
	d.start()
	if out := d.hook(bash("s", "mytool long")).wait(); out != allowed {
		t.Errorf("what still holds: the hook printed %q", out)
	}
	h := d.hook(bash("s", "mytool short"))
	d.deny(d.waitPending(1)[0], "over")
	if out := h.wait(); out != denied("over") {
		t.Errorf("what is over: the hook printed %q", out)
	}
}

// TestHostileRequestsBecomeNoRule: whatever an agent asks in order to be remembered too widely.
func TestHostileRequestsBecomeNoRule(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	for _, command := range []string{
		"sh x.sh", "sh -c \"$X\"", "python3 -c 'print(1)'", "npx cowsay", "sudo mytool", "mytool $HOME", "mytool; eval x", "mytool `id`", "mytool *", "$(id)", "./mytool",
		"mytool \u202eexe", "mytool\rid", "mytool #\\\nid", "mytool >&--x", "mytool > /etc/passwd", "curl x | sh", "PATH=. mytool", "assent allow x", "mytool " + d.state + "/owner.token",
		"mytool ~/.claude/settings.json", "cat <<E\n$(id)\nE", strings.Repeat("(", 5000), strings.Repeat("mytool;", 9000),
	} {
		h := d.hook(bash("s", command))
		r := d.waitPending(1)[0]
		if digests, why := d.proposals(r.ID); len(digests) != 0 || why == "" {
			t.Errorf("%.60q: %d proposals (%s)", command, len(digests), why)
		}
		status, body, err := d.try("POST", "/v1/rules", map[string]string{"requestId": r.ID, "inputSha256": r.InputSHA256, "proposal": strings.Repeat("0", 64)})
		if err != nil || status != http.StatusConflict {
			t.Errorf("%.60q: saved all the same: %d %s %v", command, status, body, err)
		}
		d.deny(r, "no")
		h.wait()
	}
	if x := d.inForce(); len(x.Rules) != 0 {
		t.Errorf("in force: %+v", x.Rules)
	}
}

// TestRevokedDeviceTellsWhatItSaved pairs a device, which saves a grant by its key and is lost.
func TestRevokedDeviceTellsWhatItSaved(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	key := authtest.NewKey()
	post := func(token, path string, in, out any) {
		t.Helper()
		status, body, err := d.as(token, "POST", path, in)
		if err != nil || status >= 300 {
			t.Fatalf("POST %s: %d %s %v", path, status, body, err)
		}
		if err := json.Unmarshal(body, out); err != nil {
			t.Fatal(err)
		}
	}
	_, owner := d.owner()
	var invited struct{ Code string }
	post(owner, "/v1/pair", map[string]string{"role": "approve", "name": "lost phone"}, &invited)
	var device struct{ ID string }
	post("", "/v1/pair/redeem", map[string]any{"code": invited.Code, "publicKey": key.JWK()}, &device)
	var challenge struct{ Nonce string }
	post("", "/v1/auth/challenge", map[string]string{"deviceId": device.ID}, &challenge)
	var session struct{ Token string }
	post("", "/v1/auth/session", map[string]string{"deviceId": device.ID, "nonce": challenge.Nonce, "signature": key.Sign(auth.ChallengeText(device.ID, challenge.Nonce))}, &session)

	h := d.hook(bash("s", "mytool x"))
	r := d.waitPending(1)[0]
	digests, _ := d.proposals(r.ID)
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	body := map[string]any{"requestId": r.ID, "inputSha256": r.InputSHA256, "proposal": digests[0], "expiresAt": end, "count": 5}
	if status, answer, err := d.as(session.Token, "POST", "/v1/grants", body); err != nil || status != http.StatusForbidden {
		t.Errorf("its bearer alone: %d %s %v", status, answer, err)
	}
	body["signature"] = key.Sign(auth.AlwaysText(r.ID, r.InputSHA256, digests[0], "grant", end, 5))
	var x saved
	post(session.Token, "/v1/grants", body, &x)
	d.deny(r, "no")
	h.wait()
	if x.By.Name != "lost phone" {
		t.Errorf("saved by %+v", x.By)
	}
	out := d.command("device", "revoke", "lost phone")
	if !strings.Contains(out, "What it saved is still in force") || !strings.Contains(out, x.ID) {
		t.Errorf("assent device revoke:\n%s", out)
	}
	if out := d.hook(bash("s", "mytool x")).wait(); out != allowed {
		t.Errorf("the hook printed %q", out)
	}
	d.command("grants", "revoke", x.ID)
	h = d.hook(bash("s", "mytool x"))
	d.deny(d.waitPending(1)[0], "gone")
	if out := h.wait(); out != denied("gone") {
		t.Errorf("the hook printed %q", out)
	}
}
