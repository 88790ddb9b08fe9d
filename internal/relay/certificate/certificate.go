// Package certificate keeps a certificate for one name, from an ACME authority such as Let's Encrypt, by the
// challenge tls-alpn-01: the authority connects to the name and is answered there, within TLS. So it needs
// no second port, and works through a relay that passes TLS on unread.
//
// # Concurrency
//
// Run is the one goroutine that talks to the authority; autocert adds a timer for the renewal. Get only looks
// at what is there, so no handshake of a stranger makes anybody ask for a certificate.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// LetsEncrypt is the directory that is used where no other is named.
const LetsEncrypt = autocert.DefaultACMEDirectory

// ALPN is the protocol of the challenge. A TLS configuration that uses Get has to offer it.
const ALPN = acme.ALPNProto

// Between tries that failed: Let's Encrypt allows five failed ones an hour for a name. autocert remembers a
// failure for a minute.
const (
	firstRetry = 65 * time.Second
	lastRetry  = 2 * time.Hour
)

// lookEvery is how often the certificate that Get hands out is compared with the one that autocert renewed.
const lookEvery = 10 * time.Minute

// errNone is what a handshake gets before there is a certificate.
var errNone = errors.New("there is no certificate yet")

// Config is what a Keeper needs. Name and Dir are required.
type Config struct {
	Name      string // of the host, in lower case
	Directory string // URL of the authority's directory; empty: LetsEncrypt
	// Dir holds the certificate, its key and that of the account. It is made with mode 0700, files in it
	// have 0600.
	Dir string
	// Reachable waits until the authority could connect to Name; nil: it always can.
	Reachable func(context.Context) error
	Logf      func(format string, args ...any) // says what a person should know; nil: nobody
	// Failed is called with every error of the authority, and with nil once there is a certificate; it may
	// be nil.
	Failed func(error)
}

// Keeper keeps one certificate.
type Keeper struct {
	cfg     Config
	client  *acme.Client
	manager *autocert.Manager
	now     atomic.Pointer[tls.Certificate]
	calls   context.Context // done when Run ends; bounds what autocert sends
	end     context.CancelFunc
}

// New returns a Keeper. It reads and asks nothing before Run.
func New(cfg Config) *Keeper {
	if cfg.Directory == "" {
		cfg.Directory = LetsEncrypt
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Reachable == nil {
		cfg.Reachable = func(ctx context.Context) error { return ctx.Err() }
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	k := &Keeper{cfg: cfg}
	k.calls, k.end = context.WithCancel(context.Background())
	k.client = &acme.Client{DirectoryURL: cfg.Directory, UserAgent: "assent", HTTPClient: &http.Client{Timeout: time.Minute, Transport: until{k.calls, http.DefaultTransport}}}
	k.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(cfg.Dir), Client: k.client,
		HostPolicy: autocert.HostWhitelist(cfg.Name),
	}
	return k
}

// Get is for tls.Config.GetCertificate. It answers the authority's challenge, and everybody else with the
// certificate, at once or with an error.
func (k *Keeper) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName != k.cfg.Name {
		return nil, fmt.Errorf("there is no certificate for the name %q", hello.ServerName)
	}
	if slices.Equal(hello.SupportedProtos, []string{ALPN}) {
		return k.manager.GetCertificate(hello) // from memory or Dir
	}
	if c := k.now.Load(); c != nil {
		return c, nil
	}
	return nil, errNone
}

// Expires says until when the certificate holds; the zero time: there is none.
func (k *Keeper) Expires() time.Time {
	if c := k.now.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// Run gets the certificate, from Dir or from the authority, and keeps it fresh until ctx is done. It tries
// for as long as it takes, ever more seldom.
func (k *Keeper) Run(ctx context.Context) error {
	defer k.end()
	stop := context.AfterFunc(ctx, k.end)
	defer stop()
	for wait := firstRetry; ; {
		next := lookEvery
		if err := k.reachable(ctx); err != nil {
			return err
		}
		if err := k.refresh(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			next = wait + rand.N(wait/2)
			wait = min(2*wait, lastRetry)
			k.cfg.Logf("no certificate for %s: %v; trying again in %s", k.cfg.Name, err, next.Round(time.Second))
			k.cfg.Failed(err)
		} else {
			wait = firstRetry
			k.cfg.Failed(nil)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(next):
		}
	}
}

// reachable waits for Reachable, unless there is a certificate in Dir to begin with: a relay that is away must
// not keep a browser from being served the moment it is back.
func (k *Keeper) reachable(ctx context.Context) error {
	if k.now.Load() != nil {
		return ctx.Err()
	}
	if b, err := autocert.DirCache(k.cfg.Dir).Get(ctx, k.cfg.Name); err == nil && len(b) > 0 {
		return ctx.Err()
	}
	return k.cfg.Reachable(ctx)
}

// refresh takes what autocert has. Where that is nothing that holds, autocert asks the authority.
func (k *Keeper) refresh(ctx context.Context) error {
	if err := os.MkdirAll(k.cfg.Dir, 0o700); err != nil {
		return err
	}
	// As a browser of today would ask: one kind of key is enough.
	c, err := k.manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: k.cfg.Name, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
		SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SupportedVersions: []uint16{tls.VersionTLS13, tls.VersionTLS12},
	})
	if err != nil {
		return err
	}
	leaf := c.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
	}
	if time.Now().After(leaf.NotAfter) {
		return fmt.Errorf("the certificate has expired on %s, and the authority gave no new one", leaf.NotAfter.UTC().Format("2006-01-02"))
	}
	if old := k.now.Load(); old != nil && slices.Equal(old.Certificate[0], c.Certificate[0]) {
		return nil
	}
	fresh := *c
	fresh.Leaf = leaf
	k.now.Store(&fresh)
	account := ""
	if uri := k.account(ctx); uri != "" {
		account = "; the account, for a CAA record: " + uri
	}
	k.cfg.Logf("the certificate for %s holds until %s%s", k.cfg.Name, leaf.NotAfter.UTC().Format("2006-01-02"), account)
	return nil
}

// accountFile keeps the URI of the account beside autocert's files.
const accountFile = "account-uri"

// account is the URI of the account at the authority, which a CAA record may name (RFC 8657). It is asked
// for once, after the account was used; empty: unknown.
func (k *Keeper) account(ctx context.Context) string {
	path := filepath.Join(k.cfg.Dir, accountFile)
	if k.client.Key != nil { // autocert has used the account since the start
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if a, err := k.client.GetReg(ctx, ""); err == nil && a.URI != "" {
			_ = os.WriteFile(path, []byte(a.URI), 0o600) // it is only told
			return a.URI
		}
	}
	b, _ := os.ReadFile(path) // a help where it is there
	return string(b)
}

// until is a transport whose calls end with a context: autocert has one of its own for five minutes.
type until struct {
	ctx  context.Context
	next http.RoundTripper
}

func (u until) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := u.ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(u.ctx, cancel)
	res, err := u.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &body{ReadCloser: res.Body, done: func() { stop(); cancel() }}
	return res, nil
}
