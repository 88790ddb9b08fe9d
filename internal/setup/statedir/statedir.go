// Package statedir makes the state directory and others that must be ours alone, and reads the small files in them.
package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
	"assent/internal/text/digest"
)

// Make makes a directory that only we can enter, or accepts one in which nobody but us
// and root can replace what we put there.
func Make(dir string) error {
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

// Shared reports whether others can put something into dir under a name that is free: a link
// for us to write through, or a socket that answers hooks while we are away. /tmp is such a one.
func Shared(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.Mode()&0o002 != 0
}

// BootID is a random text of the kernel's, one for every start of the machine, and the same for all
// containers on it.
const BootID = "/proc/sys/kernel/random/boot_id"

// HostID names this machine in the submitters of its users. Brokers on one machine have one, those
// on two never: who is 1000 here is another one there. A new start of the machine is another
// machine: no agent that asked before it is there to tell anything. Where the kernel has no such
// text the id is random and kept in the state directory.
func HostID(stateDir, bootID string) (string, error) {
	if text, err := os.ReadFile(bootID); err == nil && strings.TrimSpace(string(text)) != "" {
		return digest.Of([]byte("assent host " + strings.TrimSpace(string(text))))[:16], nil
	}
	return ID(filepath.Join(stateDir, "host-id"), 16, "this machine")
}

// ID is the id in a file; where there is none, a random one of that many characters, which it holds from then on.
// what it is the id of is for errors.
func ID(path string, characters int, what string) (string, error) {
	text, err := ReadFile(path, maxID)
	if id := strings.TrimSpace(string(text)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the id of %s: %w", what, err)
	}
	id := strings.ToLower(rand.Text())[:characters]
	if err := wholefile.Write(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep an id for %s: %w", what, err)
	}
	return id, nil
}

// maxID bounds a file with an id, in bytes.
const maxID = 4 << 10

// ReadFile reads a file of at most most bytes. What is no file, as a pipe that an agent put there, is not waited for.
func ReadFile(path string, most int64) ([]byte, error) {
	b, err := regular.Read(path, most, 0)
	if errors.Is(err, regular.ErrRefused) || errors.Is(err, regular.ErrLarge) {
		err = fmt.Errorf("%s is no file of at most %d bytes; remove it, and it is made anew", path, most)
	}
	return b, err
}
