package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Slots is a listener with a bound on its open connections: otherwise they could take the descriptors
// that the streams need for their files. Each connection has a slot, to which HTTPServer reports what
// the connection is doing.
//
// A connection that comes when all slots are taken is never left in the kernel's queue, where a hook
// would wait for its whole time. Another connection is closed for it, the oldest first: one that is idle
// or whose caller is not authenticated; if there is none, one whose hook's event is being taken. So strangers and hooks do not keep approvers out. Hooks that wait for an answer and
// WebSockets stay: those have bounds of their own, below this one. If none can be closed, the new
// connection gets an error and is closed.
type Slots struct {
	net.Listener
	max   int
	full  []byte // written to a connection that gets no slot; nil: nothing
	evict bool

	refused, evicted atomic.Uint64

	coming chan struct{} // full when mostComing connections are at the stage of meter

	mu   sync.Mutex
	open int                       // guarded by mu
	line [servesHook + 1]list.List // of *slot, guarded by mu: those that may be closed, oldest first
}

// Bound lets l have at most max connections at a time. Without makesRoom none is closed for another.
// The connections must speak HTTP in the clear, or quiet must be set, and nothing is written to them.
func Bound(l net.Listener, max int, makesRoom, quiet bool) *Slots {
	s := &Slots{Listener: l, max: max, evict: makesRoom, coming: make(chan struct{}, mostComing)}
	if !quiet {
		s.full = []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
	return s
}

// Accept returns the next connection for which there is a slot.
func (s *Slots) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if x := s.take(c); x != nil {
			s.meter(x)
			return x, nil
		}
		s.refused.Add(1)
		if s.full != nil {
			// A few bytes into an empty buffer: this does not wait. What the other side has sent is
			// not read; even so it reads this before it sees the connection close.
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(s.full)
		}
		_ = c.Close()
	}
}

// A connection that has just come needs far more memory than one whose hook waits: net/http's buffers and stack, and all
// that its event is read into. Of thousands that come at once only mostComing are at that stage; else what they leave
// behind lies between what lives on, and an engine that has to take all of them at once takes none. The next one waits
// for another to be through, but never longer than comesWithin: what stands still must not keep the others out.
const (
	mostComing  = 256
	comesWithin = 2 * time.Millisecond
)

// meter waits until x may come. Accept calls it, for one connection at a time.
func (s *Slots) meter(x *slot) {
	counted := true
	select {
	case s.coming <- struct{}{}:
	default:
		limit := time.NewTimer(comesWithin)
		defer limit.Stop()
		select {
		case s.coming <- struct{}{}:
		case <-limit.C:
			counted = false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.coming = counted; x.gone { // closed for another meanwhile
		x.cameLocked()
	}
}

// cameLocked is for a connection that has its first answer, or waits for it, or is closed.
func (x *slot) cameLocked() {
	if x.coming {
		x.coming = false
		<-x.of.coming
	}
}

// take gives c a slot, nil if there is none.
func (s *Slots) take(c net.Conn) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.max {
		oldest := s.line[idle].Front()
		if oldest == nil {
			oldest = s.line[servesHook].Front()
		}
		if oldest == nil {
			return nil
		}
		s.evicted.Add(1)
		oldest.Value.(*slot).leaveLocked()
		// In a goroutine that ends with it: closing a TLS connection may take a moment.
		go oldest.Value.(*slot).Conn.Close()
	}
	s.open++
	x := &slot{Conn: c, of: s}
	x.setLocked(idle)
	return x
}

// Collectors are the metrics of the listeners, by name.
func SlotMetrics(listeners map[string]*Slots) []prometheus.Collector {
	var all []prometheus.Collector
	for name, s := range listeners {
		label := prometheus.Labels{"listener": name}
		all = append(all,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_connections", Help: "Open connections.", ConstLabels: label}, func() float64 { return float64(s.Open()) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assent_connections_refused_total", Help: "Connections closed because there was no room for them, or to make room for another.", ConstLabels: label},
				func() float64 { return float64(s.refused.Load() + s.evicted.Load()) }))
	}
	return all
}

// Open is how many connections are open.
func (s *Slots) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// slot is a connection that has one.
type slot struct {
	net.Conn
	of *Slots

	// Guarded by of.mu.
	gone   bool // it has no slot any more
	coming bool // it counts in of.coming
	use    use
	at     *list.Element // its place in the line of its use; nil: in none
}

// NetConn is the connection itself.
func (x *slot) NetConn() net.Conn { return x.Conn }

// Close gives the slot back.
func (x *slot) Close() error {
	x.of.mu.Lock()
	x.leaveLocked()
	x.of.mu.Unlock()
	return x.Conn.Close()
}

func (x *slot) leaveLocked() {
	x.setLocked(stays)
	x.cameLocked()
	if !x.gone {
		x.gone = true
		x.of.open--
	}
}

// use is what a connection is doing, and so whether it may be closed for another.
type use int

const (
	idle       use = iota // between requests, or its caller is not authenticated
	servesHook            // a hook's event is here as a whole, and will be answered or wait
	stays
)

// setLocked notes the use of a connection that has a slot.
func (x *slot) setLocked(now use) {
	if x.gone || now == x.use && x.at != nil {
		return
	}
	if x.at != nil {
		x.of.line[x.use].Remove(x.at)
		x.at = nil
	}
	if x.use = now; now != stays && x.of.evict {
		x.at = x.of.line[now].PushBack(x)
	}
}

func (x *slot) set(now use) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.setLocked(now)
}

// came is set for a connection that is through with its first request.
func (x *slot) came(now use) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.cameLocked()
	x.setLocked(now)
}

// slotOf finds the slot of what net/http calls a connection, nil without one.
func slotOf(c net.Conn) *slot {
	for {
		switch x := c.(type) {
		case *slot:
			return x
		case interface{ NetConn() net.Conn }: // TLS
			c = x.NetConn()
		default:
			return nil
		}
	}
}

type slotKey struct{}

func withSlot(ctx context.Context, c net.Conn) context.Context {
	if x := slotOf(c); x != nil {
		return context.WithValue(ctx, slotKey{}, x)
	}
	return ctx
}

// connState follows a connection. A hijacked one waits, or is a WebSocket.
func connState(c net.Conn, st http.ConnState) {
	if x := slotOf(c); x != nil {
		switch st {
		case http.StateIdle:
			x.came(idle)
		case http.StateHijacked:
			x.came(stays)
		}
	}
}

// uses notes what the connection of r does until it is idle again.
func uses(r *http.Request, now use) {
	if x, ok := r.Context().Value(slotKey{}).(*slot); ok {
		x.set(now)
	}
}
