package broker

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assent/e2e/rig"
	"assent/internal/auth/authtest"
	"assent/internal/freeport"
)

// Two brokers share a record: a session that is forgotten at one is gone at the other, and who was invited at one
// joins, or is paired, at the other, once.
func TestTwoBrokersAreOne(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	rig.NATS(t, rig.TempDir(t), ports[0])
	one, other := rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0])), rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0]))
	hook := one.Hook(rig.Bash("forgotten-session", "echo secret"))
	other.Allow(other.WaitPending(1)[0]) // decided at the other
	if out := hook.Wait(); out != rig.Allowed {
		t.Fatalf("the hook got %q", out)
	}
	has := func(d *rig.Daemon, want int) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the session is there, or is not", func() bool {
			status, _, err := d.Try("GET", "/v1/sessions/forgotten-session/feed", nil)
			return err == nil && status == want
		})
	}
	has(one, http.StatusOK)
	has(other, http.StatusOK)
	rig.Eventually(t, rig.Soon, "it is forgotten", func() bool {
		status, _, err := one.Try("DELETE", "/v1/sessions/forgotten-session", nil)
		return err == nil && status == http.StatusNoContent
	})
	has(one, http.StatusNotFound)
	has(other, http.StatusNotFound)
	spokenToAtBoth(t, one, other)

	// Both wrote one tree over the record, and it says what was forgotten.
	keys := filepath.Join(one.Dir, "keys")
	if err := os.WriteFile(keys, []byte(one.Command("audit", "checkpoint", "--key")+other.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, d := range []*rig.Daemon{one, other} {
		hook := d.Hook(rig.Bash("kept-session", "echo again"))
		other.Deny(other.WaitPending(1)[0], "no")
		hook.Wait()
		export := filepath.Join(d.Dir, "export")
		d.Command("audit", "export", "--output", export)
		if out := d.Command("audit", "verify", export, "--key", keys); !strings.Contains(out, "Verified") || !strings.Contains(out, "3 forgotten") {
			t.Errorf("at broker %d: %s", i, out)
		}
	}

	var machine, browser struct {
		Code string `json:"code"`
	}
	one.Must("POST", "/v1/pair", "", map[string]string{"role": "submit", "name": "laptop"}, http.StatusCreated, &machine)
	other.Must("POST", "/v1/join", "none", machine, http.StatusCreated, nil)
	one.Must("POST", "/v1/join", "none", machine, http.StatusForbidden, nil)
	one.Must("POST", "/v1/pair", "", map[string]string{}, http.StatusCreated, &browser)
	redeem := map[string]any{"code": browser.Code, "name": "phone", "publicKey": authtest.NewKey().JWK()}
	var device struct{ ID string }
	other.Must("POST", "/v1/pair/redeem", "none", redeem, http.StatusCreated, &device)
	one.Must("POST", "/v1/pair/redeem", "none", redeem, http.StatusForbidden, nil)
	rig.Eventually(t, rig.Soon, "the device is known at both", func() bool {
		return slices.ContainsFunc(one.Devices(), func(d rig.Device) bool { return d.ID == device.ID })
	})

	// The code that a device shows at one is confirmed at the other, and the device hears of it at the first.
	tablet := one.StartsAs("tablet")
	other.LetIn(tablet.Code)
	rig.Eventually(t, rig.Soon, "it is paired", func() bool { return one.Polls(tablet) == http.StatusOK })

	// Rules that are published at one are in force at the other, by version.
	rules := filepath.Join(one.Dir, "team.yaml")
	if err := os.WriteFile(rules, []byte("version: 1\nallow: [\"Bash(echo team)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := one.Command("rules", "publish", rules); !strings.HasPrefix(out, "Version 1 is published.") {
		t.Errorf("%s", out)
	}
	rig.Eventually(t, rig.Soon, "both follow version 1", func() bool {
		return strings.Count(other.Command("rules", "status"), "version 1\n") == 2
	})
	if out := other.Hook(rig.Bash("ruled", "echo team")).Wait(); out != rig.Allowed {
		t.Errorf("the hook got %q", out)
	}
	for _, r := range one.All() {
		if r.SessionID == "ruled" && !strings.Contains(string(mustGet(t, one, "/v1/requests/"+r.ID+"/trace")), `"published rules, version 1"`) {
			t.Errorf("the answer does not name the version")
		}
	}
	if out := one.Refused(4, "rules", "publish", rules, "--after", "7"); !strings.Contains(out, "another version") {
		t.Errorf("%s", out)
	}

	// A hook of the first broker's machine that also knows the other one outlives its own broker.
	url, _ := other.Owner()
	cmd := one.HookCommand(rig.Bash("outlives", "echo held"), "--url", url)
	cmd.Env = append(cmd.Env, "ASSENT_TOKEN="+other.CreateToken("submit", "machine"))
	held := one.Run(cmd)
	waits := other.WaitPending(1)[0]
	one.Kill()
	other.Allow(waits)
	if out := held.Wait(); out != rig.Allowed {
		t.Errorf("the hook whose broker was killed got %q, %s", out, held.Stderr.String())
	}
	cmd = one.HookCommand(rig.Bash("outlives", "echo new"), "--url", url)
	cmd.Env = append(cmd.Env, "ASSENT_TOKEN="+other.CreateToken("submit", "machine again"))
	again := one.Run(cmd)
	other.Allow(other.WaitPending(1)[0])
	if out := again.Wait(); out != rig.Allowed {
		t.Errorf("a hook whose broker is away got %q, %s", out, again.Stderr.String())
	}
}

func mustGet(t *testing.T, d *rig.Daemon, path string) []byte {
	t.Helper()
	status, body, err := d.Try("GET", path, nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, status, err)
	}
	return body
}

// Of two brokers one rings, for the hooks of both. It is killed: the other one rings for what is left, and for
// nothing twice.
func TestOneOfTwoBrokersRings(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	rig.NATS(t, rig.TempDir(t), ports[0])
	var mu sync.Mutex
	told := map[string]int{} // by webhook-id
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told[r.Header.Get("webhook-id")]++
	}))
	defer service.Close()
	start := func() *rig.Daemon {
		d := rig.NewDaemon(t, "--nats-url", "nats://"+freeport.Address(ports[0]))
		d.WriteNotices(fmt.Sprintf("notices:\n  - {name: bot, webhook: %q, secret: %q, after: 0s}\n", service.URL, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))))
		d.Start()
		return d
	}
	rings := func(d *rig.Daemon) bool {
		return strings.Contains(d.Out.Tail(1<<20), `this broker has the lease "notify"`)
	}
	first, second := start(), start()
	rig.Eventually(t, rig.Soon, "one of them rings", func() bool {
		if rings(second) {
			first, second = second, first
		}
		return rings(first)
	})
	wantTold := func(r rig.Request) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the service is told", func() bool { mu.Lock(); defer mu.Unlock(); return told["msg_"+r.ID] > 0 })
	}
	second.Hook(rig.Bash("s1", "echo one"))
	one := second.WaitPending(1)[0]
	wantTold(one)
	first.Kill()
	second.Hook(rig.Bash("s2", "echo two")) // nobody has the lease now
	var two rig.Request
	for _, r := range second.WaitPending(2) {
		if r.ID != one.ID {
			two = r
		}
	}
	wantTold(two)
	if !rings(second) {
		t.Error("it is not said who rings now")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told["msg_"+one.ID] != 1 || told["msg_"+two.ID] != 1 {
		t.Errorf("told %v, of %s and %s", told, one.ID, two.ID)
	}
}
