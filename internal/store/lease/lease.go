// Package lease lets exactly one of several brokers do what must be done once: ring, follow, publish, sign.
//
// A lease is one key of the KV that brokers share. Its holder renews it every second, by an update that
// names the revision it saw last. Who does not hold it looks every second, and takes it, by the same kind of
// update, when its revision has stood still for three seconds on the taker's own clock. No clock is
// compared with another machine's, so a clock that is wrong does no harm. A holder counts itself out
// half a second before anybody may take over. It should ask Held right before each step that matters:
// the process may have been stopped since. A step that the KV or the record can refuse is safe even so.
//
// A holder that is killed is followed within five seconds, one that ends by itself at once.
//
// # Concurrency
//
// Open starts one goroutine, which Close ends and waits for. All methods may be called from any goroutine.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// The times of a lease.
const (
	// Step is how often the holder renews and the others look.
	Step = time.Second
	// TakeAfter is how long a lease stands still before another may take it.
	TakeAfter = 3 * time.Second
	// CountsFor is how long after it began to renew a holder counts on what it renewed.
	CountsFor = TakeAfter - 500*time.Millisecond
	// callTimeout bounds one call of the KV.
	callTimeout = time.Second
)

// KV is what a lease needs of the store. Update fails when rev is not the key's last revision, Create when
// the key is there.
type KV interface {
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	Create(ctx context.Context, key string, value []byte) (rev uint64, err error)
	Update(ctx context.Context, key string, value []byte, rev uint64) (newRev uint64, err error)
}

// Config is what a Lease needs. KV, NotFound, Name and Holder are required.
type Config struct {
	KV KV
	// NotFound is the KV's error for a key that is not there.
	NotFound error
	// Name of what is leased, a plain word such as "notify". The key is "leases." and the name.
	Name string
	// Holder names this run of this broker, as no other run is named.
	Holder string
	// Changed is called, from the lease's goroutine, when it is won and when it is lost; nil is fine. It must
	// not block for long: renewing waits for it.
	Changed func(held bool)
	// Logf hears of it when the lease comes and goes; nil discards it.
	Logf func(format string, args ...any)
}

// value is what the key holds.
type value struct {
	Holder string `json:"holder"` // empty: it was given back
}

// Lease is one lease, held or not. Make it with Open.
type Lease struct {
	cfg    Config
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	held  bool      // guarded by mu, as all below
	rev   uint64    // of our last renewal, or of what we saw last
	since time.Time // when that renewal began, or when rev was first seen
}

// Open begins to try for the lease.
func Open(cfg Config) *Lease {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func(bool) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Lease{cfg: cfg, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.run(ctx)
	}()
	return l
}

// Held reports whether this run holds the lease now. fence grows from holder to holder, and with each
// renewal: what carries a smaller one comes from somebody who does not know yet that it is over.
func (l *Lease) Held() (fence uint64, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rev, l.held && time.Since(l.since) < CountsFor
}

// Close gives the lease back, if it is held, so that another takes it at once.
func (l *Lease) Close() {
	l.cancel()
	<-l.done
}

func (l *Lease) run(ctx context.Context) {
	tick := time.NewTicker(Step)
	defer tick.Stop()
	for {
		l.step(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			l.giveBack()
			return
		}
	}
}

// step renews the lease, or looks whether it can be taken.
func (l *Lease) step(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l.mu.Lock()
	held, rev, since := l.held, l.rev, l.since
	l.mu.Unlock()
	if held && time.Since(since) < CountsFor {
		l.write(ctx, rev, true)
		return
	}
	if held {
		l.lost("it could not be renewed in time")
	}
	raw, now, err := l.cfg.KV.Get(ctx, l.key())
	switch {
	case errors.Is(err, l.cfg.NotFound):
		l.write(ctx, 0, false)
	case err != nil: // nobody can take anything now
	case now != rev || held:
		l.mu.Lock()
		l.rev, l.since = now, time.Now()
		l.mu.Unlock()
		if free(raw) {
			l.write(ctx, now, false)
		}
	case time.Since(since) >= TakeAfter:
		l.write(ctx, now, false)
	}
}

// write renews the lease, or takes it. rev 0 stands for a key that is not there.
func (l *Lease) write(ctx context.Context, rev uint64, held bool) {
	began := time.Now()
	text, err := json.Marshal(value{l.cfg.Holder})
	if err != nil {
		return
	}
	var now uint64
	if rev == 0 {
		now, err = l.cfg.KV.Create(ctx, l.key(), text)
	} else {
		now, err = l.cfg.KV.Update(ctx, l.key(), text, rev)
	}
	if err != nil {
		// Perhaps it came through all the same, or somebody was quicker: a holder counts on what it
		// renewed before until that is over, and looks then like anybody.
		return
	}
	l.mu.Lock()
	l.held, l.rev, l.since = true, now, began
	l.mu.Unlock()
	if !held {
		l.cfg.Logf("this broker has the lease %q", l.cfg.Name)
		l.cfg.Changed(true)
	}
}

func (l *Lease) lost(why string) {
	l.mu.Lock()
	l.held = false
	l.mu.Unlock()
	l.cfg.Logf("this broker has the lease %q no more: %s", l.cfg.Name, why)
	l.cfg.Changed(false)
}

// giveBack lets another take the lease at once.
func (l *Lease) giveBack() {
	l.mu.Lock()
	held, rev := l.held, l.rev
	l.held = false
	l.mu.Unlock()
	if !held {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, _ = l.cfg.KV.Update(ctx, l.key(), []byte(`{"holder":""}`), rev) // else it is taken when it stands still
	l.cfg.Changed(false)
}

func (l *Lease) key() string { return "leases." + l.cfg.Name }

// free reports whether the last holder gave the lease back. What cannot be read is nobody's to take
// before it has stood still.
func free(raw []byte) bool {
	var v value
	return json.Unmarshal(raw, &v) == nil && v.Holder == ""
}
