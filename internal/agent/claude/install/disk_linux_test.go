package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk: the settings stay as they are, and nothing half-written lies beside them.
func TestDiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("assent-test", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(small, syscall.MNT_DETACH)) })
	text := []byte("{\n  \"theme\": \"dark\"\n}\n")
	for _, full := range []string{"settings", "state"} {
		o := home(t, text)
		if full == "settings" {
			o.Home = filepath.Join(small, "home")
			must(t, os.MkdirAll(o.Home, 0o700))
			put(t, o, text)
		} else {
			o.StateDir = filepath.Join(small, "state")
			must(t, os.MkdirAll(filepath.Join(o.StateDir, "install"), 0o700))
		}
		p, err := Install(o)
		must(t, err)
		filler := filepath.Join(small, "filler")
		_ = os.WriteFile(filler, bytes.Repeat([]byte("x"), 1<<20), 0o600) // as much as goes
		if _, err := p.Apply(); err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", full, err)
		}
		wantSame(t, full, get(t, o), text)
		leftovers(t, filepath.Dir(settingsPath(o)))
		leftovers(t, filepath.Join(o.StateDir, "install"))
		if memories, _ := filepath.Glob(filepath.Join(o.StateDir, "install", "*.json")); len(memories) != 0 {
			t.Errorf("%s: something is remembered that did not happen", full)
		}
		must(t, os.Remove(filler))
		// With space it goes on as if nothing had been.
		apply(t, Install, o)
		apply(t, Uninstall, o)
		wantSame(t, full, get(t, o), text)
	}
}
