package rabbit_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a client and RabbitMQ, and can keep answers to itself.
type proxy struct {
	url string

	mu     sync.Mutex
	mute   uint32     // guarded by mu; class and method of the first answer that is kept back
	silent int        // guarded by mu; connections with such an answer
	bytes  int64      // guarded by mu; that RabbitMQ sent and the client's socket took
	conns  []net.Conn // guarded by mu
}

// Answers of RabbitMQ: class, method.
const (
	channelOpenOK     = 20<<16 | 11
	exchangeDeclareOK = 40<<16 | 11
	queueDeclareOK    = 50<<16 | 11
	basicConsumeOK    = 60<<16 | 21
	basicAck          = 60<<16 | 80
	basicGetOK        = 60<<16 | 71
	confirmSelectOK   = 85<<16 | 11
)

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	p := &proxy{url: u.String()}
	var working sync.WaitGroup
	working.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, up)
			p.mu.Unlock()
			working.Go(func() {
				_, _ = io.Copy(up, client)
				up.Close()
			})
			working.Go(func() {
				p.answers(client, up)
				client.Close()
				up.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		working.Wait()
	})
	return p
}

// swallow keeps back the next answer of that kind and, on its connection, all that follows but
// heartbeats; 0 ends it for new connections.
func (p *proxy) swallow(answer uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = answer
}

// silences is how many connections have lost an answer.
func (p *proxy) silences() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

// passed is how many bytes of answers went through.
func (p *proxy) passed() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) answers(client io.Writer, up io.Reader) {
	silent := false
	for {
		head := make([]byte, 7)
		if _, err := io.ReadFull(up, head); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(up, rest); err != nil {
			return
		}
		const method, heartbeat = 1, 8
		if !silent && head[0] == method && p.swallows(binary.BigEndian.Uint32(rest)) {
			silent = true
		}
		if silent && head[0] != heartbeat {
			continue
		}
		n, err := client.Write(append(head, rest...))
		p.mu.Lock()
		p.bytes += int64(n)
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *proxy) swallows(answer uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute == 0 || answer != p.mute {
		return false
	}
	p.silent++
	return true
}
