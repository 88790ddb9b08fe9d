package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a repository wrote into its settings is shown at a terminal, not obeyed by it.
func TestPrintIsFitForATerminal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "home", ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}// \x1b[2Jhidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := converse(t, dir, "uninstall", "--print")
	if screen := d.sees("exit 0"); !strings.Contains(screen, "{}// ⟦U+001B⟧[2Jhidden") {
		t.Errorf("the screen:\n%s", screen)
	}
}
