package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// minFiles is how many descriptors a broker needs: the streams, history and what they open for a
// moment, and a few of everything else.
const minFiles = 128

// connLimits are how many connections of each kind may be open at once, so that together they leave
// the streams the descriptors for their files. Anybody on the machine can connect, and streams that
// cannot open their files are worse than a page that cannot be opened, or a hook that abstains.
type connLimits struct {
	unix, tcp       int // connections
	phone           int // connections of phones that come by a listener of their own
	waiting, remote int // hooks that wait: on both, and of them over TCP
	sockets         int // WebSockets, over TCP too
	readers, hookd  int // connections to the event stream and to the hookd socket
}

// limitsOf divides a number of file descriptors. Hooks that wait leave an eighth of the socket's connections to
// plain events; over TCP they and the WebSockets leave a quarter to everything else.
func limitsOf(files uint64) (connLimits, error) {
	if files < minFiles {
		return connLimits{}, fmt.Errorf("this process may open %d files at most, and a broker needs %d. Raise the limit: ulimit -n 1024 in the shell that starts it, LimitNOFILE=1024 in a systemd unit, --ulimit nofile=1024 for a container", files, minFiles)
	}
	own := max(64, files/8)
	rest := files - own
	var r connLimits
	r.tcp = int(min(22_000, rest/3))
	r.unix = int(min(24_000, rest-rest/3))
	r.phone = min(256, max(5, r.unix/16))
	r.unix -= r.phone
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

// limitMemory bounds the data of this process, for a process that reads the answers of strangers' servers.
func limitMemory() {
	const most = 512 << 20
	var now syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &now) != nil || now.Max < most {
		return // it is bounded already
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: now.Max}) // a help where there is one
}

// giveBackMemory returns what a burst needed to the system once it is over: a broker idles for
// hours, and without traffic nothing else would make the collector run.
func giveBackMemory(ctx context.Context) error {
	t := time.NewTicker(5 * time.Second)
	defer t.Stop()
	var seen, done uint32 // collections at the last look, and after the last return
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.NumGC == seen && m.NumGC != done { // quiet since the last look
			runtime.GC() // pools give up what they hold at the second collection only
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			done = m.NumGC
		}
		seen = m.NumGC
	}
}
