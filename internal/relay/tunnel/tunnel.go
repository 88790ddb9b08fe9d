// Package tunnel is what a relay and a broker have in common: the token, and the one WebSocket on which they
// carry many connections, by yamux.
//
// The broker connects out. The relay opens a stream for each connection of a browser, begins it with where
// that came from, and passes the bytes on as they are. They are TLS between browser and broker.
//
// # Concurrency
//
// A Session has three goroutines of yamux's; Close ends them and waits for two of them, the third one ends at
// once. A stream may be used by one reader and one writer at a time.
package tunnel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/yamux"
)

// Path is where a relay takes brokers.
const Path = "/v1/relay"

// protocol is the subprotocol of the WebSocket. A later version has another number.
const protocol = "assent-relay-1"

const (
	// Dead is how long one side waits for a sign of life of the other, beyond what keep-alives need.
	Dead = 45 * time.Second

	keepAlive  = 20 * time.Second
	writeWait  = 10 * time.Second // of a write to the WebSocket, and of the answer to a ping
	openWait   = 15 * time.Second // for the other side to accept a stream
	closeWait  = 20 * time.Second // for the other side to close a stream, too
	maxMessage = 1 << 20          // of the WebSocket; yamux's are smaller
	backlog    = 128              // streams that are not accepted yet
)

// Window is how many bytes of a stream one side holds at most for a reader that is slow.
const Window = 256 << 10

// Session is the connection between a relay and a broker.
type Session = yamux.Session

// config is yamux's. Streams are bounded by whoever opens and accepts them.
func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = backlog
	c.KeepAliveInterval = keepAlive
	c.ConnectionWriteTimeout = writeWait
	c.StreamOpenTimeout = openWait
	c.StreamCloseTimeout = closeWait
	c.MaxStreamWindowSize = Window
	c.LogOutput = io.Discard // why a session ended, its user says
	return c
}

// RefusedError is what a relay answers to a broker that it does not take.
type RefusedError struct {
	Status int    // of HTTP
	Reason string // in the relay's words; foreign text
}

func (e *RefusedError) Error() string {
	switch e.Status {
	case http.StatusUnauthorized:
		return "the relay does not know the token; its owner makes one with: assent relay token NAME"
	case http.StatusConflict:
		return "another broker is connected to the relay with this token"
	}
	return fmt.Sprintf("the relay answered %d %s", e.Status, e.Reason)
}

// Dial connects a broker to a relay, a wss URL without a path, at an address HOST:PORT, whatever the DNS says; empty: as
// the DNS says. The system's proxy settings hold (HTTPS_PROXY). tlsConfig may be nil.
func Dial(ctx context.Context, address string, relay *url.URL, token Token, tlsConfig *tls.Config) (*Session, error) {
	d := websocket.Dialer{
		NetDialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, cmp.Or(address, to))
		},
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig, HandshakeTimeout: 20 * time.Second,
		Subprotocols: []string{protocol}, ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
	}
	header := http.Header{"Authorization": {"Bearer " + token.Text()}}
	ws, res, err := d.DialContext(ctx, relay.JoinPath(Path).String(), header)
	if err != nil {
		if res == nil {
			return nil, err
		}
		reason, _ := io.ReadAll(io.LimitReader(res.Body, 256)) // gorilla has read it already
		_ = res.Body.Close()
		if errors.Is(err, websocket.ErrBadHandshake) {
			return nil, &RefusedError{res.StatusCode, string(reason)}
		}
		return nil, err
	}
	if ws.Subprotocol() != protocol {
		_ = ws.Close()
		return nil, fmt.Errorf("what answers at %s is no relay of this version", relay)
	}
	return newSession(ws, true)
}

// Upgrade takes a broker that was authenticated. Where it fails, it has answered.
func Upgrade(w http.ResponseWriter, r *http.Request) (*Session, error) {
	u := websocket.Upgrader{
		HandshakeTimeout: writeWait, Subprotocols: []string{protocol}, ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			http.Error(w, reason.Error(), status)
		},
	}
	ws, err := u.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	if ws.Subprotocol() != protocol {
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseProtocolError, "want "+protocol), time.Now().Add(time.Second))
		_ = ws.Close()
		return nil, errors.New("the broker speaks another version")
	}
	return newSession(ws, false)
}

// newSession runs yamux on a WebSocket, at the broker's end or at the relay's, which opens the streams.
func newSession(ws *websocket.Conn, broker bool) (*Session, error) {
	ws.SetReadLimit(maxMessage)
	c := &conn{Conn: ws.NetConn(), ws: ws, guard: newGuard(broker)}
	run := yamux.Client
	if broker {
		run = yamux.Server
	}
	s, err := run(c, config())
	if err != nil {
		_ = ws.Close()
	}
	return s, err
}

// conn is a WebSocket as a connection: its binary messages, one after the other. One goroutine reads, one
// writes.
type conn struct {
	net.Conn // for its addresses and Close
	ws       *websocket.Conn
	guard    *guard
	message  io.Reader // that is being read; nil: the next one
}

func (c *conn) Read(b []byte) (int, error) {
	for {
		if err := c.ws.SetReadDeadline(time.Now().Add(Dead)); err != nil {
			return 0, err
		}
		if c.message == nil {
			kind, r, err := c.ws.NextReader()
			if err != nil {
				return 0, err
			}
			if kind != websocket.BinaryMessage {
				return 0, errors.New("a message of text on a relay's WebSocket")
			}
			c.message = r
		}
		n, err := c.message.Read(b)
		if err == io.EOF {
			c.message, err = nil, nil
		}
		if err == nil {
			err = c.guard.look(b[:n])
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.ws.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, err
	}
	if err := c.ws.WriteMessage(websocket.BinaryMessage, b); err != nil {
		return 0, err
	}
	return len(b), nil
}
