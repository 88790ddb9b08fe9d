package hookclient

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// agentWatch tells when the agent has gone away: it (or its terminal) signals its hooks when
// the request was settled without them, and its end of our standard output closes when it is
// killed. Standard input proves nothing; it is closed as soon as the payload was written.
type agentWatch struct {
	ctx    context.Context // done when the agent is gone
	cancel context.CancelFunc
	stdout *os.File
	late   *time.Timer

	mu    sync.Mutex
	over  bool     // guarded by mu
	stops []func() // guarded by mu: one for each goroutine, returns when it ended
	heeds bool     // guarded by mu: signals has been called
}

// watchAgent begins to watch for signals after quietStart. Watching costs a fifth of the run
// of a plain event, which is usually over by then, and is not worth its time: a signal that
// ends such a run does no harm, the payload being on its way.
func watchAgent(stdout *os.File) *agentWatch {
	w := &agentWatch{stdout: stdout}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.late = time.AfterFunc(quietStart, w.signals)
	return w
}

// signals begins to take SIGTERM, SIGINT and SIGHUP as the agent's going.
func (w *agentWatch) signals() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.heeds {
		return
	}
	w.heeds = true
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ch:
			w.cancel()
		case <-end:
		}
	}()
	w.stops = append(w.stops, func() {
		signal.Stop(ch)
		close(end)
		<-ended
	})
}

// hangup begins to take a hang-up of standard output as the agent's going. Where it cannot be
// watched (a file never hangs up) nothing happens.
func (w *agentWatch) hangup() {
	raw, err := w.stdout.SyscallConn()
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	_ = raw.Control(func(fd uintptr) { // as above
		if stop := onHangup(int(fd), w.cancel); stop != nil {
			w.stops = append(w.stops, stop)
		}
	})
}

// stop ends the watch; it may be called again. Signals have their default effect from then on.
func (w *agentWatch) stop() {
	w.late.Stop()
	w.mu.Lock()
	w.over = true
	stops := w.stops
	w.stops = nil
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	w.cancel()
}

// ignoreBrokenPipes keeps a write to an agent that is gone from killing us with a signal.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }

// closeAll closes the descriptors of onHangup; -1 is none.
func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = syscall.Close(fd) // nothing was written
		}
	}
}
