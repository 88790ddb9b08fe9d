// Package grants is what approvers have assent remember: rules that were made from a request (by
// package suggest) and hold for good, for a time or for some further requests.
//
// A Store keeps them, with who saved them and from which request, in the record; the file that it
// writes is a copy of them for people to read. A saved rule counts as long as the Store says so:
// its time, its count and its end are looked up in the record each time it is used.
//
// # Concurrency
//
// Open starts two goroutines, that of the mirror of the record and one that waits for the next end
// of a grant; Close ends both and waits. All methods may be called from any goroutine. One mutex
// guards the entries; another orders the writes of the file. Nothing slow runs under the first.
package grants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror"
)

// Errors of a Store.
var (
	ErrNotFound    = errors.New("nothing that assent saved has this id and is in force")
	ErrBefore      = errors.New("this device has saved just this before, and it is over; take another request like it, or another end")
	ErrOver        = errors.New("a grant that this rests on is over")
	ErrFull        = errors.New("too much is saved; revoke what is not needed, see: assent grants")
	ErrUnavailable = errors.New("the store of what was saved is not available; try again")
)

const (
	keyPrefix = "always."
	// MaxActive bounds what is in force at a time, and MaxCount how often a grant may count.
	MaxActive = 300
	MaxCount  = 100
	// keepOver is how long the record keeps what is over.
	keepOver = 90 * 24 * time.Hour
	// attempts bounds how often a write is tried against other writers.
	attempts = 20
)

// Config is what a Store needs. KV is required.
type Config struct {
	KV kvmirror.KV
	// File is where the saved rules are written for people to read; empty: nowhere.
	File string
	// Logf reports what the operator should know; nil discards it.
	Logf func(format string, args ...any)
}

// Store keeps what was saved. Make it with Open.
type Store struct {
	cfg  Config
	kv   *kvmirror.Mirror
	news kvmirror.News
	wake chan struct{} // the next end may be another one

	writing sync.Mutex // orders writes of the file

	mu        sync.Mutex
	entries   map[string]hook.Saved // guarded by mu; by id
	uses      map[string]usage      // guarded by mu; by id of an entry
	notifying bool                  // guarded by mu; false until all was read
}

// Open reads what was saved. ctx bounds the reading only.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	s := &Store{cfg: cfg, wake: make(chan struct{}, 1), entries: map[string]hook.Saved{}, uses: map[string]usage{}}
	var err error
	if s.kv, err = kvmirror.Open(ctx, kvmirror.Config{
		KV: cfg.KV, Prefix: keyPrefix, Apply: s.apply, What: "saved rules", Logf: cfg.Logf,
	}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.mu.Lock()
	s.notifying = true
	s.mu.Unlock()
	s.tidy(ctx)
	s.write()
	s.kv.Go(s.expire)
	return s, nil
}

// Close ends the goroutines. It may be called more than once.
func (s *Store) Close() error {
	s.kv.Close()
	return nil
}

// Notify has f called whenever other rules are in force. f may call Sources.
func (s *Store) Notify(f func()) { s.news.Notify(f) }

// apply takes a change of one key into memory, see kvmirror.Config. While the store is unavailable,
// memory keeps what it has; Use reads the store itself.
func (s *Store) apply(key string, value []byte, _ uint64) (after func()) {
	id := strings.TrimPrefix(key, keyPrefix)
	var x hook.Saved
	if value != nil && (json.Unmarshal(value, &x) != nil || x.ID != id) {
		s.cfg.Logf("%s is unreadable and ignored", key)
		value = nil // and nothing is allowed by it
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.entries[id]
	before := known && was.State(now) == hook.StateActive
	if value == nil {
		delete(s.entries, id)
		delete(s.uses, id)
	} else {
		s.entries[id] = x
	}
	if active := value != nil && x.State(now) == hook.StateActive; !s.notifying || before == active {
		return nil
	}
	return s.notify
}

// notify reports that other rules are in force.
func (s *Store) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
	s.news.Tell()
	s.write()
}

// expire tells when the next grant ends, until ctx is done. That nothing is allowed by it from
// that moment on is the business of Use.
func (s *Store) expire(ctx context.Context) {
	for {
		var next time.Time
		now := time.Now()
		s.mu.Lock()
		for _, e := range s.entries {
			if e.State(now) == hook.StateActive && !e.ExpiresAt.IsZero() && (next.IsZero() || e.ExpiresAt.Before(next)) {
				next = e.ExpiresAt
			}
		}
		s.mu.Unlock()
		var due <-chan time.Time
		var t *time.Timer
		if !next.IsZero() {
			t = time.NewTimer(next.Sub(now))
			due = t.C
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-due:
			s.notify()
		}
		if t != nil {
			t.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// tidy removes what has been over for long.
func (s *Store) tidy(ctx context.Context) {
	now := time.Now()
	for _, x := range s.List("") {
		if over := x.Over(now); !over.IsZero() && now.Sub(over) > keepOver {
			rev, err := s.cfg.KV.Delete(ctx, keyPrefix+x.ID)
			if err != nil {
				s.cfg.Logf("remove what was saved and is over, %s: %v; trying again at the next start", x.ID, err)
				continue
			}
			s.kv.Offer(keyPrefix+x.ID, nil, rev)
		}
	}
}

// List returns what was saved and is remembered, the newest first: of a kind, or all.
func (s *Store) List(kind string) []hook.Saved {
	s.mu.Lock()
	list := make([]hook.Saved, 0, len(s.entries))
	for _, e := range s.entries {
		if kind == "" || e.Kind == kind {
			s.addUsesLocked(&e)
			list = append(list, e)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(x, y hook.Saved) int {
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}

// active returns what is in force of a kind, the oldest first.
func (s *Store) active(kind string) []hook.Saved {
	now := time.Now()
	list := slices.DeleteFunc(s.List(kind), func(x hook.Saved) bool { return x.State(now) != hook.StateActive })
	slices.Reverse(list)
	return list
}
