package torture

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link carries the connections from one process to another. While it is cut nothing passes, and nobody is told,
// as in a network; connections that were there then end when it is repaired.
type link struct {
	from, to string // names of processes
	target   string
	listener net.Listener
	whole    atomic.Bool
	slow     atomic.Int64 // nanoseconds that each piece takes

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu; both ends of each; true: it lived through a cut
	done  sync.WaitGroup
}

func newLink(from, to, target string) (*link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	x := &link{from: from, to: to, target: target, listener: l, conns: map[net.Conn]bool{}}
	x.whole.Store(true)
	x.done.Go(x.accept)
	return x, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.done.Go(func() { l.carry(c) })
	}
}

// carry passes bytes both ways until either side ends.
func (l *link) carry(from net.Conn) {
	defer from.Close()
	if !l.keep(from) {
		return
	}
	defer l.drop(from)
	for !l.whole.Load() { // who connects into nothing waits
		time.Sleep(50 * time.Millisecond)
		if !l.has(from) {
			return
		}
	}
	to, err := net.DialTimeout("tcp", l.target, time.Second)
	if err != nil || !l.keep(to) {
		return
	}
	defer to.Close()
	defer l.drop(to)
	var both sync.WaitGroup
	both.Go(func() { l.pass(to, from) })
	both.Go(func() { l.pass(from, to) })
	both.Wait()
}

func (l *link) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		for !l.whole.Load() {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Duration(l.slow.Load()))
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		c.Close()
		return false
	}
	l.conns[c] = false
	return true
}

func (l *link) has(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.conns[c]
	return ok
}

func (l *link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// set cuts the link, or repairs it: what was connected through the cut is lost then.
func (l *link) set(whole bool) {
	if l.whole.Load() == whole {
		return
	}
	if whole {
		l.mu.Lock()
		for c := range l.conns {
			c.Close()
			delete(l.conns, c)
		}
		l.mu.Unlock()
	}
	l.whole.Store(whole)
}

func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	for c := range l.conns {
		c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.whole.Store(true)
	l.done.Wait()
}
