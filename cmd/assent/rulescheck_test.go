package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRulesCheckSignature: check says who signed a file, and that and why a signature beside it does not count.
func TestRulesCheckSignature(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	assent := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("assent %q: %d %s", args, code, errs.String())
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	own := filepath.Join(dir, ".config", "assent", "rules.yaml")
	key := filepath.Join(dir, "key")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const rules = "version: 1\nallow: [\"Bash(make test)\"]\n"
	write(own, rules)
	for _, args := range [][]string{{"rules", "check"}, {"rules", "check", own}} {
		if said := assent(args...); strings.Contains(said, "sign") {
			t.Errorf("%q of rules that nobody signed says %q", args, said)
		}
	}
	assent("rules", "key", key)
	assent("rules", "sign", own, "--key", key)
	for _, args := range [][]string{{"rules", "check"}, {"rules", "check", own}} {
		if said := assent(args...); !strings.Contains(said, "signed with device:") || strings.Contains(said, "not count") {
			t.Errorf("%q of signed rules says %q", args, said)
		}
	}
	write(own, rules+"deny: [\"Bash(make clean)\"]\n")
	for _, args := range [][]string{{"rules", "check"}, {"rules", "check", own}} {
		if said := assent(args...); strings.Contains(said, "signed with") || !strings.Contains(said, "rules.yaml.sig: this signature does not count") || !strings.Contains(said, "sign this one, with assent rules sign") {
			t.Errorf("%q of rules that were changed after they were signed says %q", args, said)
		}
	}
	if said := assent("rules", "check", "--json"); !strings.Contains(said, "does not count") {
		t.Errorf("as JSON: %s", said)
	}
	write(own+".sig", "{}")
	if said := assent("rules", "check"); !strings.Contains(said, "does not count") {
		t.Errorf("beside no signature: %q", said)
	}
	if err := os.Chmod(own+".sig", 0o666); err != nil {
		t.Fatal(err)
	}
	if said := assent("rules", "check"); !strings.Contains(said, "does not count") {
		t.Errorf("beside a file that everybody can write to: %q", said)
	}
}
