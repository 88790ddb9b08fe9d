package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxHello bounds what is read of a connection before its server name is known, in bytes. Those of today's
// browsers are below 2 KiB.
const maxHello = 16 << 10

var (
	errHello     = errors.New("the ClientHello was read")
	errHelloSize = errors.New("the ClientHello is too long")
)

// readHello reads a ClientHello (RFC 8446, 4.1.2) and returns its server name, in the spelling of the client,
// and all bytes that were read so far. Nothing is written to r. The parser is that of crypto/tls, which stops
// before it answers.
func readHello(r io.Reader) (name string, read []byte, err error) {
	c := &helloConn{from: r}
	found := false
	server := tls.Server(c, &tls.Config{
		MinVersion: tls.VersionTLS10, // whom the broker takes is not for the relay to say
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name, found = h.ServerName, true
			return nil, errHello
		},
	})
	err = server.Handshake()
	if found {
		return name, c.read.Bytes(), nil
	}
	if err == nil {
		err = errors.New("the handshake ended")
	}
	return "", nil, fmt.Errorf("read a ClientHello: %w", err)
}

// helloConn gives crypto/tls what is read, keeps it, and drops what crypto/tls would answer.
type helloConn struct {
	from io.Reader
	read bytes.Buffer
}

func (c *helloConn) Read(b []byte) (int, error) {
	left := maxHello - c.read.Len()
	if left <= 0 {
		return 0, errHelloSize
	}
	n, err := c.from.Read(b[:min(left, len(b))])
	c.read.Write(b[:n])
	return n, err
}

func (c *helloConn) Write(b []byte) (int, error) { return len(b), nil }

// The rest is there because crypto/tls wants a connection. The deadline is set on the connection itself.
func (c *helloConn) Close() error                     { return nil }
func (c *helloConn) LocalAddr() net.Addr              { return nil }
func (c *helloConn) RemoteAddr() net.Addr             { return nil }
func (c *helloConn) SetDeadline(time.Time) error      { return nil }
func (c *helloConn) SetReadDeadline(time.Time) error  { return nil }
func (c *helloConn) SetWriteDeadline(time.Time) error { return nil }

// unrecognized is the alert unrecognized_name, fatal, in a record of TLS (RFC 6066, 3; RFC 8446, 5.1 and 6).
// Names that nobody owns and names whose broker is away get the same one.
var unrecognized = []byte{21, 3, 3, 0, 2, 2, 112}

// replayed is a connection of which some was read already.
type replayed struct {
	net.Conn
	first []byte // what is read first; owned by the reader
}

func (c *replayed) Read(b []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(b, c.first)
		if c.first = c.first[n:]; len(c.first) == 0 {
			c.first = nil
		}
		return n, nil
	}
	return c.Conn.Read(b)
}
