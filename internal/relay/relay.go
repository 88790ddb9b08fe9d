// Package relay is a server that lends brokers its address: each broker connects out to it, and browsers
// reach the broker as NAME.DOMAIN through it. It passes TLS on as it comes: of a browser's connection it reads
// the ClientHello, for the server name, and nothing else. It has neither the brokers' keys nor their
// certificates.
//
// Everything that a stranger can make it hold is bounded: see Limits.
//
// # Concurrency
//
// Serve accepts; each connection has a goroutine from its ClientHello on, and a second one while it is
// relayed. A broker's connection has the goroutine of its HTTP handler, and yamux's. Serve waits for all of
// them.
package relay

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"assent/internal/relay/certificate"
	"assent/internal/relay/tunnel"
)

// Limits bound what a relay holds. The zero value of each is its default.
type Limits struct {
	// Handshakes are the connections whose ClientHello is not here as a whole, or that speak to the relay
	// itself and have shown no token: 256, and 16 of one source, which is an address of IPv4 or a /64 of IPv6.
	Handshakes, HandshakesPerSource int
	// Connections are those that are relayed: 4096, for one name 128, and 32 for one name from one source.
	// A broker serves fewer at a time, and closes the idle ones of strangers for others.
	Connections, PerName, PerSource int
	// Rate is how many bytes a second pass for one name, both ways together: 4 MiB.
	Rate int
}

func (l *Limits) setDefaults() {
	l.Handshakes = cmp.Or(l.Handshakes, 256)
	l.HandshakesPerSource = cmp.Or(l.HandshakesPerSource, 16)
	l.Connections = cmp.Or(l.Connections, 4096)
	l.PerName = cmp.Or(l.PerName, 128)
	l.PerSource = cmp.Or(l.PerSource, 32)
	l.Rate = cmp.Or(l.Rate, 4<<20)
}

// Times.
const (
	helloTime  = 5 * time.Second  // for a ClientHello to arrive
	idleTime   = 2 * time.Minute  // of a relayed connection without a byte; the page sends some every 10 s
	lingerTime = 10 * time.Second // for one side to end after the other
	writeTime  = 30 * time.Second // for a buffer's bytes to be taken
	lookEvery  = 3 * time.Second  // at the file of tokens
)

// Config is what a Server needs. Domain, Tokens and GetCertificate are required.
type Config struct {
	// Domain is the relay's own name, under which brokers connect; theirs are labels before it.
	Domain string
	// Tokens is the file with the hashes of the brokers' tokens, as AddToken writes it. It is read again
	// when it has changed.
	Tokens string
	// GetCertificate has the certificate for Domain, as in tls.Config.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Limits         Limits
	// Logf says what the relay's owner should know; nil: nobody is told. No line is written for each
	// connection of a browser.
	Logf func(format string, args ...any)
}

// Server is a relay. Make it with New and run it with Serve, once.
type Server struct {
	cfg        Config
	halfOpen   gate // ClientHello not here
	unknown    gate // speaks to the relay itself, and has shown no token
	counts     counts
	own        *handed // connections to the relay itself
	stop       context.CancelFunc
	ctx        context.Context // done when Serve ends
	connection sync.WaitGroup  // goroutines of connections and brokers

	mu      sync.Mutex
	closing bool               // guarded by mu: connection may not grow
	tokens  tokens             // guarded by mu
	seen    fileState          // of the file of tokens; guarded by mu
	brokers map[string]*broker // by name; guarded by mu
	relayed int                // connections; guarded by mu
}

// New reads the tokens, and says what of cfg is unusable.
func New(cfg Config) (*Server, error) {
	if err := tunnel.CheckDomain(cfg.Domain); err != nil {
		return nil, err
	}
	if cfg.GetCertificate == nil {
		return nil, errors.New("relay: GetCertificate is required")
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	cfg.Limits.setDefaults()
	l := cfg.Limits
	s := &Server{
		cfg: cfg, halfOpen: gate{max: l.Handshakes, perSource: l.HandshakesPerSource}, unknown: gate{max: l.Handshakes, perSource: l.HandshakesPerSource},
		own: newHanded(), brokers: map[string]*broker{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.readTokens(); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve relays what l accepts until ctx is done, closes l and all connections, and waits for them.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, s.stop)()
	defer context.AfterFunc(s.ctx, func() { _ = l.Close() })()
	web := s.webServer()
	var parts sync.WaitGroup
	parts.Go(func() { _ = web.ServeTLS(s.own, "", "") }) // until own is closed
	parts.Go(func() { s.watchTokens(s.ctx) })
	parts.Go(func() { s.report(s.ctx) })

	err := s.accept(l)
	s.stop()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	_ = s.own.Close()
	_ = web.Close()
	s.connection.Wait()
	parts.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// accept takes connections until l fails for good or the server ends.
func (s *Server) accept(l net.Listener) error {
	for wait := time.Duration(0); ; {
		c, err := l.Accept()
		if err != nil {
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return err
			}
			// Such as too many open files: it passes when connections end.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.counts.accept.Add(1)
			select {
			case <-s.ctx.Done():
			case <-time.After(wait):
			}
			continue
		}
		wait = 0
		from, ok := remote(c)
		v := s.halfOpen.enter(c, network(from.Addr()))
		if !ok || v == nil || !s.grow() {
			if v != nil {
				v.leave()
			}
			s.counts.source.Add(1)
			_ = c.Close()
			continue
		}
		go func() {
			defer s.connection.Done()
			s.serve(c, v, from)
		}()
	}
}

// grow adds a goroutine to those that Serve waits for, unless it is ending.
func (s *Server) grow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.ctx.Err() != nil {
		return false
	}
	s.connection.Add(1)
	return true
}

// serve finds out whom a connection wants, and has it served.
func (s *Server) serve(c net.Conn, v *visitor, from netip.AddrPort) {
	defer context.AfterFunc(s.ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	defer v.leave()
	_ = c.SetDeadline(time.Now().Add(helloTime))
	name, first, err := readHello(c)
	if err != nil {
		s.counts.hello.Add(1)
		return
	}
	_ = c.SetDeadline(time.Time{})
	name = strings.ToLower(name)
	if name == s.cfg.Domain {
		v.leave()
		s.serveOwn(&replayed{Conn: c, first: first}, v.source)
		return
	}
	label, ok := strings.CutSuffix(name, "."+s.cfg.Domain)
	b := s.broker(label)
	if !ok || b == nil {
		s.counts.name.Add(1)
		refuse(c)
		return
	}
	if !s.take(b, v.source) {
		s.counts.full.Add(1)
		return
	}
	defer s.giveBack(b, v.source)
	v.leave() // from here on it counts as one of the broker's
	s.relay(c, first, b, from)
}

// refuse tells the client that the name is not served here.
func refuse(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write(unrecognized); err != nil {
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite()
		_, _ = io.CopyN(io.Discard, t, maxHello) // what is unread would reset the connection before the alert is read
	}
}

// take counts a connection to a broker; false: there are too many.
func (s *Server) take(b *broker, source netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.cfg.Limits
	if s.relayed >= l.Connections || b.open >= l.PerName || b.bySource[source] >= l.PerSource {
		return false
	}
	s.relayed++
	b.open++
	b.bySource[source]++
	return true
}

func (s *Server) giveBack(b *broker, source netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relayed--
	b.open--
	if b.bySource[source]--; b.bySource[source] <= 0 {
		delete(b.bySource, source)
	}
}

type visitorKey struct{}

// serveOwn hands a connection to the relay's own HTTP server.
func (s *Server) serveOwn(c net.Conn, source netip.Prefix) {
	v := s.unknown.enter(c, source)
	if v == nil {
		s.counts.source.Add(1)
		_ = c.Close()
		return
	}
	o := &ownConn{Conn: c, visitor: v, done: make(chan struct{})}
	if !s.own.give(s.ctx, o) {
		_ = o.Close()
		return
	}
	<-o.done // the connection counts as one of ours until it is closed
}

// webServer is the relay's own HTTP server. There is little to it.
func (s *Server) webServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+tunnel.Path, s.takeBroker)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "This is a relay of assent. There is nothing to see at this name.\n")
	})
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: helloTime, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 10 * time.Second,
		MaxHeaderBytes: 8 << 10, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cfg.GetCertificate, NextProtos: []string{"http/1.1", certificate.ALPN}},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn()
			}
			if o, ok := c.(*ownConn); ok {
				return context.WithValue(ctx, visitorKey{}, o.visitor)
			}
			return ctx
		},
	}
	web.Protocols.SetHTTP1(true) // gorilla's WebSockets need it
	return web
}

func remote(c net.Conn) (netip.AddrPort, bool) {
	ap, err := netip.ParseAddrPort(c.RemoteAddr().String())
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port()), err == nil
}
