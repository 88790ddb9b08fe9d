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
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
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
	stop context.CancelFunc
	done sync.WaitGroup
	wake chan struct{} // the next end may be another one

	writing sync.Mutex // orders writes of the file

	mu        sync.Mutex
	entries   map[string]hook.Saved // guarded by mu; by id
	uses      map[string]usage      // guarded by mu; by id of an entry
	changed   func()                // guarded by mu
	notifying bool                  // guarded by mu; false until all was read
}

// usage is that since the start. It is not written use by use, as the count of a grant is.
type usage struct {
	count   int
	request string // the last one
	at      time.Time
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
	var run context.Context
	run, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.done.Go(func() { s.expire(run) })
	return s, nil
}

// Close ends the goroutines. It may be called more than once.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	s.kv.Close()
	return nil
}

// Notify has f called whenever other rules are in force. f may call Sources.
func (s *Store) Notify(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = f
}

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
	s.mu.Lock()
	f := s.changed
	s.mu.Unlock()
	if f != nil {
		f()
	}
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

// addUsesLocked brings what x says of its uses up to date.
func (s *Store) addUsesLocked(x *hook.Saved) {
	u := s.uses[x.ID]
	x.Used = max(x.Used, u.count, len(x.Spent))
	if u.at.After(x.LastUsed) {
		x.LastUsed = u.at
	}
}

// used notes that these allowed the request.
func (s *Store) used(requestID string, ids map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range ids {
		if u := s.uses[id]; u.request != requestID {
			s.uses[id] = usage{u.count + 1, requestID, time.Now().UTC()}
		}
	}
}

// active returns what is in force of a kind, the oldest first.
func (s *Store) active(kind string) []hook.Saved {
	now := time.Now()
	list := slices.DeleteFunc(s.List(kind), func(x hook.Saved) bool { return x.State(now) != hook.StateActive })
	slices.Reverse(list)
	return list
}

// Save keeps x, whose Kind, Sentence, Rule, Tests, RequestID, InputSHA256, Digest, By and bounds
// are filled in, and returns it as it is kept. It is in force when Save returns. What a device
// signed is saved once: while it is in force it is returned again, after that it is ErrBefore.
func (s *Store) Save(ctx context.Context, x hook.Saved) (hook.Saved, error) {
	if len(s.active("")) >= MaxActive {
		return hook.Saved{}, ErrFull
	}
	prefix := "always-"
	if x.Kind == hook.SavedGrant {
		prefix = "grant-"
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	if x.PublicKey != nil {
		// What is signed may be sent again, by others too: it is the same thing then.
		sum := sha256.Sum256([]byte(strings.Join([]string{
			x.By.ID, x.RequestID, x.InputSHA256, x.Kind, x.Digest, x.Bounds, strconv.Itoa(x.Count),
		}, "\n")))
		copy(b[:], sum[:])
	}
	x.ID = prefix + hex.EncodeToString(b[:])
	if x.PublicKey != nil {
		if had, err := s.change(ctx, x.ID, func(*hook.Saved) error { return errUnchanged }); err == nil {
			return again(had)
		} else if !errors.Is(err, ErrNotFound) {
			return hook.Saved{}, err
		}
	}
	x.CreatedAt = time.Now().UTC()
	x.Rule, x.Tests = WithID(x.Rule, x.ID), WithID(x.Tests, x.ID)
	if err := Check([]hook.Saved{x}, "proposal"); err != nil {
		return hook.Saved{}, fmt.Errorf("the rule as it would be saved: %w", err)
	}
	value, err := json.Marshal(x)
	if err != nil {
		return hook.Saved{}, fmt.Errorf("encode %s: %w", x.ID, err)
	}
	rev, err := s.cfg.KV.Create(ctx, keyPrefix+x.ID, value)
	if err != nil {
		if value, rev, getErr := s.cfg.KV.Get(ctx, keyPrefix+x.ID); getErr == nil { // another replica was first, or our own try
			var had hook.Saved
			if json.Unmarshal(value, &had) == nil && had.ID == x.ID {
				s.kv.Offer(keyPrefix+x.ID, value, rev)
				return again(had)
			}
		}
		return hook.Saved{}, fmt.Errorf("%w: save %s: %w", ErrUnavailable, x.ID, err)
	}
	if !s.kv.Offer(keyPrefix+x.ID, value, rev) { // the watch was quicker, and may not be done
		s.notify()
	}
	return x, nil
}

// again is the answer to what was saved before.
func again(had hook.Saved) (hook.Saved, error) {
	if had.State(time.Now()) != hook.StateActive {
		return hook.Saved{}, ErrBefore
	}
	return had, nil
}

// Revoke ends what was saved, for good. It is not in force when Revoke returns. ErrNotFound.
func (s *Store) Revoke(ctx context.Context, kind, id string, by hook.Approver) (hook.Saved, error) {
	x, err := s.change(ctx, id, func(x *hook.Saved) error {
		if x.Kind != kind || x.State(time.Now()) != hook.StateActive {
			return ErrNotFound
		}
		x.RevokedAt, x.RevokedBy = time.Now().UTC(), &by
		s.mu.Lock()
		s.addUsesLocked(x) // the rule goes, and its count with it
		s.mu.Unlock()
		return nil
	})
	if err == nil {
		s.notify()
	}
	return x, err
}

// errUnchanged says that nothing needs to be written.
var errUnchanged = errors.New("unchanged")

// change lets f change what the record says now. It is tried again when somebody else changes it
// at the same time.
func (s *Store) change(ctx context.Context, id string, f func(*hook.Saved) error) (hook.Saved, error) {
	s.mu.Lock()
	_, known := s.entries[id]
	s.mu.Unlock()
	if !known { // also what would be no key
		return hook.Saved{}, ErrNotFound
	}
	key := keyPrefix + id
	var last error
	for n := range attempts {
		if n > 0 {
			select {
			case <-time.After(time.Duration(n) * time.Millisecond):
			case <-ctx.Done():
				return hook.Saved{}, fmt.Errorf("%w: %s: %w", ErrUnavailable, id, context.Cause(ctx))
			}
		}
		value, rev, err := s.cfg.KV.Get(ctx, key)
		if err != nil {
			last = err
			continue
		}
		var x hook.Saved
		if err := json.Unmarshal(value, &x); err != nil || x.ID != id {
			return hook.Saved{}, fmt.Errorf("%w: %s is unreadable", ErrUnavailable, key)
		}
		if err := f(&x); err != nil {
			s.kv.Offer(key, value, rev) // it may be news
			if errors.Is(err, errUnchanged) {
				err = nil
			}
			return x, err
		}
		if value, err = json.Marshal(x); err != nil {
			return hook.Saved{}, fmt.Errorf("encode %s: %w", id, err)
		}
		if rev, err = s.cfg.KV.Update(ctx, key, value, rev); err != nil {
			last = err // it may have been written all the same: the next look tells
			continue
		}
		s.kv.Offer(key, value, rev)
		return x, nil
	}
	return hook.Saved{}, fmt.Errorf("%w: %s: %w", ErrUnavailable, id, last)
}

// Redeem is Use for callers that evaluate the rules again when a grant has ended: it then returns false
// without an error.
func (s *Store) Redeem(ctx context.Context, requestID string, ids []string) (bool, error) {
	err := s.Use(ctx, requestID, ids)
	if errors.Is(err, ErrOver) {
		return false, nil
	}
	return err == nil, err
}

// Use says whether what was saved under these ids may allow the request, and counts it: once for
// a request, however often it is asked about. ErrOver: one of them has ended, and other rules are
// in force by now. Any other error: unknown. With an error nothing may be allowed.
func (s *Store) Use(ctx context.Context, requestID string, ids []string) error {
	used := map[string]bool{}
	for _, id := range ids {
		id, _, _ = strings.Cut(id, "/")
		if used[id] {
			continue
		}
		used[id] = true
		_, err := s.change(ctx, id, func(x *hook.Saved) error {
			spent := slices.Contains(x.Spent, requestID)
			if state := x.State(time.Now()); state != hook.StateActive && !(state == hook.StateSpent && spent) {
				return ErrOver
			}
			if x.Count == 0 || spent {
				return errUnchanged
			}
			x.Spent, x.LastUsed = append(x.Spent, requestID), time.Now().UTC()
			return nil
		})
		switch {
		case errors.Is(err, ErrNotFound):
			err = ErrOver
			fallthrough
		case errors.Is(err, ErrOver):
			s.notify() // a time that has come changes no entry
			return err
		case err != nil:
			return err
		}
	}
	s.used(requestID, used)
	return nil
}

// Sources are the rules in force. Grants come after rules that last.
func (s *Store) Sources() []policy.Source {
	var all []policy.Source
	for _, kind := range []string{hook.SavedRule, hook.SavedGrant} {
		list := s.active(kind)
		if len(list) == 0 {
			continue
		}
		name := s.cfg.File
		if kind == hook.SavedGrant || name == "" {
			name = kind + "s of approvers"
		}
		text := Document(list)
		if kind == hook.SavedRule {
			text = fileHead + text // as it stands in the file, line by line
		}
		all = append(all, policy.Source{Name: name, Layer: policy.Assent, Data: []byte(text)})
	}
	return all
}

// Outstanding returns the rules of grants that are spent and were counted for this request, nil
// without any. A request needs them that comes back because its broker was killed between the
// count and the answer.
func (s *Store) Outstanding(requestID string) []policy.Source {
	now := time.Now()
	var list []hook.Saved
	s.mu.Lock()
	for _, e := range s.entries {
		if e.State(now) == hook.StateSpent && slices.Contains(e.Spent, requestID) {
			list = append(list, e)
		}
	}
	s.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return []policy.Source{{Name: hook.SavedGrant + "s of approvers", Layer: policy.Assent, Data: []byte(Document(list))}}
}
