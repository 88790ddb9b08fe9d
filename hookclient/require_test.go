package hookclient

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRequire: what the administrator requires, and whom he trusts, nothing else weakens: no flag, no variable, not
// the user's file. In the user's own file it holds as long as that says so.
func TestRequire(t *testing.T) {
	dir := t.TempDir()
	admin, user := filepath.Join(dir, "etc/hook.conf"), filepath.Join(dir, "assent/hook.conf")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": dir, "ASSENT_REQUIRE": "none", "ASSENT_TRUST": strings.Repeat("e", 43), "ASSENT_SOCKET": "/s"}[name]
	}
	a, b := strings.Repeat("a", 43), strings.Repeat("b", 43)
	read := func() Config {
		t.Helper()
		c, err := readConfig([]string{"--socket", "/s"}, env, admin, uint32(os.Getuid()))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := read(); c.Require != "" || c.Trust != nil || c.Fault != nil {
		t.Errorf("nothing is required: %+v", c)
	}
	write(user, "require = signed\ntrust = device:"+a+" independent\ntrust = "+b+"\n")
	if c := read(); c.Require != "signed" || c.Enforced || !slices.Equal(c.Trust, []Trusted{{a, true}, {b, false}}) || c.Fault != nil {
		t.Errorf("the user's: %+v", c)
	}
	write(admin, "require = signed\ntrust = "+b+" broker\n")
	if c := read(); c.Require != "signed" || !c.Enforced || !slices.Equal(c.Trust, []Trusted{{b, false}}) || c.Fault != nil {
		t.Errorf("the administrator's: %+v", c)
	}
	write(user, "trust = "+a+"\n")
	if c := read(); !slices.Equal(c.Trust, []Trusted{{b, false}}) || c.Fault != nil {
		t.Errorf("a key was added: %+v", c)
	}
	write(user, "require = none\n")
	if c := read(); c.Require != "signed" || c.Fault == nil || !slices.Equal(c.Trust, []Trusted{{b, false}}) {
		t.Errorf("it was switched off: %+v", c)
	}
	if err := os.Chmod(filepath.Dir(admin), 0o777); err != nil {
		t.Fatal(err)
	}
	if c := read(); c.Fault == nil {
		t.Errorf("a directory that others can write counts: %+v", c)
	}
	if err := os.Chmod(filepath.Dir(admin), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"trust = x", "trust = " + a + " perhaps", "trust = " + a + " broker now", "trust =", "trust = " + a[1:] + "!"} {
		write(admin, "require = signed\n"+bad+"\n")
		if c := read(); c.Require != "signed" || c.Fault == nil && len(c.Trust) > 0 {
			t.Errorf("%s: %+v", bad, c)
		}
	}
	write(user, "trust-rules = "+a+"\n")
	write(admin, "require = signed\ntrust-rules = device:"+b+" since 2026-11-28T06:00:00Z\ntrust-rules = "+a+"\n")
	if c := read(); c.Fault != nil || len(c.TrustRules) != 2 || c.TrustRules[0] != (TrustedRules{b, time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)}) || c.rulesKeys() != b+" "+a {
		t.Errorf("whose rules count: %+v", c)
	}
	write(admin, "require = signed\n")
	if c := read(); c.Fault != nil || c.TrustRules != nil {
		t.Errorf("the user added a key for rules: %+v", c)
	}
	for _, bad := range []string{"x", a + " since", a + " since yesterday", a + " until 2026-11-28T06:00:00Z", a + " independent", "\n" + strings.Repeat("trust-rules = "+a+"\n", 17)} {
		write(admin, "require = signed\ntrust-rules = "+bad+"\n")
		if c := read(); c.Fault == nil || c.TrustRules != nil {
			t.Errorf("trust-rules = %s: %+v", bad, c)
		}
	}
	for _, flag := range []string{"--require", "--trust", "--trust-rules", "--token"} {
		if _, err := readConfig([]string{flag, "x"}, env, admin, uint32(os.Getuid())); err == nil {
			t.Errorf("%s is a flag", flag)
		}
	}
	// Who checks no signatures, or those of another agent, asks nobody.
	for _, c := range []Config{{Require: "signed", Agent: "claude"}, {Require: "signed", Agent: "codex", Verify: func(Offer) ([]byte, string) { return nil, "" }}} {
		if c.unverifiable() == nil {
			t.Errorf("%+v is asked", c)
		}
	}
}
