//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// temporary makes the temporary directory: not in what is only to be read, where that can be helped.
func (c *command) temporary(roots []string) (err error) {
	dir, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil || slices.ContainsFunc(roots, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }) {
		dir = "/tmp"
	}
	if c.tmp, err = os.MkdirTemp(dir, temporaryName); err != nil {
		return Refusal("no temporary directory: " + err.Error())
	}
	return nil
}

// temporaryName is how the name of a temporary directory begins.
const temporaryName = "assent-contain-"

// Bounds of the temporary directory, which is looked at now and then.
const (
	maxTemporary = 256 << 20
	maxFiles     = 20_000
)

func full(dir string) bool {
	size, files := int64(0), 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it is gone
		}
		if err != nil {
			return err // it is shut, or too deep: what is in it is not known
		}
		if files++; files > maxFiles {
			return filepath.SkipAll
		}
		if fi, err := d.Info(); err == nil {
			size += fi.Size()
		}
		return nil
	})
	return err != nil || files > maxFiles || size > maxTemporary
}

// removeTree removes a temporary directory, those in it included that the command has shut against their
// owner. What cannot be removed the system clears one day: there is nobody to tell.
func removeTree(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// clean removes what a run leaves.
func (c *command) clean() {
	if c.group != nil {
		c.group.end()
	}
	if c.tmp != "" {
		removeTree(c.tmp)
	}
}
