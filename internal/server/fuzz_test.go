package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/internal/hook"
)

// What passes as a decision says so in exactly the way a strict reader would read it.
func FuzzDecisionBody(f *testing.F) {
	sum := strings.Repeat("0", 64)
	for _, s := range []string{
		`{"behavior":"allow","inputSha256":"` + sum + `"}`,
		`{"behavior":"deny","inputSha256":"` + sum + `","message":"\ud800","interrupt":true}`,
		`{"behavior":"allow","inputSha256":"` + sum + `","updatedInput":{"a":[1]},"updatedPermissions":[],"signature":"x"}`,
		`{"Behavior":"allow"}`, `{"behavior":"allow","behavior":"deny"}`, `[]`, "\xff", `{"a":` + strings.Repeat("[", 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var b decisionBody
		errs := decodeObject(body, b.fields())
		if len(errs) == 0 {
			errs = b.check()
		}
		if len(errs) > 0 {
			if p := bodyProblem(errs); p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Errorf("problem %+v", p)
			}
			return
		}
		var strict map[string]json.RawMessage // exact keys
		dec := json.NewDecoder(bytes.NewReader(body))
		if err := dec.Decode(&strict); err != nil {
			t.Fatalf("taken, but no JSON: %v", err)
		}
		d := b.decision()
		if want := `"` + string(d.Behavior) + `"`; !bytes.Contains(strict["behavior"], []byte{'\\'}) && string(strict["behavior"]) != want {
			t.Errorf("behavior %s read as %s", strict["behavior"], want)
		}
		for key := range strict {
			if _, ok := b.fields()[key]; !ok {
				t.Errorf("unknown %q was taken", key)
			}
		}
		if d.Behavior != hook.BehaviorAllow && d.Behavior != hook.BehaviorDeny || len(d.InputSHA256) != 64 {
			t.Errorf("taken: %+v", d)
		}
	})
}

// What passes as a list of requests on a screen is one, and a short one.
func FuzzOnScreenBody(f *testing.F) {
	id := "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1"
	for _, s := range []string{
		`{"requests":["` + id + `"]}`, `{"requests":["` + id + `","` + id + `"]}`, `{"requests":[]}`, `{"requests":[null]}`, `{"requests":{}}`, `{"requests":["x"],"requests":[1]}`,
		`{"Requests":["x"]}`, `{"requests":["` + strings.Repeat("x", 65) + `"]}`, `{"requests":[` + strings.Repeat(`"x",`, 50) + `"x"]}`, `[]`, "\xff", `{"requests":` + strings.Repeat("[", 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var list hook.JSON
		if errs := decodeObject(body, map[string]any{"requests": &list}); len(errs) > 0 {
			return
		}
		if differences, err := conform("OnScreen", body); err != nil {
			t.Fatal(err)
		} else if len(differences) > 0 {
			return
		}
		var ids []string
		if err := json.Unmarshal(list, &ids); err != nil || len(ids) == 0 || len(ids) > 50 {
			t.Fatalf("taken: %d of %s, %v", len(ids), list, err)
		}
		for _, id := range ids {
			if id := knownID(id); len(id) != 36 {
				t.Errorf("an id of %d bytes", len(id))
			}
		}
	})
}

// Headers of a hook never panic, and whatever they say the wait stays within its bounds.
func FuzzHookHeaders(f *testing.F) {
	f.Add("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "claude", "590000", "deny", "1", "2026-11-20T10:00:00Z", "a%20b%zz", "42")
	f.Add("", "", "-1", "allow", "999999999999", "yesterday", "%", "x")
	f.Add("{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "a.b", "9223372036854775807", "", "-3", "", "%00", "-1")
	s := &Server{log: zap.NewNop()}
	f.Fuzz(func(t *testing.T, id, agent, remaining, onTimeout, attempt, eventTime, host, pid string) {
		h := http.Header{}
		for k, v := range map[string]string{
			hook.HeaderRequestID: id, hook.HeaderAgent: agent, hook.HeaderRemaining: remaining, hook.HeaderOnTimeout: onTimeout,
			hook.HeaderAttempt: attempt, hook.HeaderEventTime: eventTime, hook.HeaderHost: host, hook.HeaderPID: pid,
		} {
			h.Set(k, v)
		}
		for _, came := range []hook.Channel{hook.ChannelSocket, hook.ChannelRemote} {
			e, channel, bad := eventOf(h, came)
			if bad != nil {
				if id == "" {
					t.Errorf("refused: %+v", bad)
				}
				continue
			}
			if u, err := uuid.Parse(e.ID); err != nil || u.String() != e.ID {
				t.Errorf("id %q became %q", id, e.ID)
			}
			if (channel == hook.ChannelPlain) != (came == hook.ChannelRemote && id == "") {
				t.Errorf("channel %s", channel)
			}
			if !hook.PlainToken(e.Agent) || e.Attempt < 1 {
				t.Errorf("event %+v", e)
			}
			timeout, fallback := s.timeoutOf(h, e.ID)
			if timeout > maxTimeout || timeout < 0 {
				t.Errorf("timeout %q became %v", remaining, timeout)
			}
			if fallback != hook.Abstain && (fallback != hook.Deny || onTimeout == "") {
				t.Errorf("fallback %q became %q", onTimeout, fallback)
			}
		}
	})
}

// Whatever a proxy passes on, the client is the proxy itself or somebody it names, and whoever
// could have written it himself is not believed about others.
func FuzzForwardedFor(f *testing.F) {
	for _, s := range []string{"", "203.0.113.9", "6.6.6.6, 203.0.113.9,10.1.1.1", "[2001:db8::1]:99", "fe80::1%eth0", "unknown", ",,,", "10.0.0.1:x", "::ffff:10.0.0.1"} {
		f.Add(s)
	}
	via := netip.MustParseAddr("10.0.0.1")
	s := &Server{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	if err := s.Reach(nil, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, list string) {
		got := s.forwardedFor([]string{list}, via)
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Fatalf("%q gives %v", list, got)
		}
		if again := s.forwardedFor([]string{list, "203.0.113.9", "10.9.9.9"}, via); again != netip.MustParseAddr("203.0.113.9") {
			t.Errorf("%q goes before what the proxies saw: %v", list, again)
		}
	})
}
