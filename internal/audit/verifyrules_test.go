package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assent/internal/auth/devicekey"
	sign "assent/internal/auth/signed"
	"assent/internal/hook"
)

// byRules are n requests that a rule allowed, of rules that k signed at a time, until a time.
func byRules(t *testing.T, k *devicekey.Key, n int, id, at, until string) (records []hook.Record) {
	t.Helper()
	s := &hook.RulesSignature{SHA256: strings.Repeat("ab", 32), SignedAt: at, Until: until, PublicKey: k.JWK()}
	var err error
	if s.Signature, err = k.Sign(sign.RulesText(s)); err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	for i := range n {
		id := fmt.Sprintf("%s-%d", id, i)
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: fmt.Sprintf("%064d", i), Rules: s}
		records = append(records,
			hook.Record{ID: "a", RequestID: id, Step: hook.StepAsked, Time: when, Request: &hook.Request{ID: id, ToolName: "Bash", InputSHA256: d.InputSHA256}},
			hook.Record{ID: "d", RequestID: id, Step: hook.StepDecided, Time: when, Outcome: hook.Allowed, Decision: &d, By: &hook.Approver{Kind: hook.KindRule, ID: "r"}})
	}
	return records
}

// TestSignedRules: rules that somebody signed count for who knows the key, and whose key it is is always said.
func TestSignedRules(t *testing.T) {
	var keys []*devicekey.Key
	var names []string
	for range 2 {
		k, err := devicekey.New()
		if err != nil {
			t.Fatal(err)
		}
		keys, names = append(keys, k), append(names, sign.Thumbprint(k.JWK()))
	}
	const early, late = "2026-11-27T05:00:00Z", "2026-11-28T04:00:00Z"
	records := byRules(t, keys[0], 2, "mine", early, "")
	records = append(records, byRules(t, keys[1], 3, "theirs", early, "")...)
	records = append(records, byRules(t, keys[0], 1, "over", early, late)...)
	records = append(records, byRules(t, keys[0], 1, "newer", late, "2026-11-28T05:00:01Z")...)
	text, opts := exported(t, newKey(t), records)
	for name, c := range map[string]struct {
		trust    map[string]time.Time
		counts   int64
		findings []string
	}{
		"nobody's": {nil, 0, nil},
		"both":     {map[string]time.Time{names[0]: {}, names[1]: {}}, 6, nil},
		"one":      {map[string]time.Time{names[0]: {}}, 3, []string{"did not name: device:" + names[1]}},
		"one, since then": {map[string]time.Time{names[0]: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), names[1]: {}}, 4,
			[]string{"before you let them count", "before you let them count"}},
	} {
		opts.TrustRules = c.trust
		rep := verify(t, text, opts)
		if rep.Decisions != 7 || rep.SignedRules != c.counts || rep.RulesOver != 1 || len(rep.Findings) != len(c.findings) || len(rep.RulesKeys) != 2 {
			t.Errorf("%s: %+v", name, rep)
			continue
		}
		for i, f := range rep.Findings {
			if !strings.Contains(f.What, c.findings[i]) || f.Seq == 0 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		for i, k := range rep.RulesKeys {
			_, named := c.trust[names[i]]
			if k.Key != names[i] || k.Named != named || k.Answers != 3 || k.First.Format(time.RFC3339) != early {
				t.Errorf("%s: %+v", name, k)
			}
		}
	}
	records[1].Decision.Rules = &hook.RulesSignature{SHA256: strings.Repeat("ab", 32), SignedAt: early, PublicKey: keys[0].JWK(), Signature: "x"}
	text, opts = exported(t, newKey(t), records)
	if rep := verify(t, text, opts); len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0].What, "signature of the rules") {
		t.Errorf("forged: %+v", rep.Findings)
	}
}
