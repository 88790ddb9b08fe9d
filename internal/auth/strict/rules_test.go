package strict

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

const rulesText = "version: 1\nuse: [builtin/readonly@1]\nallow: ['Bash(make *)', AskUserQuestion]\nask: ['Bash(make install)']\n"

// asks is the payload of a command, in a directory that is there.
func asks(t testing.TB, command string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "session_id": "s", "cwd": dir, "tool_name": "Bash", "tool_input": map[string]string{"command": command}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func signRules(t testing.TB, k *devicekey.Key, text string, at, until time.Time) *hook.RulesSignature {
	t.Helper()
	s := &hook.RulesSignature{SHA256: signed.Digest([]byte(text)), SignedAt: at.Format(time.RFC3339), PublicKey: k.JWK()}
	if !until.IsZero() {
		s.Until = until.Format(time.RFC3339)
	}
	var err error
	if s.Signature, err = k.Sign(signed.RulesText(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

func ruleAnswer(text string, s *hook.RulesSignature) signed.Answer {
	return signed.Answer{RequestID: id, Behavior: hook.BehaviorAllow, By: &hook.Approver{Kind: hook.KindRule, ID: "x"}, Rules: s, RulesText: text}
}

// TestRulesAllow: what signed rules allow is printed, made of nothing that the broker sent; all else is not.
func TestRulesAllow(t *testing.T) {
	k, thumb := newKey(t)
	stranger, _ := newKey(t)
	day := now.Add(-24 * time.Hour)
	good := ruleAnswer(rulesText, signRules(t, k, rulesText, day, time.Time{}))
	changed := func(change func(*signed.Answer)) signed.Answer {
		a := good
		s := *good.Rules
		a.Rules = &s
		change(&a)
		return a
	}
	other := func(text string) signed.Answer { return ruleAnswer(text, signRules(t, k, text, day, time.Time{})) }
	trust := func(change func(*Rules)) Trust {
		r := Rules{Keys: []RulesKey{{Thumbprint: strings.Repeat("x", 43)}, {Thumbprint: thumb, Since: day.Add(-time.Hour)}}, Home: "/home/nobody"}
		if change != nil {
			change(&r)
		}
		return Trust{Rules: r}
	}
	const yes = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	question := `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"A?","header":"A","options":[{"label":"x","description":"y"}],"multiSelect":false}]}}`
	for name, c := range map[string]struct {
		raw    string
		answer signed.Answer
		trust  Trust
		why    string // "": it is printed
	}{
		"allowed":   {asks(t, "make x"), good, trust(nil), ""},
		"by a pack": {asks(t, "ls -l | head"), good, trust(nil), ""},
		"with what nobody said": {asks(t, "make x"), changed(func(a *signed.Answer) {
			a.UpdatedInput, a.UpdatedPermissions, a.Message = `{"command":"rm"}`, `[]`, "x"
		}), trust(nil), ""},
		"not allowed":         {asks(t, "rm x"), good, trust(nil), "do not allow it"},
		"asked about":         {asks(t, "make install"), good, trust(nil), "do not allow it"},
		"half allowed":        {asks(t, "make x; rm y"), good, trust(nil), "do not allow it"},
		"protected":           {asks(t, "make ~/.config/assent/hook.conf"), good, trust(nil), "do not allow it"},
		"protected here":      {asks(t, "make /opt/state/x"), good, trust(func(r *Rules) { r.Protected = []string{"/opt/state"} }), "do not allow it"},
		"a question":          {question, good, trust(nil), "no plain yes"},
		"two ways to read it": {strings.Replace(asks(t, "make x"), `"tool_input":{`, `"tool_input":{"Command":"rm",`, 1), good, trust(nil), "more than one way"},
		"unsigned":            {asks(t, "make x"), changed(func(a *signed.Answer) { a.Rules = nil }), trust(nil), "it is not signed: a rule allowed it"},
		"no signature":        {asks(t, "make x"), changed(func(a *signed.Answer) { a.Rules.Signature = "" }), trust(nil), "does not fit its key"},
		"another text":        {asks(t, "rm x"), changed(func(a *signed.Answer) { a.RulesText = strings.Replace(rulesText, "make *", "rm *", 1) }), trust(nil), "another text"},
		"one byte":            {asks(t, "make x"), changed(func(a *signed.Answer) { a.RulesText += " " }), trust(nil), "another text"},
		"no text":             {asks(t, "make x"), changed(func(a *signed.Answer) { a.RulesText = "" }), trust(nil), "another text"},
		"another digest": {asks(t, "rm x"), changed(func(a *signed.Answer) {
			a.RulesText = "version: 1\n"
			a.Rules.SHA256 = signed.Digest([]byte(a.RulesText))
		}), trust(nil), "does not fit its key"},
		"another time":      {asks(t, "make x"), changed(func(a *signed.Answer) { a.Rules.SignedAt = now.Format(time.RFC3339) }), trust(nil), "does not fit its key"},
		"a stranger's":      {asks(t, "make x"), ruleAnswer(rulesText, signRules(t, stranger, rulesText, day, time.Time{})), trust(nil), "not trusted for that"},
		"a device's key":    {asks(t, "make x"), good, Trust{Devices: []string{thumb}}, "nobody's rules are trusted"},
		"before since":      {asks(t, "make x"), ruleAnswer(rulesText, signRules(t, k, rulesText, day.Add(-2*time.Hour), time.Time{})), trust(nil), "before hook.conf"},
		"of the future":     {asks(t, "make x"), ruleAnswer(rulesText, signRules(t, k, rulesText, now.Add(time.Hour), time.Time{})), trust(nil), "in the future"},
		"over":              {asks(t, "make x"), ruleAnswer(rulesText, signRules(t, k, rulesText, day, now)), trust(nil), "counts no more"},
		"not over":          {asks(t, "make x"), ruleAnswer(rulesText, signRules(t, k, rulesText, day, now.Add(time.Second))), trust(nil), ""},
		"broken rules":      {asks(t, "make x"), other("version: 1\nallwo: ['Bash(make *)']\n"), trust(nil), "cannot use the rules"},
		"a newer pack":      {asks(t, "make x"), other("version: 1\nuse: [builtin/readonly@99]\nallow: ['Bash(make *)']\n"), trust(nil), "cannot use the rules"},
		"by label":          {asks(t, "make x"), other("version: 1\nallow: ['Bash(make *)']\nrules:\n  - {id: r, action: deny, match: {command: {program: make}, session: {label: x}}}\n"), trust(nil), "session.label"},
		"by local time":     {asks(t, "make x"), other("version: 1\nrules:\n  - {id: r, action: allow, match: {command: {program: make}, time: {days: sun-sat}}}\n"), trust(nil), "tz"},
		"too large":         {asks(t, "make x"), other(rulesText + strings.Repeat("#\n", signed.MaxRules/2)), trust(nil), "larger than"},
		"home unknown":      {asks(t, "make x"), good, trust(func(r *Rules) { r.HomeErr = errors.New("which home?") }), "which home?"},
		"no such directory": {strings.Replace(asks(t, "cat x"), `"cwd":"`, `"cwd":"/nowhere`, 1), good, trust(nil), "do not allow it"},
	} {
		out, why := Print(asked(c.raw), encode(t, c.answer), c.trust, now)
		if c.why == "" && (string(out) != yes || why != "") || c.why != "" && (out != nil || !strings.Contains(why, c.why)) {
			t.Errorf("%s: %s, %q, want %q", name, out, why, c.why)
		}
	}
	late := asked(asks(t, "make x"))
	late.Deadline = now
	if out, _ := Print(late, encode(t, good), trust(nil), now); out != nil {
		t.Errorf("after the deadline: %s", out)
	}
}

// TestRulesSeen: once newer rules of a key were here, older ones of it do not count, and those of another key do.
func TestRulesSeen(t *testing.T) {
	k, thumb := newKey(t)
	k2, thumb2 := newKey(t)
	seen := filepath.Join(t.TempDir(), "assent", "rules-seen")
	r := Rules{Keys: []RulesKey{{Thumbprint: thumb}, {Thumbprint: thumb2}}, Home: "/home/nobody", Seen: seen}
	raw := asks(t, "make x")
	print := func(k *devicekey.Key, ago time.Duration) string {
		t.Helper()
		out, why := Print(asked(raw), encode(t, ruleAnswer(rulesText, signRules(t, k, rulesText, now.Add(-ago), time.Time{}))), Trust{Rules: r}, now)
		if (out == nil) == (why == "") {
			t.Errorf("%s, %q", out, why)
		}
		return why
	}
	older := func(why string) bool { return strings.Contains(why, "newer ones of that key were here") }
	if why := print(k, 2*time.Hour); why != "" {
		t.Error(why)
	}
	if why := print(k, time.Hour); why != "" {
		t.Error(why)
	}
	if why := print(k, time.Hour); why != "" {
		t.Errorf("the same again: %s", why)
	}
	if why := print(k, 2*time.Hour); !older(why) {
		t.Errorf("older ones: %q", why)
	}
	if why := print(k2, 2*time.Hour); why != "" {
		t.Errorf("of another key: %s", why)
	}
	if why := print(k, 2*time.Hour); !older(why) {
		t.Errorf("older ones, after those of another key: %q", why)
	}
	if err := os.WriteFile(seen, []byte("nonsense\n"+thumb+" soon\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := print(k, 2*time.Hour); why != "" {
		t.Errorf("what is unreadable counts: %s", why)
	}
	r.Keys = r.Keys[:1]
	if why := print(k, time.Hour); why != "" {
		t.Error(why)
	}
	if b, err := os.ReadFile(seen); err != nil || strings.Count(string(b), "\n") != 1 || !strings.HasPrefix(string(b), thumb) {
		t.Errorf("a key that is not trusted is remembered: %s (%v)", b, err)
	}
}

// TestRulesTakenBack: once rules were here that do not allow it any more, older ones of that key that did are over.
func TestRulesTakenBack(t *testing.T) {
	k, thumb := newKey(t)
	r := Rules{Keys: []RulesKey{{Thumbprint: thumb}}, Home: "/home/nobody", Seen: filepath.Join(t.TempDir(), "seen")}
	raw := asks(t, "make x")
	says := func(text string, ago time.Duration) string {
		t.Helper()
		_, why := Print(asked(raw), encode(t, ruleAnswer(text, signRules(t, k, text, now.Add(-ago), time.Time{}))), Trust{Rules: r}, now)
		return why
	}
	if why := says("version: 1\nask: ['Bash(make *)']\n", time.Hour); !strings.Contains(why, "do not allow it") {
		t.Errorf("the newer ones: %q", why)
	}
	if why := says(rulesText, 2*time.Hour); !strings.Contains(why, "newer ones of that key were here") {
		t.Errorf("the older ones: %q", why)
	}
}

// TestRulesKeyTwice: of two lines about one key the stricter holds, whichever comes first.
func TestRulesKeyTwice(t *testing.T) {
	k, thumb := newKey(t)
	strict, open := RulesKey{Thumbprint: thumb, Since: now.Add(-time.Hour)}, RulesKey{Thumbprint: thumb}
	body := encode(t, ruleAnswer(rulesText, signRules(t, k, rulesText, now.Add(-2*time.Hour), time.Time{})))
	for _, keys := range [][]RulesKey{{strict, open}, {open, strict}} {
		if out, why := Print(asked(asks(t, "make x")), body, Trust{Rules: Rules{Keys: keys, Home: "/home/nobody"}}, now); out != nil || !strings.Contains(why, "before hook.conf") {
			t.Errorf("%v: %s, %q", keys, out, why)
		}
	}
}

// FuzzRules: whatever a broker sends with the rules that were signed, only what those allow is printed.
func FuzzRules(f *testing.F) {
	k, thumb := newKey(f)
	raw := asks(f, "rm -rf ~")
	good := ruleAnswer(rulesText, signRules(f, k, rulesText, now, time.Time{}))
	f.Add(encode(f, good))
	good.RulesText = strings.Replace(rulesText, "make", "rm", 1)
	f.Add(encode(f, good))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, _ := Print(asked(raw), body, Trust{Rules: Rules{Keys: []RulesKey{{Thumbprint: thumb}}, Home: "/home/nobody"}}, now)
		if strings.Contains(string(out), `"behavior":"allow"`) {
			t.Errorf("printed %s", out)
		}
	})
}

// FuzzSeen: whatever stands in the file of what was seen, it is read without harm.
func FuzzSeen(f *testing.F) {
	f.Add([]byte(strings.Repeat("x", 43) + " 2026-11-28T06:00:00Z\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "seen")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for key, at := range readSeen(file) {
			if at.IsZero() || strings.ContainsAny(key, " \n") {
				t.Errorf("%q: %v", key, at)
			}
		}
	})
}
