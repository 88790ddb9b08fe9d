package main

import (
	"fmt"
	"os"
	"syscall"
)

// makeOwnDir makes a directory that only we can enter, or accepts one in which nobody but us
// and root can replace what we put there.
func makeOwnDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d), who could replace what is in it; choose another", dir, st.Uid)
	}
	if fi.Mode()&0o002 != 0 && fi.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("everybody can write to %s and so replace what is in it; choose a directory of your own, or chmod o-w", dir)
	}
	return nil
}

// shared reports whether others can put something into dir under a name that is free: a link
// for us to write through, or a socket that answers hooks while we are away. /tmp is such a one.
func shared(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.Mode()&0o002 != 0
}
