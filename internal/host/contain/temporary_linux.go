//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
// owner, and however deep they lie: what is in a directory is moved up to the top before it. No link is followed,
// for where a run ended in the middle its processes may still be dying. What cannot be removed the system clears
// one day: there is nobody to tell.
func removeTree(dir string) {
	top, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return // it is gone
	}
	defer unix.Close(top)
	moved := 0
	for {
		all, removed := listed(top), 0
		for _, e := range all {
			if unix.Unlinkat(top, e.name, 0) == nil || unix.Unlinkat(top, e.name, unix.AT_REMOVEDIR) == nil {
				removed++
				continue
			}
			sub, err := openShut(top, e.name)
			if err != nil {
				continue
			}
			for _, in := range listed(sub) {
				if unix.Unlinkat(sub, in.name, 0) == nil || unix.Unlinkat(sub, in.name, unix.AT_REMOVEDIR) == nil {
					removed++
					continue
				}
				// A directory can be moved only by who may write it.
				if d, err := openShut(sub, in.name); err == nil {
					unix.Close(d)
				}
				if moved++; unix.Renameat(sub, in.name, top, movedName+strconv.Itoa(moved)) == nil {
					removed++
				}
			}
			unix.Close(sub)
			if unix.Unlinkat(top, e.name, unix.AT_REMOVEDIR) == nil {
				removed++
			}
		}
		if removed == 0 {
			break
		}
	}
	_ = unix.Rmdir(dir)
}

// movedName is how the names of directories begin that are moved up to be removed.
const movedName = ".assent-contain-moved-"

// listed are the entries of a directory, as far as it tells them.
func listed(fd int) (all []entry) {
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return nil
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if n <= 0 || err != nil {
			return all
		}
		for b := buf[:n]; len(b) > 0; {
			var e entry
			if e, b = dirent(b); e.name != "." && e.name != ".." && e.name != "" {
				all = append(all, e)
			}
		}
	}
}

// openShut opens a directory after its owner may do everything in it.
func openShut(fd int, name string) (int, error) {
	// By the descriptor in /proc no link is followed; chmod with AT_SYMLINK_NOFOLLOW needs Linux 6.6.
	at, err := unix.Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(at), 0o700) // what stays shut is left
	return unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
