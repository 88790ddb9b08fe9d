// Package peercred tells which user is at the other end of a unix socket, by the kernel's word.
//
// It knows Linux only. Elsewhere UID says errors.ErrUnsupported, and what the socket's mode lets in
// has to do. It is on the hook client's start-up path: standard library, and little of that.
package peercred

import (
	"errors"
	"net"
	"syscall"
)

// UID is the effective user id of the other end: of whoever connected, or, seen from there, of
// whoever listened, both as they were at that moment. A user that this one's namespace does not
// know is 65534. errors.ErrUnsupported where the system does not tell, any other error where c is
// no unix socket or is closed.
func UID(c net.Conn) (uint32, error) {
	uid, _, err := Process(c)
	return uid, err
}

// Process is UID, with the process that connected or called listen; 0 for one that this process's pid
// namespace does not know.
func Process(c net.Conn) (uid uint32, pid int, err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return 0, 0, errors.New("no socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, pid, failed = peer(fd) }); err != nil {
		return 0, 0, err
	}
	return uid, pid, failed
}
