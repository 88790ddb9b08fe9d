// Package kvmirror keeps what is in memory of a KV in step with it.
//
// A Mirror follows the keys under one prefix: it loads them, watches them, and watches again when
// the watch breaks. News also comes from its owner, who has just written or read a key and need
// not wait for the watch. Whatever way news comes, and however late, each key only ever moves to
// greater revisions. That holds for deletions too: the mirror remembers their revisions, so that
// older news on its way cannot bring back what was revoked.
//
// A store that an operator deleted, or put back from a copy, begins its revisions anew (ErrAnew). Then
// what the store holds now counts, and what it does not hold is deleted. Until the watch has noticed,
// within seconds, news of the new store may count as old.
//
// What the values mean and how they are kept is the owner's business, see Config.Apply.
//
// # Concurrency
//
// Open starts one goroutine, which watches, and Go those of the owner; Close ends them and waits. All
// methods may be called from any goroutine.
package kvmirror

import (
	"assent/internal/store/retry"
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// Config is what a Mirror needs. KV, Prefix and Apply are required.
type Config struct {
	KV     KV
	Prefix string // of the keys; ends with a dot
	// Apply takes a change of one key: its value, nil when it is deleted, and the revision. It is called
	// for one key at a time, with growing revisions for each, and must neither take long nor call the
	// Mirror. In a store that was made anew revisions are smaller again, and 0 stands with nil for a key
	// that is not in it. What Apply returns, unless nil, is called right afterwards, and may do both; it may run beside
	// the Apply of later news.
	Apply func(key string, value []byte, rev uint64) (after func())
	// Final says that a key is never used again once it was deleted. Nothing brings it back then,
	// whatever its revision, and whatever store it is in.
	Final bool
	// What names what is mirrored, for the log, such as "credentials".
	What string
	// Logf hears that the watch broke; nil discards it.
	Logf func(format string, args ...any)
}

// Mirror follows a part of a KV. Make it with Open.
type Mirror struct {
	cfg  Config
	run  context.Context // until Close
	stop context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// seen is the greatest revision of each key that Apply got, deletions included: those stay, one
	// short text each, as they stay in the KV. Guarded by mu.
	seen map[string]uint64
	// anew is not nil while a store that was made anew is read: the keys that were in it so far.
	// Guarded by mu.
	anew map[string]bool
}

// The pauses before the watch is tried again.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// errEnded is a watch that ended and does not say why.
var errEnded = errors.New("it does not say why")

// Open returns when Apply got all that is in the KV. While the KV is away it goes on trying, until
// ctx is done; then it returns the cause. ctx bounds the loading only.
func Open(ctx context.Context, cfg Config) (*Mirror, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	m := &Mirror{cfg: cfg, seen: map[string]uint64{}}
	m.run, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	loaded := make(chan struct{})
	m.done.Go(func() { m.watch(m.run, sync.OnceFunc(func() { close(loaded) })) })
	select {
	case <-loaded:
		return m, nil
	case <-ctx.Done():
		m.Close()
		return nil, context.Cause(ctx)
	}
}

// Go runs f in a goroutine until Close, which cancels its context and waits for it.
func (m *Mirror) Go(f func(ctx context.Context)) { m.done.Go(func() { f(m.run) }) }

// Close ends the watch, and what Go began. What Apply made of it stays as it is. It may be called more than once.
func (m *Mirror) Close() {
	m.stop()
	m.done.Wait()
}

// Offer takes a change of a key that its caller learned other than by the watch: value is what was
// written or read with revision rev, nil for a deletion. It reports whether that was news. If so, Apply
// and the function it returned have been called when Offer returns.
func (m *Mirror) Offer(key string, value []byte, rev uint64) (news bool) {
	if value == nil && m.cfg.Final {
		rev = math.MaxUint64
	}
	m.mu.Lock()
	if seen, ok := m.seen[key]; ok && rev <= seen && (m.anew == nil || m.anew[key] || seen == math.MaxUint64) {
		m.mu.Unlock()
		return false
	}
	m.seen[key] = rev
	if m.anew != nil {
		m.anew[key] = true
	}
	after := m.cfg.Apply(key, value, rev)
	m.mu.Unlock()
	if after != nil {
		after()
	}
	return true
}

// watch follows the KV until ctx is done. While that is away, what is known stays.
func (m *Mirror) watch(ctx context.Context, loaded func()) {
	b := retry.Backoff{First: firstPause, Most: longestPause}
	for {
		err := m.cfg.KV.Watch(ctx, m.cfg.Prefix, func(key string, value []byte, rev uint64) {
			m.Offer(key, value, rev)
		}, func() {
			b.Succeeded()
			m.endAnew()
			loaded()
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrAnew) {
			m.beginAnew()
		}
		err = cmp.Or(err, errEnded)
		pause, news := b.Failed(err)
		if news {
			m.cfg.Logf("the watch on %s ended, so changes by other replicas wait until it is back; trying again: %v", m.cfg.What, err)
		}
		if !retry.Wait(ctx, pause) {
			return
		}
	}
}

// beginAnew forgets the revisions of a store that is no more.
func (m *Mirror) beginAnew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.anew = map[string]bool{}
}

// endAnew deletes what a store that was made anew does not hold; all it holds was read.
func (m *Mirror) endAnew() {
	m.mu.Lock()
	anew := m.anew
	m.anew = nil
	var after []func()
	for key, rev := range m.seen {
		if anew == nil || anew[key] || rev == math.MaxUint64 {
			continue
		}
		if m.cfg.Final {
			m.seen[key] = math.MaxUint64
		} else {
			delete(m.seen, key)
		}
		if f := m.cfg.Apply(key, nil, 0); f != nil {
			after = append(after, f)
		}
	}
	m.mu.Unlock()
	for _, f := range after {
		f()
	}
}
