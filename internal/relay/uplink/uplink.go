// Package uplink connects a broker to a relay: it dials out, and what the relay passes on arrives at a
// Listener as connections of browsers, still within TLS, whose certificate it keeps.
//
// Nothing of the broker waits for it. A relay that is away is dialled again, ever more seldom.
//
// # Concurrency
//
// Run owns the connection to the relay and its goroutines: one that accepts streams, one for each stream until
// its first bytes are here, and the keeper of the certificate. It waits for all of them.
package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assent/internal/relay/certificate"
	"assent/internal/relay/tunnel"
)

// Between tries to reach the relay; after a refusal, which passes only when somebody does something, longer.
const (
	firstRetry   = time.Second
	lastRetry    = time.Minute
	firstRefused = 15 * time.Second
	lastRefused  = 5 * time.Minute
	steady       = time.Minute // a connection that lasted this long starts the waits anew
)

// dialTime is how long one try may take.
const dialTime = 30 * time.Second

// Config is what an Uplink needs. Known and Dir are required.
type Config struct {
	Known
	// Dir holds the certificate, its key and the account at the authority, for the owner only.
	Dir string
	// Address is where the relay is, HOST:PORT, whatever the DNS says; empty: as it says.
	Address string
	// TLS is for the connection to the relay; nil: the system's roots.
	TLS *tls.Config
	// Logf and Warnf say what a person should know; nil: nobody is told.
	Logf, Warnf func(format string, args ...any)
}

// Uplink is a broker's connection to its relay. Make it with New, run it with Run, once.
type Uplink struct {
	cfg       Config
	relay     *url.URL
	token     tunnel.Token
	host      string // NAME.DOMAIN
	keeper    *certificate.Keeper
	listener  *listener
	connected atomic.Bool

	mu   sync.Mutex
	news chan struct{} // closed when connected becomes true; guarded by mu
}

// New checks cfg. It connects to nobody.
func New(cfg Config) (*Uplink, error) {
	u := &Uplink{cfg: cfg, listener: newListener(), news: make(chan struct{})}
	if u.cfg.Logf == nil {
		u.cfg.Logf = func(string, ...any) {}
	}
	if u.cfg.Warnf == nil {
		u.cfg.Warnf = u.cfg.Logf
	}
	var err error
	if u.relay, u.token, err = cfg.check(); err != nil {
		return nil, err
	}
	u.host = u.token.Name + "." + u.relay.Hostname()
	u.keeper = certificate.New(certificate.Config{
		Name: u.host, Directory: cfg.ACME, Dir: cfg.Dir, Reachable: u.await, Logf: u.cfg.Logf,
	})
	return u, nil
}

// URL is where browsers reach the broker: https://NAME.DOMAIN, with the relay's port where that is not 443.
func (u *Uplink) URL() string {
	host := u.host
	if port := u.relay.Port(); port != "" && port != "443" {
		host = net.JoinHostPort(host, port)
	}
	return "https://" + host
}

// Listener has the connections of browsers, which begin with TLS: serve them with TLSConfig. Their remote
// address is an Addr.
func (u *Uplink) Listener() net.Listener { return u.listener }

// TLSConfig is for Listener.
func (u *Uplink) TLSConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: u.keeper.Get, NextProtos: []string{"http/1.1", certificate.ALPN}}
}

// Connected reports whether the relay takes us.
func (u *Uplink) Connected() bool { return u.connected.Load() }

// CertificateExpires says until when the certificate holds; the zero time: there is none.
func (u *Uplink) CertificateExpires() time.Time { return u.keeper.Expires() }

// Run keeps the connection until ctx is done, and closes Listener. It returns no other error than ctx's.
func (u *Uplink) Run(ctx context.Context) error {
	defer func() { _ = u.listener.Close() }()
	var parts sync.WaitGroup
	parts.Go(func() { _ = u.keeper.Run(ctx) })
	defer parts.Wait()
	said := ""
	for wait := time.Duration(0); ; {
		began := time.Now()
		session, err := u.dial(ctx)
		if err == nil {
			said = ""
			u.cfg.Logf("connected to the relay; the page is at %s", u.URL())
			u.setConnected(true)
			err = u.serve(ctx, session)
			u.setConnected(false)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait = nextWait(wait, time.Since(began), err)
		if text := err.Error(); text != said { // once for an outage, and for each new reason
			u.cfg.Warnf("the relay %s is away: %s; phones do not reach this broker through it until it is back", u.relay.Host, text)
			said = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait/2 + rand.N(wait/2)): // brokers must not all come at once to a relay that is back
		}
	}
}

// nextWait is the longest wait before the next try, after one that took some time and ended with err.
func nextWait(last, took time.Duration, err error) time.Duration {
	first, most := firstRetry, lastRetry
	if refused := (*tunnel.RefusedError)(nil); errors.As(err, &refused) {
		first, most = firstRefused, lastRefused
	}
	if took >= steady {
		last = 0
	}
	return min(max(2*last, first), most)
}

func (u *Uplink) dial(ctx context.Context) (*tunnel.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return tunnel.Dial(ctx, u.cfg.Address, u.relay, u.token, u.cfg.TLS)
}

// serve accepts streams until the session ends.
func (u *Uplink) serve(ctx context.Context, session *tunnel.Session) error {
	defer context.AfterFunc(ctx, func() { _ = session.Close() })()
	defer func() { _ = session.Close() }()
	var opening sync.WaitGroup
	defer opening.Wait()
	slots := make(chan struct{}, maxOpening)
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			return fmt.Errorf("the connection ended: %w", err)
		}
		if session.NumStreams() > maxStreams {
			return errors.New("it opens more connections than a relay may")
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = stream.Close()
			continue
		}
		opening.Go(func() {
			defer func() { <-slots }()
			u.open(stream)
		})
	}
}

// Bounds of one connection to a relay, against a relay that means ill: an honest one keeps below them.
const (
	maxStreams = 512
	maxOpening = 64              // whose header is not here
	openTime   = 5 * time.Second // for the header, and for the server to accept
)

// open reads where a connection comes from, and hands it to whoever accepts.
func (u *Uplink) open(stream net.Conn) {
	_ = stream.SetDeadline(time.Now().Add(openTime))
	from, err := tunnel.ReadHeader(stream)
	if err != nil {
		_ = stream.Close()
		return
	}
	_ = stream.SetDeadline(time.Time{})
	if !u.listener.give(&conn{Conn: tunnel.Stream{Conn: stream}, from: from}) {
		_ = stream.Close()
	}
}

func (u *Uplink) setConnected(is bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.connected.Store(is); is {
		close(u.news)
		return
	}
	u.news = make(chan struct{})
}

// await waits until the relay takes us: before that, no authority reaches us.
func (u *Uplink) await(ctx context.Context) error {
	u.mu.Lock()
	news := u.news
	u.mu.Unlock()
	select {
	case <-news:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Known is the relay that a broker knows.
type Known struct {
	URL   string // wss://RELAY, perhaps with a port
	Token string
	ACME  string // directory of the authority for the certificate; empty: Let's Encrypt
}

func (k Known) check() (*url.URL, tunnel.Token, error) {
	u, err := url.Parse(k.URL)
	if err != nil || u.Scheme != "wss" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, tunnel.Token{}, fmt.Errorf("the relay %q: want wss:// and its name, as in wss://relay.example.org", k.URL)
	}
	u.Host, u.Path = strings.ToLower(u.Host), ""
	if err := tunnel.CheckDomain(u.Hostname()); err != nil {
		return nil, tunnel.Token{}, fmt.Errorf("the relay %q: %w", k.URL, err)
	}
	if k.ACME != "" {
		if a, err := url.Parse(k.ACME); err != nil || a.Scheme != "https" || a.Host == "" {
			return nil, tunnel.Token{}, fmt.Errorf("the ACME directory %q: want an https URL, such as %s", k.ACME, certificate.LetsEncrypt)
		}
	}
	t, err := tunnel.ParseToken(k.Token)
	return u, t, err
}
