package rabbit

import (
	"net"
	"sync"
	"time"
)

// readAhead is how many bytes are taken from RabbitMQ while what came before is stored.
const readAhead = 8 << 20

// gate bounds what a connection reads ahead of its user. RabbitMQ bounds that by the number of
// messages only, and the library keeps all that it reads in memory. While the user waits for a
// message everything is read, for there may be half of one; else no more than readAhead, and the
// rest stays with RabbitMQ.
type gate struct {
	mu    sync.Mutex
	moved sync.Cond
	ahead int  // guarded by mu; bytes that were read and not taken, about
	waits bool // guarded by mu; the user waits for a message
	off   bool // guarded by mu
}

func newGate() *gate {
	g := &gate{}
	g.moved.L = &g.mu
	return g
}

// await returns when more may be read, and whether that took a while.
func (g *gate) await() (held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.ahead >= readAhead && !g.waits && !g.off {
		held = true
		g.moved.Wait()
	}
	return held
}

func (g *gate) read(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ahead += n
}

// wait says that the user waits for a message, and take that it has one of n bytes, or none. What
// is around the bytes on the line is guessed, and a bit too much rather than too little: what is
// left over would add up.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits = true
	g.moved.Broadcast()
}

func (g *gate) take(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits = false
	if n > 0 {
		g.ahead = max(0, g.ahead-n-n/256-256)
		g.moved.Broadcast()
	}
}

// lift ends it.
func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.off = true
	g.moved.Broadcast()
}

// gatedConn reads through a gate.
type gatedConn struct {
	net.Conn
	gate *gate

	mu       sync.Mutex
	deadline time.Time // guarded by mu; of reading
}

func (c *gatedConn) Read(b []byte) (int, error) {
	begun := time.Now()
	if c.gate.await() {
		// The library's deadline, by which a heartbeat has to come, was not meant for this time.
		c.mu.Lock()
		deadline := c.deadline
		c.mu.Unlock()
		if !deadline.IsZero() {
			if err := c.SetReadDeadline(deadline.Add(time.Since(begun))); err != nil {
				return 0, err
			}
		}
	}
	n, err := c.Conn.Read(b)
	c.gate.read(n)
	return n, err
}

func (c *gatedConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

func (c *gatedConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetDeadline(t)
}

func (c *gatedConn) Close() error {
	c.gate.lift()
	return c.Conn.Close()
}
