package hookconf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What an administrator wrote stays; keys that are given take the place of those that were there.
func TestStrict(t *testing.T) {
	for _, c := range []struct {
		text        string
		keys, rules []string
		want        string
	}{
		{"", nil, []string{"device:r since 2026-11-28T06:00:00Z"}, "require = signed\ntrust-rules = device:r since 2026-11-28T06:00:00Z\n"},
		{"require = signed\ntrust = device:a\ntrust-rules = device:r\n", nil, []string{"device:s", "device:t"}, "require = signed\ntrust = device:a\ntrust-rules = device:s\ntrust-rules = device:t\n"},
		{"require = signed\ntrust = device:a\ntrust-rules = device:r\n", []string{"device:b"}, nil, "require = signed\ntrust-rules = device:r\ntrust = device:b\n"},
		{"", []string{"device:a", " device:b independent "}, nil, "require = signed\ntrust = device:a\ntrust = device:b independent\n"},
		{"# ours\nurl = https://x\ntrust = device:a\n", nil, nil, "# ours\nurl = https://x\ntrust = device:a\nrequire = signed\n"},
		{"trust = device:a\nrequire=other\ntimeout = 5s", []string{"device:b"}, nil, "require = signed\ntimeout = 5s\ntrust = device:b\n"},
	} {
		got, err := Strict(c.text, c.keys, c.rules)
		if err != nil || got != c.want {
			t.Errorf("%q with %q: %q (%v), want %q", c.text, c.keys, got, err, c.want)
		}
		if again, err := Strict(got, nil, nil); err != nil || again != got {
			t.Errorf("again: %q (%v)", again, err)
		}
	}
	if got := NotStrict("# ours\nrequire = signed\ntimeout = 5s\n trust=device:a\ntrust-rules = x\n"); got != "# ours\ntimeout = 5s\n" {
		t.Errorf("taken out: %q", got)
	}
	if _, err := Strict("timeout = 5s\n", nil, nil); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

func TestWriteForAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "assent", "hook.conf")
	step := func(text string, mode os.FileMode) {
		t.Helper()
		if err := WriteForAll(file, text); err != nil {
			t.Fatal(err)
		}
		got, err := ReadForAll(file)
		fi, statErr := os.Stat(file)
		if err != nil || got != text || text != "" && (statErr != nil || fi.Mode().Perm() != mode) {
			t.Errorf("%q (%v, %v), want %q", got, err, statErr, text)
		}
	}
	step("timeout = 5s\n", 0o644) // hooks run as anybody
	if err := os.Chmod(file, 0o620); err != nil {
		t.Fatal(err)
	}
	step("timeout = 6s\n", 0o600)
	step("", 0)
	step("", 0)
	if err := os.Symlink("/dev/zero", file); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadForAll(file); err == nil {
		t.Error("a link was followed")
	}
}
