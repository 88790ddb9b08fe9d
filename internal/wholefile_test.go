package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rename are the packages that may rename what they have written, and why. Whoever else replaces a file uses
// host/wholefile: most of twenty that did it themselves forgot to sync it.
var rename = map[string]string{
	"hookclient":               "it imports next to nothing, and shortens its spool",
	"internal/host/executor":   "a directory",
	"internal/host/hooksocket": "a socket",
	"internal/host/wholefile":  "it is how",
	"internal/setup/programs":  "directories, and a link",
	"internal/setup/update":    "programs that are staged, and directories",
	"internal/store/history":   "a database that is put aside",
	"internal/store/integrity": "it keeps the file open, or may not have the engine read the new one before its time",
}

// TestFilesAreReplacedInOneWay finds files that are put in place otherwise.
func TestFilesAreReplacedInOneWay(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"cmd", "broker", "hookclient", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel("..", path)
			name = filepath.ToSlash(name)
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/tool/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), "os.Rename(") {
				return err
			}
			pkg := name[:strings.LastIndexByte(name, '/')]
			if found[pkg] = true; rename[pkg] == "" {
				t.Errorf("%s renames a file: replace it with internal/host/wholefile", name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for pkg := range rename {
		if !found[pkg] {
			t.Errorf("%s renames nothing any more; take it out of the list", pkg)
		}
	}
}
