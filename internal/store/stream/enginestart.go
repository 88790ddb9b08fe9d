package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startServer starts the embedded server. When the wanted port is taken it listens on a free
// one, and later starts want the same again.
func (e *engine) startServer(ctx context.Context) error {
	err := e.startOnce(ctx)
	if errors.Is(err, errPortTaken) { // by another program, after we had looked
		e.logf("%s: the port was taken meanwhile, listening on a free one", e.kind.name)
		e.setPort(server.RANDOM_PORT)
		err = e.startOnce(ctx)
	}
	return err
}

// errPortTaken is startOnce's error when the server could not listen.
var errPortTaken = errors.New("cannot listen")

func (e *engine) startOnce(ctx context.Context) error {
	if host, port := e.address(); port > 0 && !portFree(host, port) {
		e.logf("%s: port %d of %s is taken, listening on a free one", e.kind.name, port, host)
		e.setPort(server.RANDOM_PORT)
	}
	opts, err := e.options()
	if err != nil {
		return err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("start the %s server in %s: %w", e.kind.name, e.dir, err)
	}
	srv.SetLoggerV2(&serverLog{e}, false, false, false)
	e.mu.Lock()
	e.srv, e.serving, e.fatal = srv, false, nil
	e.mu.Unlock()
	started := make(chan struct{})
	go func() {
		defer close(started)
		srv.Start() // returns once the server runs; WaitForShutdown waits for the rest
	}()
	timeout := startTimeout
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d))
	}
	if ready, err := e.readyWithin(srv, started, timeout); !ready || !srv.JetStreamEnabled() {
		if err == nil {
			err = fmt.Errorf("not ready after %v", timeout)
		}
		e.stopServer()
		return fmt.Errorf("start the %s server in %s: %w", e.kind.name, e.dir, err)
	}
	e.mu.Lock()
	e.serving = true
	e.mu.Unlock()
	if e.kind.listen != "" {
		if addr, ok := srv.Addr().(*net.TCPAddr); ok {
			e.setPort(addr.Port)
		}
	}
	return nil
}

// readyWithin waits until srv serves, or has said why it never will. It asks the server only when that has started:
// a server that listens and is asked too early looks again after 25 ms.
func (e *engine) readyWithin(srv *server.Server, started <-chan struct{}, timeout time.Duration) (bool, error) {
	for end := time.Now().Add(timeout); ; {
		look := min(100*time.Millisecond, max(time.Until(end), 0))
		select {
		case <-started:
			if srv.ReadyForConnections(look) {
				return true, nil
			}
		case <-time.After(look):
		}
		e.mu.Lock()
		err := e.fatal
		e.mu.Unlock()
		if err != nil || time.Now().After(end) {
			return false, err
		}
	}
}
