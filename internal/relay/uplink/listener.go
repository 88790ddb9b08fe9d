package uplink

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Addr is where a connection comes from by the relay's word, which nothing confirms. Its text begins with
// "relay:", so that nobody takes it for the address of a peer.
type Addr struct{ From netip.AddrPort }

// AddrPrefix begins the text of an Addr.
const AddrPrefix = "relay:"

// Network is that of net.Addr.
func (a Addr) Network() string { return "relay" }

func (a Addr) String() string { return AddrPrefix + a.From.String() }

// conn is a connection that a relay passed on.
type conn struct {
	net.Conn
	from netip.AddrPort
}

// RemoteAddr is an Addr.
func (c *conn) RemoteAddr() net.Addr { return Addr{c.from} }

// listener has the connections that were passed on.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newListener() *listener { return &listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// give hands c to whoever accepts; false: nobody does.
func (l *listener) give(c net.Conn) bool {
	t := time.NewTimer(openTime)
	defer t.Stop()
	select {
	case l.conns <- c:
		return true
	case <-l.done:
	case <-t.C:
	}
	return false
}

// Accept is that of net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close is that of net.Listener. Connections that were accepted stay.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is that of net.Listener.
func (l *listener) Addr() net.Addr { return Addr{} }
