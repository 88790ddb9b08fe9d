package stream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAccountFiles: each user has a file that only its owner reads, with the password that the servers know, and
// nothing is written over.
func TestAccountFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	files, err := AccountFiles("tls://n1:4222,n2:4222", NewPassword)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteAccounts(dir, files); err != nil {
		t.Fatal(err)
	}
	urls, err := ReadAccounts(dir)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := os.ReadFile(filepath.Join(dir, AccountsFile))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, user := range Users() {
		rest, ok := strings.CutPrefix(urls[user], "tls://"+user+":")
		password, _, found := strings.Cut(rest, "@n1:4222,tls://"+user+":")
		if !ok || !found || len(password) < 40 || seen[password] || strings.Count(string(conf), password) != 1 {
			t.Errorf("%s has the address %q", user, urls[user])
		}
		seen[password] = true
	}
	if err := WriteAccounts(dir, files); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("again: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, UserRecord), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAccounts(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others read: %v", err)
	}
	for _, bad := range []string{"", ",", "n1:4222,", "http://n1", "nats://a:b@n1", "n1 n2", "n1/x"} {
		if _, err := AccountFiles(bad, NewPassword); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
