package main

import (
	"fmt"
	"syscall"
)

// minFiles is how many descriptors a broker needs: the streams, history and what they open for a
// moment, and a few of everything else.
const minFiles = 128

// room is how many of everything may be open at once, so that together they leave the streams the
// descriptors for their files. Anybody on the machine can connect, and streams that cannot open
// their files are worse than a page that cannot be opened, or a hook that abstains.
type room struct {
	unix, tcp       int // connections
	waiting, remote int // hooks that wait: on both, and of them over TCP
	sockets         int // WebSockets, over TCP too
	readers, hookd  int // connections to the event stream and to the hookd socket
}

// roomOf divides files descriptors. Hooks that wait leave an eighth of the socket's connections to
// plain events; over TCP they and the WebSockets leave a quarter to everything else.
func roomOf(files uint64) (room, error) {
	if files < minFiles {
		return room{}, fmt.Errorf("this process may open %d files at most, and a broker needs %d. Raise the limit: ulimit -n 1024 in the shell that starts it, LimitNOFILE=1024 in a systemd unit, --ulimit nofile=1024 for a container", files, minFiles)
	}
	own := max(64, files/8)
	rest := files - own
	var r room
	r.tcp = int(min(22_000, rest/3))
	r.unix = int(min(24_000, rest-rest/3))
	r.remote, r.sockets = r.tcp/2, min(1024, r.tcp/4)
	r.waiting = min(20_000, r.unix-r.unix/8)
	r.readers, r.hookd = int(min(1024, own/4)), int(min(128, own/4))
	return r, nil
}

// openFiles is how many descriptors this process may have. The Go runtime has raised the limit as
// far as it goes.
func openFiles() uint64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 1024
	}
	return uint64(files.Cur)
}
