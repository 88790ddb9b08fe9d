package peercred

import (
	"errors"
	"syscall"
)

// unknown is what a socket says that has no other end: a TCP connection for one.
const unknown = ^uint32(0)

func peer(fd uintptr) (uid uint32, pid int, err error) {
	cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	if cred.Uid == unknown {
		return 0, 0, errors.New("no unix socket")
	}
	return cred.Uid, int(cred.Pid), nil
}
