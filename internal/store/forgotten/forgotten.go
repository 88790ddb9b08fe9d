// Package forgotten tells all brokers of a cluster which sessions to forget.
//
// What the streams hold of a session, who forgets it removes for all. What each broker made of it (its
// history, its index of words) is its own: so the order stands at a key of the KV, "forgotten." and a digest of
// the session, and each broker obeys it once, also one that was away. The revision up to which it has
// obeyed stands in a file of its own, since a session may live again after it was forgotten.
//
// # Concurrency
//
// Open starts a goroutine beside that of its mirror, which forgets one session after the other; Close ends
// both. Tell may be called from any goroutine.
package forgotten

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
	"assent/internal/store/kvmirror"
	"assent/internal/text/digest"
)

const (
	prefix = "forgotten."
	// retryPause is how long after a failure it is tried again.
	retryPause = 5 * time.Second
)

// Config is what a List needs, all of it but Logf.
type Config struct {
	KV kvmirror.KV
	// Self names this run of this broker: what it told itself it has done already.
	Self string
	// File keeps the revision up to which this broker has obeyed.
	File string
	// Forget forgets a session here. It is tried again when it fails.
	Forget func(ctx context.Context, session string) error
	Logf   func(format string, args ...any)
}

// order is what a key holds.
type order struct {
	Session string    `json:"session"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// List is the sessions to forget. Make it with Open.
type List struct {
	cfg    Config
	mirror *kvmirror.Mirror
	wake   chan struct{} // holds one

	mu   sync.Mutex
	open []task // guarded by mu
	done uint64 // guarded by mu; the revision up to which all is obeyed
}

type task struct {
	session string
	rev     uint64
}

// Open begins to obey.
func Open(ctx context.Context, cfg Config) (*List, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	l := &List{cfg: cfg, wake: make(chan struct{}, 1)}
	if text, err := regular.Read(cfg.File, 1<<10, 0); err == nil {
		l.done, _ = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64) // else all is obeyed once more
	}
	var err error
	if l.mirror, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: prefix, Apply: l.apply, What: "forgotten sessions", Logf: cfg.Logf}); err != nil {
		return nil, fmt.Errorf("the sessions to forget: %w", err)
	}
	l.mirror.Go(l.obey)
	return l, nil
}

// Tell has all other brokers forget a session.
func (l *List) Tell(ctx context.Context, session string) error {
	text, err := json.Marshal(order{session, l.cfg.Self, time.Now().UTC()})
	if err != nil {
		return err
	}
	key := prefix + digest.Of([]byte(session))
	if _, err := l.cfg.KV.Create(ctx, key, text); err == nil {
		return nil
	}
	// It was forgotten before; or the KV is away, which the next call says.
	_, rev, err := l.cfg.KV.Get(ctx, key)
	if err == nil {
		_, err = l.cfg.KV.Update(ctx, key, text, rev)
	}
	if err != nil {
		return fmt.Errorf("the other brokers could not be told to forget the session: %w", err)
	}
	return nil
}

// Close ends it. What is not obeyed yet is, at the next start.
func (l *List) Close() error {
	l.mirror.Close()
	return nil
}

func (l *List) apply(_ string, value []byte, rev uint64) func() {
	var o order
	if value == nil || json.Unmarshal(value, &o) != nil || o.Session == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if rev <= l.done || o.By == l.cfg.Self {
		return nil
	}
	l.open = append(l.open, task{o.Session, rev})
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// obey forgets one session after the other until ctx is done.
func (l *List) obey(ctx context.Context) {
	for {
		t, ok := l.next()
		if !ok {
			select {
			case <-l.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		if err := l.cfg.Forget(ctx, t.session); err != nil {
			if ctx.Err() != nil {
				return
			}
			l.cfg.Logf("a session that was forgotten at another broker cannot be forgotten here yet: %v", err)
			select {
			case <-time.After(retryPause):
			case <-ctx.Done():
				return
			}
			continue
		}
		l.obeyed(t)
	}
}

// next is the oldest order that is not obeyed.
func (l *List) next() (task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return task{}, false
	}
	first := 0
	for i, t := range l.open {
		if t.rev < l.open[first].rev {
			first = i
		}
	}
	l.open[0], l.open[first] = l.open[first], l.open[0]
	return l.open[0], true
}

func (l *List) obeyed(t task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.open {
		if l.open[i] == t {
			l.open = append(l.open[:i], l.open[i+1:]...)
			break
		}
	}
	l.done = max(l.done, t.rev)
	if err := wholefile.Write(l.cfg.File, []byte(strconv.FormatUint(l.done, 10)+"\n"), 0o600); err != nil {
		l.cfg.Logf("which sessions were forgotten cannot be noted: %v", err)
	}
}
