// Package notify tells people who do not look at the page that a request waits: by Web
// Push to the browsers of paired devices and by notices to the services of a file (ntfy, Slack, a
// webhook …). What it sends holds no tool input, and nothing can be decided by it. Only where a device, or
// a notice, was told so does a message say what a request is about, in assent's own scrubbed words.
//
// There is no queue of messages. Whenever one can be sent to a device or notice, it is made of the
// requests that wait, are due, and of which that target was not notified yet. So nobody is notified of
// a request that was settled meanwhile, a service that is away costs nothing, and many requests at once
// are one message.
//
// # Concurrency
//
// Open starts one goroutine, that of the mirror of the store of subscriptions; Close ends it. Run has three,
// one that follows the broker, one that watches the file of notices, and the caller's, which owns the
// state of all targets. Each message on its way has one more, at most maxSending of them. Run waits for
// all of these. The methods may be called from any goroutine.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/kvmirror"
)

// Config is what a Push needs. KV, Broker and May are required.
type Config struct {
	// KV keeps the key and the subscriptions, which replicas share.
	KV     kvmirror.KV
	Broker *broker.Broker
	// Mine says whether this broker is the one that tells, of those that share KV: for the hooks of all of
	// them. It must be quick, and is asked before each message. nil: no other shares KV.
	Mine func() bool
	// Frozen says that KV takes nothing: the record is damaged.
	Frozen bool
	// May says whether a device is still paired and may see requests. One that may not gets
	// nothing, and its subscription is removed.
	May func(device string) bool
	// MaySend says whether a device may send messages to sessions; nil: none may.
	MaySend func(device string) bool
	// TurnOver says of a turn's end whether a message of the session's queue goes on with it, so that it is
	// no end, and else whether a message can be sent to the session now. It must be quick. nil: neither.
	TurnOver func(e *hook.Event, session string) (queued, reply bool)
	// URL is where a person's browser finds the page; notices link to it.
	URL string
	// Contact is what push services are told about who runs this broker: an https or mailto
	// URL. Empty means URL where that is https, else a placeholder.
	Contact string
	// Allow are further origins ("https://push.internal:8443") at which devices may have their
	// endpoints. Everywhere else is https on public addresses.
	Allow []string
	// AgentTitle is what people call an agent; nil: agents are not named.
	AgentTitle func(name string) string
	// Effects says what a request would do; nil: nobody says so in a message. It must be quick.
	Effects func(*hook.Request) *hook.Effects
	// Notices are notified beside the devices, until NoticesFile says otherwise. Deliver hands one of
	// them to its service; it must return when ctx is done. nil means that only webhooks work.
	Notices []Notice
	Deliver func(ctx context.Context, url, text string) error
	// NoticesFile is the file of notices, empty for none. It is read by Open, and by Run when it
	// has changed; one that cannot be used leaves things as they are. NoticesWanted says that it
	// has to be there.
	NoticesFile   string
	NoticesWanted bool
	// Transport replaces the connections to push services and webhooks, for tests.
	Transport http.RoundTripper
	// Logf reports what the operator should know; nil discards it. It is never given an endpoint
	// or the URL of a notice, which are secrets.
	Logf func(format string, args ...any)
}

// Errors of a Push.
var (
	ErrUnavailable   = errors.New("the store of push subscriptions is not available; try again")
	ErrFull          = errors.New("too many devices have push subscriptions; remove one first")
	ErrNotSubscribed = errors.New("this device has no push subscription")
	ErrBusy          = errors.New("a test was sent just now; wait a moment")
)

// SendError says, for people, why a push service did not take a message.
type SendError struct{ Problem string }

func (e *SendError) Error() string { return e.Problem }

// Push holds the subscriptions of one broker. Make it with Open.
type Push struct {
	cfg     Config
	client  *http.Client // to push services
	hooks   *http.Client // to webhooks, which the operator chose
	allow   map[string]bool
	kv      *kvmirror.Mirror
	changed chan struct{} // one element: subscriptions or settings are not what Run knows
	news    chan news     // to Run
	// newsFull is when the operator was last told that news is full, in Unix seconds.
	newsFull atomic.Int64

	counts counts

	mu      sync.Mutex
	devices map[string]*stored     // guarded by mu; by device
	status  map[string]*sendStatus // guarded by mu; by key of the target
	told    map[string]toldState   // guarded by mu; by key
	notices []Notice               // guarded by mu; the elements never change
	problem string                 // guarded by mu; what is wrong with the file of notices
	keys    vapidKeys              // guarded by mu; empty until the store's are known
	haveKey chan struct{}          // closed with the first keys
}

// sendStatus is how sending to a target goes, for its owner to see.
type sendStatus struct {
	sentAt, testedAt time.Time
	trouble          string
}

// Bounds.
const (
	maxDevices  = 256
	maxSending  = 32               // messages on their way
	sendTimeout = 10 * time.Second // for one
	testPause   = 3 * time.Second  // between two tests of a device
)

// Open loads the subscriptions and makes the broker's key pair if there is none. ctx bounds the
// loading only.
func Open(ctx context.Context, cfg Config) (*Push, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	allow, err := origins(cfg.Allow)
	if err != nil {
		return nil, err
	}
	if cfg.Contact, err = contact(cfg.Contact, cfg.URL); err != nil {
		return nil, err
	}
	p := &Push{
		cfg:     cfg,
		allow:   allow,
		changed: make(chan struct{}, 1),
		news:    make(chan news, maxNews),
		devices: map[string]*stored{},
		status:  map[string]*sendStatus{},
		haveKey: make(chan struct{}),
		notices: cfg.Notices,
		told:    map[string]toldState{},
	}
	p.counts = newCounts(p)
	if cfg.NoticesFile != "" {
		p.readNotices()
	}
	p.client, p.hooks = newClient(cfg.Transport, allow), newHooksClient(cfg.Transport)
	if p.kv, err = kvmirror.Open(ctx, kvmirror.Config{
		KV: cfg.KV, Prefix: keyPrefix, Apply: p.apply, What: "push subscriptions", Logf: cfg.Logf,
	}); err != nil {
		return nil, fmt.Errorf("load push subscriptions: %w", err)
	}
	if err := p.needKeys(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// needKeys makes the keys if the store has none.
func (p *Push) needKeys(ctx context.Context) error {
	select {
	case <-p.haveKey:
		return nil
	default:
	}
	if err := p.makeKeys(ctx); err != nil || p.cfg.Frozen {
		return err
	}
	select {
	case <-p.haveKey: // ours, or those of a replica that was quicker
		return nil
	case <-ctx.Done():
		return fmt.Errorf("make the key of push messages: %w", context.Cause(ctx))
	}
}

// Close ends what Open started. Run must have returned.
func (p *Push) Close() error {
	p.kv.Close()
	p.client.CloseIdleConnections()
	p.hooks.CloseIdleConnections()
	return nil
}

// wake lets Run look at subscriptions and settings again.
func (p *Push) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
