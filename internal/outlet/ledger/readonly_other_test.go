//go:build !linux

package ledger

import (
	"os"
	"testing"
)

// readOnly makes dir read-only.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	if err := os.Chmod(dir+"/.hookd", 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/.hookd", 0o700) })
}
