package audit_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/audit"
)

// TestReadKeys: a key is given as it is or in a file, and what is neither is refused with a word on what to do.
func TestReadKeys(t *testing.T) {
	var public []string
	for _, name := range []string{"assent/one", "assent/two"} {
		_, key, err := note.GenerateKey(rand.Reader, name)
		if err != nil {
			t.Fatal(err)
		}
		public = append(public, key)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	both := file("both", "\n  "+public[0]+"\r\n\n"+public[1])
	for _, c := range []struct {
		name  string
		named []string
		want  string // the names of the keys, or a part of the error
	}{
		{"none", nil, ""},
		{"a key", public[:1], "assent/one"},
		{"two keys", public, "assent/one assent/two"},
		{"a file", []string{both}, "assent/one assent/two"},
		{"a file and a key", []string{both, public[0]}, "assent/one assent/two assent/one"},
		{"no key", []string{"nonsense"}, "--key nonsense is no key and no file of keys"},
		{"a directory", []string{dir}, "is no key and no file of keys"},
		{"an empty file", []string{public[0], file("empty", "\n \n")}, "has no key: see assent audit checkpoint --key"},
		{"a file with more than keys", []string{file("more", public[0]+"\n# mine\n")}, "is no key and no file of keys"},
		{"a file that is too large", []string{file("large", strings.Repeat(public[0]+"\n", 20_000))}, "it has more than 1048576 bytes"},
		{"an endless device", []string{"/dev/zero"}, "it has more than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := audit.ReadKeys(c.named)
			if err != nil {
				if c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			var names []string
			for _, k := range keys {
				names = append(names, k.Name())
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestReadKeptIsBounded: a file that is named by mistake does not fill the memory.
func TestReadKeptIsBounded(t *testing.T) {
	if _, err := audit.ReadKept("/dev/zero", nil); err == nil || !strings.Contains(err.Error(), "/dev/zero is no file of checkpoints: it has more than") {
		t.Errorf("%v", err)
	}
}
