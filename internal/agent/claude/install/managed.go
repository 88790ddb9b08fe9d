package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// managedOnly is the setting that only managed settings may have: hooks of all others do not run (Claude
// Code's documentation, and seen with 2.1.329).
const managedOnly = "allowManagedHooksOnly"

// managedDir is where Claude Code looks for the settings of a machine's administrator.
func managedDir() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode"
	}
	return "/etc/claude-code"
}

// only has no hooks run but the managed ones, and reports whether that is new.
func (d *document) only() (added bool, err error) {
	v := last(d.root(), managedOnly)
	switch {
	case v == nil:
		d.addMember(d.root(), "", managedOnly, "true")
		return true, nil
	case d.managedOnly():
		return false, nil
	}
	return false, fmt.Errorf("%s says %s: %s; take that out first", d.path, managedOnly, packed(*v))
}

func (d *document) managedOnly() bool {
	v := last(d.root(), managedOnly)
	return v != nil && string(packed(*v)) == "true"
}

// unonly undoes only.
func (d *document) unonly(added bool) {
	if added && d.managedOnly() {
		cutMember(d.root(), lastIndex(d.root(), managedOnly))
	}
}

// RootsAlone says why a program is not fit to run for all users of a machine: another user could put
// something else into its place. nil if only root could.
func RootsAlone(program string) error {
	for path := program; ; path = filepath.Dir(path) {
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			if err := RootsAlone(real); err != nil {
				return err
			}
		} else if fi.Mode().Perm()&0o022 != 0 && (fi.Mode()&fs.ModeSticky == 0 || !fi.IsDir()) {
			return fmt.Errorf("%s can be written by others than root", path)
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return fmt.Errorf("%s is not root's", path)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// errOnly says that OnlyManaged was asked of settings that cannot have it.
var errOnly = errors.New("only managed settings can switch other hooks off")
