package relay

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// gate bounds the connections that have not shown yet what they are for, all of them and those of one source.
// A source that has too many gets no more. When there are too many of all, the oldest is closed for the new
// one: what is honest has passed long before it is the oldest.
type gate struct {
	max, perSource int

	mu     sync.Mutex
	line   list.List            // of *visitor, oldest first; guarded by mu
	bySrc  map[netip.Prefix]int // guarded by mu
	pushed uint64               // closed for others; guarded by mu
}

// visitor is a connection within a gate.
type visitor struct {
	of     *gate
	conn   net.Conn
	source netip.Prefix
	at     *list.Element // nil: it has left; guarded by of.mu
}

// enter lets a connection in, or returns nil: its source has too many already.
func (g *gate) enter(c net.Conn, source netip.Prefix) *visitor {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bySrc[source] >= g.perSource {
		return nil
	}
	if g.line.Len() >= g.max {
		oldest := g.line.Front().Value.(*visitor)
		oldest.leaveLocked()
		g.pushed++
		_ = oldest.conn.Close() // TCP: this does not wait
	}
	if g.bySrc == nil {
		g.bySrc = map[netip.Prefix]int{}
	}
	g.bySrc[source]++
	v := &visitor{of: g, conn: c, source: source}
	v.at = g.line.PushBack(v)
	return v
}

// leave takes the connection out; it stays open. It is harmless twice. It reports whether the connection was
// still in.
func (v *visitor) leave() bool {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.leaveLocked()
}

func (v *visitor) leaveLocked() bool {
	if v.at == nil {
		return false
	}
	v.of.line.Remove(v.at)
	v.at = nil
	if v.of.bySrc[v.source]--; v.of.bySrc[v.source] <= 0 {
		delete(v.of.bySrc, v.source)
	}
	return true
}

// takePushed is how many were closed for others since the last call.
func (g *gate) takePushed() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.pushed
	g.pushed = 0
	return n
}

// network is what one caller can choose its address from: an address of IPv4, a /64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	bits := 32
	if a = a.Unmap().WithZone(""); a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil { // the invalid address
		return netip.Prefix{}
	}
	return p
}
