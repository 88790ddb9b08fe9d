package tunnel

import (
	"encoding/binary"
	"errors"

	"golang.org/x/time/rate"
)

// Frames of yamux, as its specification has them (github.com/hashicorp/yamux, spec.md): 12 bytes with version,
// type, flags, stream and length, and for data as many bytes as the length says.
const (
	frameHeader = 12
	frameData   = 0
	framePing   = 2
	flagSYN     = 1
)

// Pings come twice a minute by themselves, and where somebody asks.
const (
	pingRate  = 1
	pingBurst = 10
)

var (
	errPings  = errors.New("the other side sends too many pings")
	errStream = errors.New("the other side opens streams, which is not its part")
)

// guard looks at what arrives, before yamux does. Each ping makes yamux start a goroutine, and each new
// stream is kept until it is accepted: whoever has a token must not make the relay hold as many of them as
// they like.
type guard struct {
	mayOpen bool // the other side may open streams
	pings   *rate.Limiter

	header [frameHeader]byte
	have   int    // of header
	body   uint32 // bytes of data that are to come
}

func newGuard(mayOpen bool) *guard {
	return &guard{mayOpen: mayOpen, pings: rate.NewLimiter(pingRate, pingBurst)}
}

// look reads on, where the last call ended.
func (g *guard) look(b []byte) error {
	for len(b) > 0 {
		if g.body > 0 {
			n := min(len(b), int(g.body))
			g.body -= uint32(n)
			b = b[n:]
			continue
		}
		n := copy(g.header[g.have:], b)
		g.have += n
		b = b[n:]
		if g.have < frameHeader {
			return nil
		}
		g.have = 0
		if err := g.frame(); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) frame() error {
	kind, flags := g.header[1], binary.BigEndian.Uint16(g.header[2:])
	switch {
	case kind == frameData:
		g.body = binary.BigEndian.Uint32(g.header[8:])
	case kind == framePing:
		if flags&flagSYN != 0 && !g.pings.Allow() {
			return errPings
		}
		return nil // its SYN is the ping's own
	}
	if flags&flagSYN != 0 && !g.mayOpen {
		return errStream
	}
	return nil
}
