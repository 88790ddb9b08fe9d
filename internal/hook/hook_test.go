package hook

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	for in, want := range map[string]string{
		"PreToolUse": "hooks.PreToolUse", "x-y_9": "hooks.x-y_9",
		"": "hooks.Unknown", "a.b": "hooks.Unknown", "hooks.>": "hooks.Unknown", "*": "hooks.Unknown", "Ünï": "hooks.Unknown",
		"a b": "hooks.Unknown", "a\r\nb": "hooks.Unknown", strings.Repeat("a", 65): "hooks.Unknown",
	} {
		if got := Subject(in); got != want {
			t.Errorf("Subject(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseFallbackKnowsNoAllow(t *testing.T) {
	for _, s := range []string{"allow", "Allow", "yes", "denied"} {
		if f, err := ParseFallback(s); err == nil || f != Abstain {
			t.Errorf("%q gave %q, %v; want an error and abstain", s, f, err)
		}
	}
	if f, err := ParseFallback(""); f != Abstain || err != nil {
		t.Errorf("empty gave %q, %v", f, err)
	}
}

func TestJSONStaysAsItIs(t *testing.T) {
	const in = `{"requestId":"r","step":"decided","id":"i","time":"2026-01-02T03:04:05Z","decision":{"behavior":"allow","inputSha256":"","updatedInput":{"b":1,"a":1.0,"b":2}}}`
	var r Record
	if err := json.Unmarshal([]byte(in), &r); err != nil {
		t.Fatal(err)
	}
	if got := string(r.Decision.UpdatedInput); got != `{"b":1,"a":1.0,"b":2}` {
		t.Errorf("read as %s", got)
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), `"updatedInput":{"b":1,"a":1.0,"b":2}`) {
		t.Errorf("written as %s", out)
	}
	if out, err := json.Marshal(Decision{Behavior: BehaviorDeny}); err != nil || string(out) != `{"behavior":"deny","inputSha256":""}` {
		t.Errorf("an empty JSON member must be left out: %s, %v", out, err)
	}
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "/home/dev", "100%", "%41", "a\r\nX: y", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := EscapeHeader(s)
		for i := 0; i < len(e); i++ {
			if e[i] <= ' ' || e[i] > '~' {
				t.Fatalf("%q escapes to %q", s, e)
			}
		}
		if got := UnescapeHeader(e); got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

// TestWho: what calls itself something else is told apart from it.
func TestWho(t *testing.T) {
	rule := Approver{Kind: KindRule, ID: "x", Name: "x", File: "/etc/r.yaml"}
	for want, a := range map[string]Approver{
		`rule "x" in /etc/r.yaml`:          rule,
		`phone`:                            {Kind: "device", ID: "d", Name: "phone"},
		`owner-cli`:                        {Kind: "owner-cli"},
		`owner`:                            {Kind: "owner-cli", Name: "owner"},
		`device "owner"`:                   {Kind: "device", Name: "owner"},
		`token "owner-cli"`:                {Kind: "token", Name: "owner-cli"},
		`device "Rule "x" in /etc/r.yaml"`: {Kind: "device", Name: `Rule "x" in /etc/r.yaml`},
	} {
		if got := a.Who(); got != want {
			t.Errorf("%+v is %s, want %s", a, got, want)
		}
	}
}
