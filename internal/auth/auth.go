// Package auth says who is calling and what they may do.
//
// There are four kinds of credential: tokens made by an administrator, devices that were
// paired and prove themselves by a key that never leaves the browser, the owner's token in a
// file of the state directory, and single-use tickets for WebSockets. Of every secret only
// the SHA-256 is kept; secrets have at least 128 bits of entropy, so a plain hash suffices,
// and the time that a lookup by hash takes reveals nothing about a secret.
//
// A device's key opens a session, whose bearer reads, and signs each decision anew: the bearer
// alone, which could be stolen, does not decide.
//
// Tokens, devices and pairings under way live in a KV that replicas share; memory is a mirror of it.
// Challenges, bearers and tickets live in memory only: they
// are minutes old at most, and a restart or another replica sends the page back one step.
//
// # Concurrency
//
// Open starts four goroutines, those of the mirrors, one that writes lastUsed and one that records what was revoked; Close ends them and
// waits. All methods may be called from any goroutine. One mutex guards the
// maps; nothing slow runs under it.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/text/show"
)

// Errors of an Auth.
var (
	ErrUnauthenticated = errors.New("the credential is missing, unknown, expired or revoked")
	ErrNotFound        = errors.New("no such token or device")
	ErrPairing         = errors.New("this pairing is unknown, used, refused or expired; begin again, or make a new link with: assent pair")
	ErrNameTaken       = errors.New("another device has this name; choose another")
	ErrVerification    = errors.New("this was not confirmed on this device with face, fingerprint or PIN, for exactly this; try again")
	ErrNoVerification  = errors.New("this device has not turned on to confirm with face, fingerprint or PIN")
	ErrVerifies        = errors.New("this device confirms with face, fingerprint or PIN already; turn that off first")
	ErrUnavailable     = errors.New("the store of credentials is not available; try again")
)

// Why a pairing link is not good any more; each is an ErrPairing. They are told to those who have the whole link.
var (
	ErrPairingUsed    = error(pairingOver("this link was used already, and works once; make a new one with: assent pair. If you did not use it, look at: assent device list"))
	ErrPairingExpired = error(pairingOver("this link has expired, it works for five minutes; make a new one with: assent pair"))
)

type pairingOver string

func (e pairingOver) Error() string { return string(e) }
func (pairingOver) Unwrap() error   { return ErrPairing }

// Config is what an Auth needs. KV is required.
type Config struct {
	KV kvmirror.KV
	// StateDir is where the owner's token is written, as owner.token, unless NoOwnerToken.
	StateDir     string
	NoOwnerToken bool
	// Now is the time by which pairings expire, the same at all brokers that share the KV; nil: this machine's.
	Now func() time.Time
	// Record is where it stands when a device's key was revoked; nil: nowhere. Shared says that other brokers write there, too.
	Record Record
	Shared bool
	// Logf reports what the operator should know; nil discards it. It is never given a secret.
	Logf func(format string, args ...any)
}

// Auth holds the credentials of one broker. Make it with Open.
type Auth struct {
	cfg      Config
	kv       *kvmirror.Mirror
	openKV   *kvmirror.Mirror // of what is under way
	openTurn chan struct{}    // holds one, who changes that
	owner    ownerToken
	used     chan usage
	toRecord chan struct{} // holds one: there may be something for recordRevocations

	mu sync.Mutex
	// Guarded by mu.
	tokens     map[secretHash]*tokenEntry
	devices    map[string]*deviceEntry
	revoked    map[string]*revocation       // by the thumbprint of the key
	ending     map[string][]<-chan struct{} // by the thumbprint: closed when what was begun here with a credential of that key is over
	bearers    *ttlMap[bearer]
	tickets    *ttlMap[Principal]
	challenges *ttlMap[string]
	open       openPairings    // replaced at each change
	openThere  bool            // its key is there
	enrolments *ttlMap[string] // devices, by the challenges of credentials to be made
	verified   *ttlMap[struct{}]
	operators  operators
	// operatorsKnown says that operators was read.
	operatorsKnown bool
}

type secretHash = [sha256.Size]byte

const (
	keyPrefix    = "auth."
	tokenPrefix  = keyPrefix + "token."
	devicePrefix = keyPrefix + "device."
)

// Open loads the credentials, writes the owner's token and returns when both are done. ctx
// bounds the loading only.
func Open(ctx context.Context, cfg Config) (*Auth, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	a := &Auth{
		cfg:        cfg,
		used:       make(chan usage, 64),
		toRecord:   make(chan struct{}, 1),
		tokens:     map[secretHash]*tokenEntry{},
		devices:    map[string]*deviceEntry{},
		revoked:    map[string]*revocation{},
		ending:     map[string][]<-chan struct{}{},
		bearers:    newTTLMap[bearer](maxBearers, bearerLife),
		tickets:    newTTLMap[Principal](maxTickets, ticketLife),
		challenges: newTTLMap[string](maxChallenges, challengeLife),
		openTurn:   make(chan struct{}, 1),
		enrolments: newTTLMap[string](maxEnrolments, enrolmentLife),
		verified:   newTTLMap[struct{}](maxVerified, verifiedLife),
	}
	var err error
	if a.kv, err = kvmirror.Open(ctx, kvmirror.Config{
		KV: cfg.KV, Prefix: keyPrefix, Apply: a.apply, Final: true, What: "credentials", Logf: cfg.Logf,
	}); err != nil {
		return nil, fmt.Errorf("%w: load credentials: %w", ErrUnavailable, err)
	}
	if err := a.listOperators(ctx); err != nil {
		a.kv.Close()
		return nil, err
	}
	if a.openKV, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: openPrefix, Apply: a.applyOpen, What: "pairings", Logf: cfg.Logf}); err != nil {
		a.kv.Close()
		return nil, fmt.Errorf("%w: load pairings: %w", ErrUnavailable, err)
	}
	a.kv.Go(a.writeUsage)
	a.kv.Go(a.recordRevocations)
	if !cfg.NoOwnerToken {
		if err := a.owner.create(filepath.Join(cfg.StateDir, "owner.token")); err != nil {
			_ = a.Close()
			return nil, err
		}
	}
	return a, nil
}

// Close ends the goroutines and removes the owner's token.
func (a *Auth) Close() error {
	a.kv.Close()
	a.openKV.Close()
	return a.owner.remove()
}

// Authenticate says who holds the token or bearer, or ErrUnauthenticated.
func (a *Auth) Authenticate(secret string) (Principal, error) {
	if p, ok := a.owner.authenticate(secret); ok {
		return p, nil
	}
	h := sha256.Sum256([]byte(secret))
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.tokens[h]; ok {
		if !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt) {
			return Principal{}, ErrUnauthenticated
		}
		a.usedLocked(e.key, &e.usedAt, now)
		return e.principal(), nil
	}
	if b, ok := a.bearers.get(h, now); ok {
		if e, ok := a.devices[b.device]; ok {
			a.usedLocked(e.key, &e.usedAt, now)
			return a.principalLocked(e), nil
		}
	}
	return Principal{}, ErrUnauthenticated
}

// secret returns n random bytes as unpadded base64url.
func secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// checkName accepts what may stand in lists and records as a name.
func checkName(name string) error {
	if name == "" || len(name) > 100 {
		return hook.BadField("name", "want 1 to 100 bytes")
	}
	if show.Line(name) != name {
		return hook.BadField("name", "want text without control or invisible characters")
	}
	return nil
}

// Principal is an authenticated caller.
type Principal struct {
	Role     Role
	Approver hook.Approver
	// ExpiresAt is when the credential itself ends; zero means never. A device does not
	// expire when its bearer does.
	ExpiresAt time.Time
	gone      context.Context // nil for the owner
	uses      *inUse          // nil for the owner
	key       *signingKey     // of a device, or of a token that is bound to one; nil: nothing is signed
}

// Key is the thumbprint of the key that the caller signs with; "" of whoever has none.
func (p Principal) Key() string {
	if p.key == nil {
		return ""
	}
	return Thumbprint(p.key.jwk)
}

// OnRevoke calls f in its own goroutine when the credential is revoked, here or by another
// replica, or at once when it was already. stop cancels that, as of context.AfterFunc.
func (p Principal) OnRevoke(f func()) (stop func() bool) {
	if p.gone == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(p.gone, f)
}

// Revoked reports whether the credential was revoked since.
func (p Principal) Revoked() bool { return p.gone != nil && p.gone.Err() != nil }
