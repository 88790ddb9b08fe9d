// Package hooksocket listens for hooks on a unix socket that is never missing while a broker runs.
package hooksocket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"assent/internal/setup/statedir"
)

// Socket is a listener for hooks. It stands under its path until Remove.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo // as it was made
	gone sync.Once
}

// There is nil if the socket under the path is ours. What tidies up directories for temporary
// files may take it away under a running broker; hooks then find none and give up.
func (s *Socket) There() error {
	fi, err := os.Lstat(s.path)
	if err != nil {
		return fmt.Errorf("the hook socket is gone, restart the broker: %w", err)
	}
	if !os.SameFile(fi, s.file) {
		return fmt.Errorf("%s is not this broker's socket any more; restart the broker", s.path)
	}
	return nil
}

// Remove takes the socket away, once: later another broker's may stand there.
func (s *Socket) Remove() { s.gone.Do(func() { os.Remove(s.path) }) }

// Listen opens a socket for hooks, 0600, or 0660 for a group; flag is the one that names it. A socket that nobody answers is
// what a killed broker left, and is replaced; one that answers belongs to another broker.
//
// The new socket takes the old one's place in one step: a hook that finds no socket file gives
// up at once, so there must be no moment without one.
func Listen(flag, path, group string) (*Socket, error) {
	if err := statedir.Make(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("directory of the socket: %w", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("another broker answers on %s; stop it or choose another %s", path, flag)
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is there and is no socket; choose another %s", path, flag)
	}
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove %s: %w", tmp, err)
	}
	// The mode must be right from the first moment on, not after a chmod.
	old := syscall.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; a socket's path may have 103 bytes", path, err)
	}
	l.SetUnlinkOnClose(false)
	if group != "" {
		err = giveGroup(tmp, group)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	var fi os.FileInfo
	if err == nil {
		fi, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		os.Remove(tmp)
		return nil, fmt.Errorf("open the hook socket: %w", err)
	}
	return &Socket{UnixListener: l, path: path, file: fi}, nil
}

// GroupError says that there is no group that could have the socket.
type GroupError struct{ err error }

func (e *GroupError) Error() string { return "--socket-group: " + e.err.Error() }
func (e *GroupError) Unwrap() error { return e.err }

func giveGroup(path, group string) error {
	g, err := user.LookupGroup(group)
	if err != nil {
		return &GroupError{err}
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("group id %s: %w", g.Gid, err)
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("give %s to group %s: %w", path, group, err)
	}
	return os.Chmod(path, 0o660)
}
