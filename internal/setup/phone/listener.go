package phone

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How often the broker looks at the door's file, tries again to listen, and says that a certificate ends.
const (
	doorLook  = time.Second
	doorRetry = 10 * time.Second
	doorWarn  = 24 * time.Hour
)

// Listener follows the door of the state directory while the broker runs: phones reach the page by it from one
// moment to the next, and requests that wait notice nothing. It is a listener whose address may come, change
// and go. Whatever is wrong with it costs the phone, never the agent.
type Listener struct {
	stateDir string
	reach    func(urls []string, proxies []netip.Prefix) error
	warn     func(format string, args ...any)

	conns chan net.Conn
	done  chan struct{} // closed by Close
	close sync.Once
	cert  atomic.Pointer[tls.Certificate]

	// Owned by Follow, then by Run.
	seen    doorStamp
	door    *Door     // that is in force; nil: none
	open    *openDoor // nil: nothing is listened on
	retryAt time.Time
	said    string // of a listener that fails
	warned  time.Time
}

// doorStamp tells one state of the file from another.
type doorStamp struct {
	there bool
	at    time.Time
	size  int64
	inode uint64
}

// NewListener returns one for the door of a state directory. warn says what the operator should know.
// Nothing happens before Follow.
func NewListener(stateDir string, warn func(format string, args ...any)) *Listener {
	return &Listener{stateDir: stateDir, warn: warn, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Follow puts the door in force that is there now. reach hears of each change: by which URLs phones reach
// the page, and which proxies stand before it. Call it once, before Run.
func (d *Listener) Follow(reach func(urls []string, proxies []netip.Prefix) error) {
	d.reach = reach
	d.look(time.Now())
}

// Run follows the file until ctx is done.
func (d *Listener) Run(ctx context.Context) error {
	tick := time.NewTicker(doorLook)
	defer tick.Stop()
	defer d.shut()
	for {
		d.look(time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look takes a file that has changed, and tries again what failed.
func (d *Listener) look(now time.Time) {
	if stamp := stampOf(File(d.stateDir)); stamp != d.seen {
		d.seen, d.said, d.warned, d.retryAt = stamp, "", time.Time{}, time.Time{}
		d.take()
	}
	if d.door == nil || d.door.Way != Home {
		return
	}
	if d.open == nil && !now.Before(d.retryAt) {
		d.retryAt = now.Add(doorRetry)
		l, err := net.Listen("tcp", d.door.Listen)
		switch {
		case err == nil:
			d.said = ""
			d.open = newOpenDoor(l, d.conns, d.done)
		case d.said != err.Error():
			d.said = err.Error()
			d.warn("phones do not reach the page: %v; it is tried again, and after a move to another network: assent phone", err)
		}
	}
	if left := d.door.Ends().Sub(now); left < Soon && now.Sub(d.warned) > doorWarn {
		d.warned = now
		d.warn("the certificate for phones ends on %s; for a new one: assent phone", d.door.Ends().Local().Format(time.DateOnly))
	}
}

// take puts what the file says now in force.
func (d *Listener) take() {
	door, err := Load(d.stateDir)
	if err != nil {
		door = nil
		if !errors.Is(err, fs.ErrNotExist) {
			d.warn("phones do not reach the page: %v", err)
		}
	}
	d.shut()
	var urls []string
	var proxies []netip.Prefix
	if door != nil {
		urls, proxies = door.URLs(), door.Proxies()
		cert, err := door.Certificate()
		if err != nil { // Load has looked at it
			return
		}
		d.cert.Store(cert)
	}
	if err := d.reach(urls, proxies); err != nil {
		d.warn("phones do not reach the page: %v", err)
		return
	}
	d.door = door
}

// shut ends what phones have open.
func (d *Listener) shut() {
	if d.open != nil {
		d.open.shut()
	}
	d.open, d.door = nil, nil
}

// TLS is for the server of this listener.
func (d *Listener) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if cert := d.cert.Load(); cert != nil {
			return cert, nil
		}
		return nil, errors.New("no certificate for phones")
	}}
}

// Accept returns the next connection of whatever address is open then.
func (d *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (d *Listener) Close() error {
	d.close.Do(func() { close(d.done) })
	return nil
}

// Addr is no address: there may be none.
func (d *Listener) Addr() net.Addr { return &net.TCPAddr{} }

// openDoor is one address while it is open, and who came in by it.
type openDoor struct {
	net.Listener
	mu    sync.Mutex
	conns map[*doorConn]bool // guarded by mu; nil once it is shut
}

func newOpenDoor(l net.Listener, to chan<- net.Conn, done <-chan struct{}) *openDoor {
	o := &openDoor{Listener: l, conns: map[*doorConn]bool{}}
	go o.accept(to, done)
	return o
}

// accept passes connections on until the listener is closed. One that waits to be taken holds up the next.
func (o *openDoor) accept(to chan<- net.Conn, done <-chan struct{}) {
	for {
		c, err := o.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, for one: not worth the door
			time.Sleep(100 * time.Millisecond)
			continue
		}
		x := &doorConn{c, o}
		if !o.take(x) {
			c.Close()
			return
		}
		select {
		case to <- x:
		case <-done:
			x.Close()
			return
		}
	}
}

func (o *openDoor) take(c *doorConn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conns == nil {
		return false
	}
	o.conns[c] = true
	return true
}

// shut closes the listener, and every connection that came in by it: also WebSockets, of which a server
// knows nothing any more.
func (o *openDoor) shut() {
	o.Close()
	o.mu.Lock()
	conns := o.conns
	o.conns = nil
	o.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// doorConn is forgotten once it is closed.
type doorConn struct {
	net.Conn
	of *openDoor
}

func (c *doorConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func stampOf(path string) doorStamp {
	fi, err := os.Stat(path)
	if err != nil {
		return doorStamp{}
	}
	stamp := doorStamp{there: true, at: fi.ModTime(), size: fi.Size()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		stamp.inode = st.Ino
	}
	return stamp
}
