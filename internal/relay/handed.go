package relay

import (
	"context"
	"net"
	"sync"
)

// handed is a listener of connections that are handed to it.
type handed struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newHanded() *handed { return &handed{conns: make(chan net.Conn), done: make(chan struct{})} }

// give hands c over; false: the listener or ctx is done.
func (h *handed) give(ctx context.Context, c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.done:
	case <-ctx.Done():
	}
	return false
}

// Accept is that of net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close is that of net.Listener.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr is that of net.Listener.
func (h *handed) Addr() net.Addr { return &net.TCPAddr{} }

// ownConn is a connection to the relay itself. It leaves its gate when it is closed, if not before.
type ownConn struct {
	net.Conn
	visitor *visitor
	once    sync.Once
	done    chan struct{}
}

// Close is that of net.Conn.
func (c *ownConn) Close() error {
	c.once.Do(func() {
		c.visitor.leave()
		close(c.done)
	})
	return c.Conn.Close()
}
