package secrets

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrdinaryFiles measures how many files of ordinary trees the list takes for secrets. ASSENT_TREES names
// directories, such as the cache of Go's modules and /usr/share, separated by spaces.
func TestOrdinaryFiles(t *testing.T) {
	trees := strings.Fields(os.Getenv("ASSENT_TREES"))
	if len(trees) == 0 {
		t.Skip("ASSENT_TREES names no directories")
	}
	total, taken := 0, 0
	for _, root := range trees {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			total++
			below, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			at, parts := Place{}, strings.Split(below, "/")
			for i, part := range parts {
				if at.Secret(part, i == len(parts)-1) {
					taken++
					t.Log(p)
					break
				}
				at = at.Below(part)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d of %d files, %.3f %%", taken, total, 100*float64(taken)/float64(max(total, 1)))
}
