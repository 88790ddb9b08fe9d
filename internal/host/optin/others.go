package optin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

func owner(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(uid)
}

func groupName(fi fs.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "of the file"
	}
	gid := strconv.Itoa(int(st.Gid))
	if g, err := user.LookupGroupId(gid); err == nil {
		return g.Name
	}
	return gid
}

// Others is why somebody but this user and root can change what is at path, an absolute one without
// links, or can put something else there; nil if nobody can. Access lists count: where there is one the
// bits of the group are the most that it gives to anybody.
func Others(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		fi, err := os.Lstat(at)
		if err != nil {
			return err
		}
		// In a parent that is sticky nobody can move away what is not theirs.
		if err := writers(at, fi, at != path); err != nil {
			return err
		}
		if at == "/" {
			return nil
		}
	}
}

// writers is Others for one path, without its parents.
func writers(path string, fi fs.FileInfo, stickySuffices bool) error {
	if fi.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link; name what it leads to", path)
	}
	if uid := owner(fi); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to %s, who can change it", path, userName(uid))
	}
	if stickySuffices && fi.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	switch {
	case fi.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("everybody can write to %s", path)
	case fi.Mode().Perm()&0o020 != 0:
		return fmt.Errorf("the group %s can write to %s", groupName(fi), path)
	}
	return nil
}

// maxEntries bounds the files of a project that are looked at.
const maxEntries = 200_000

// errEnough ends a walk.
var errEnough = errors.New("enough")

// below counts the files and directories below dir that somebody but this user and root can write to, and
// returns why for the first one. all is false where there are more files than are looked at.
func below(dir string) (found int, all bool, first error) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxEntries {
			return errEnough
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && path != dir {
				return nil // it went away meanwhile
			}
			return fmt.Errorf("look at %s: %w", path, err)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return nil // whoever can change where it leads can write to its directory
		}
		fi, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if why := writers(path, fi, false); why != nil {
			if found++; first == nil {
				first = why
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return max(found, 1), true, err
	}
	return found, err == nil, first
}
