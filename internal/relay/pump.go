package relay

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"assent/internal/relay/tunnel"
)

// copySize is how many bytes are passed on at a time.
const copySize = 16 << 10

// relay passes a connection on to its broker, beginning with what was read of it already. It returns when
// both sides have ended.
func (s *Server) relay(c net.Conn, first []byte, b *broker, from netip.AddrPort) {
	if b.session.NumStreams() >= 2*s.cfg.Limits.PerName { // the broker leaves streams open that are over
		refuse(c)
		return
	}
	stream, err := b.session.OpenStream()
	if err != nil {
		refuse(c)
		return
	}
	p := &pump{a: c, b: stream, rate: b.rate}
	p.idle.Store(int64(idleTime))
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithCancel(s.ctx)
	defer cancel()
	defer func() { _ = stream.Close() }()
	_ = stream.SetWriteDeadline(time.Now().Add(writeTime))
	if tunnel.WriteHeader(stream, from) != nil || p.pass(stream, first) != nil {
		refuse(c)
		return
	}
	p.extend()
	var down sync.WaitGroup
	down.Go(func() {
		p.copy(c, stream)
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		p.ending()
	})
	p.copy(stream, c)
	_ = stream.Close() // of this direction: yamux's streams close like TCP's
	p.ending()
	down.Wait()
}

// pump copies both ways. Without a byte in either direction for some time, reads end.
type pump struct {
	a, b net.Conn
	rate *rate.Limiter
	ctx  context.Context // ends waiting for rate

	idle     atomic.Int64 // a time.Duration
	extended atomic.Int64 // when the deadlines were set, in Unix seconds
}

// copy copies until one side fails or ends.
func (p *pump) copy(to, from net.Conn) {
	buffer := make([]byte, copySize)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.pass(to, buffer[:n]) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// pass writes b to one side once the rate allows.
func (p *pump) pass(to io.Writer, b []byte) error {
	for part := b; len(part) > 0; {
		n := min(len(part), copySize)
		if err := p.rate.WaitN(p.ctx, n); err != nil {
			return err
		}
		part = part[n:]
	}
	if c, ok := to.(net.Conn); ok {
		if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
	}
	if _, err := to.Write(b); err != nil {
		return err
	}
	if time.Now().Unix() != p.extended.Load() {
		p.extend()
	}
	return nil
}

func (p *pump) extend() {
	now := time.Now()
	p.extended.Store(now.Unix())
	until := now.Add(time.Duration(p.idle.Load()))
	_ = p.a.SetReadDeadline(until)
	_ = p.b.SetReadDeadline(until)
}

// ending gives the other side a moment.
func (p *pump) ending() {
	p.idle.Store(int64(lingerTime))
	p.extend()
}
