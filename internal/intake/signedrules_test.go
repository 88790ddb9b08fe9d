package intake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/intake"
)

// TestSignedRules: a hook that wants signatures is answered by rule only where it will find the same: with the rules and their
// signature. Else a person is asked, and told why. The record names the signature for hooks of either kind.
func TestSignedRules(t *testing.T) {
	key, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	signature := &hook.RulesSignature{SHA256: signed.Digest([]byte("text")), SignedAt: "2026-11-28T06:00:00Z", PublicKey: key.JWK()}
	var now *hook.RulesSignature
	var alone error
	verdict := hook.Verdict{Action: hook.ActionAllow, Rule: "r", File: "builtin/readonly@1", From: "ours"}
	cfg := intake.Config{
		Rules: func(*hook.Request, hook.JSON) hook.Verdict { return verdict },
		Signed: intake.SignedRules{
			Now: func() []hook.SignedRules {
				list := []hook.SignedRules{{Name: "a stranger's", Text: "other", Signature: hook.RulesSignature{SHA256: "y", PublicKey: stranger.JWK()}}}
				if now != nil {
					list = append(list, hook.SignedRules{Name: "ours", Text: "text", Signature: *now})
				}
				return list
			},
			Alone: func(_ *hook.Request, rules string) error {
				if rules != "text" {
					t.Errorf("asked about %q", rules)
				}
				return alone
			},
		},
	}
	wants := func(keys string) intake.Arrival {
		a := arrival(payload("PermissionRequest", "Bash"))
		a.Event.Signed, a.Event.RulesKeys = true, keys
		return a
	}
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		asks := func(a intake.Arrival, why string) {
			t.Helper()
			p := r.pending(a)
			defer p.Close()
			v, err := r.b.Get(t.Context(), p.ID())
			if err != nil || v.Outcome != "" || v.Verdict == nil || !strings.Contains(v.Verdict.Reason, why) {
				t.Errorf("%+v, %v, want %q", v.Verdict, err, why)
			}
		}
		thumb := signed.Thumbprint(key.JWK())
		asks(wants(thumb), "does not trust the key")
		now = signature
		asks(wants(""), "from no rule")
		asks(wants(strings.Repeat("x", 43)), "does not trust the key")
		alone = errors.New("not these alone")
		asks(wants(thumb), "not these alone")
		alone = nil
		p := r.pending(wants("x " + thumb))
		a, err := p.Wait(t.Context())
		var sent signed.Answer
		if err != nil || json.Unmarshal(a.Body, &sent) != nil || sent.Behavior != hook.BehaviorAllow || sent.RulesText != "text" || sent.Rules == nil || *sent.Rules != *now {
			t.Errorf("%s, %v", a.Body, err)
		}
		if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.Decision == nil || v.Decision.Rules == nil || *v.Decision.Rules != *now {
			t.Errorf("recorded: %+v, %v", v, err)
		}
		// A hook that wants no signatures gets the agent's words; the record is the same.
		p = r.pending(arrival(payload("PermissionRequest", "Bash")))
		r.wants(p, hook.Allowed, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
		if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.Decision == nil || v.Decision.Rules == nil {
			t.Errorf("recorded: %+v, %v", v, err)
		}
		verdict.File, verdict.From = "ours", "another file" // by its name one could think so
		p = r.pending(arrival(payload("PermissionRequest", "Bash")))
		r.wants(p, hook.Allowed, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
		if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.Decision == nil || v.Decision.Rules != nil {
			t.Errorf("recorded of other rules: %+v, %v", v, err)
		}
	})
}
