// Package presence tells the brokers of one record of each other: which run, and which of them hold which hooks.
//
// Every broker keeps a key of the KV, "brokers." and its id, which names its present run, and writes it
// anew every two seconds. A run is over for certain when its broker's key names another, or is gone; it is
// taken for gone when its key has not changed for twenty seconds by the looker's own monotonic clock, and
// the looker could write its own all that time: who is cut off knows nothing about others. A hook that goes
// on at another broker than the one that recorded its request is noted at "attached." and the request's id.
//
// # Concurrency
//
// Open starts one goroutine beside that of its mirror; Close ends both. All methods may be called from any
// goroutine.
package presence

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assent/internal/store/kvmirror"
)

const (
	// Beat is how often a broker says that it is there.
	Beat = 2 * time.Second
	// SilentAfter is how long a broker says nothing before it is taken for gone.
	SilentAfter = 20 * time.Second
	// gap is how late our own writes may be before we know nothing about others.
	gap = 3 * Beat

	callTimeout = 2 * time.Second
	sweepTime   = 30 * time.Second

	brokers  = "brokers."
	attached = "attached."
)

// Config is what a Presence needs. KV, NotFound and ID are required.
type Config struct {
	KV kvmirror.KV
	// NotFound is the KV's error for a key that is not there.
	NotFound error
	// ID names the broker, through all its runs: a plain word without dots.
	ID string
	// Format is the format of the records that this program writes, and Version its version. A broker whose
	// Format is another is not joined, see Open.
	Format  int
	Version string
	// Logf hears that brokers come and go; nil discards it.
	Logf func(format string, args ...any)
}

// broker is what a key of a broker holds.
type brokerKey struct {
	Run     string `json:"run"`
	Format  int    `json:"format"`
	Version string `json:"version,omitempty"`
	Beat    int    `json:"beat"` // counts on, so that each value is another
}

// Presence is this broker among the others. Make it with Open.
type Presence struct {
	cfg    Config
	run    string
	mirror *kvmirror.Mirror

	sweeping sync.Mutex
	idle     map[string]bool // guarded by sweeping; requests whose notes the last Sweep found idle

	mu    sync.Mutex
	other map[string]seen // guarded by mu, as all below; by id, ourselves too
	wrote time.Time       // when our key was written last
	whole time.Time       // since when it is written in time
}

// seen is what is known of a broker.
type seen struct {
	brokerKey
	at time.Time // when it last said something
}

// FormatError says that brokers of another record format are on the same cluster.
type FormatError struct {
	Ours, Theirs             int
	OurVersion, TheirVersion string
	TheirBroker              string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("broker %s of version %s writes records of format %d to this cluster, and this is version %s with format %d: they cannot share it; stop one kind, then start the other",
		e.TheirBroker, e.TheirVersion, e.Theirs, e.OurVersion, e.Ours)
}

// Open announces this broker and returns when it knows the others. A *FormatError says that a broker is
// there, alive as far as can be told, that writes another format.
func Open(ctx context.Context, cfg Config) (*Presence, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	p := &Presence{cfg: cfg, run: cfg.ID + "." + strings.ToLower(rand.Text())[:8], other: map[string]seen{}}
	var err error
	p.mirror, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: brokers, Apply: p.apply, What: "brokers", Logf: cfg.Logf})
	if err != nil {
		return nil, fmt.Errorf("the brokers of this cluster: %w", err)
	}
	if err := p.checkFormats(ctx); err != nil {
		p.mirror.Close()
		return nil, err
	}
	p.beat(ctx, 1)
	p.mirror.Go(p.keepBeating)
	return p, nil
}

// checkFormats returns a *FormatError if a broker of another format says something while we look. A key
// that stays as it is was left by one that is not there any more.
func (p *Presence) checkFormats(ctx context.Context) error {
	loaded := time.Now()
	for end := loaded.Add(gap); ; {
		found, alive := p.otherFormat(loaded)
		switch {
		case found == nil:
			return nil
		case alive:
			return found
		case time.Now().After(end):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Beat / 10):
		}
	}
}

// otherFormat finds a broker of another format, and says whether it said something since.
func (p *Presence) otherFormat(since time.Time) (found *FormatError, alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.other {
		if s.Format == p.cfg.Format || id == p.cfg.ID {
			continue
		}
		found = &FormatError{Ours: p.cfg.Format, Theirs: s.Format, OurVersion: p.cfg.Version, TheirVersion: s.Version, TheirBroker: id}
		if s.at.After(since) {
			return found, true
		}
	}
	return found, false
}

func (p *Presence) apply(key string, value []byte, _ uint64) func() {
	id := strings.TrimPrefix(key, brokers)
	p.mu.Lock()
	defer p.mu.Unlock()
	if value == nil {
		delete(p.other, id)
		return nil
	}
	var k brokerKey
	if json.Unmarshal(value, &k) != nil || k.Run == "" {
		return nil
	}
	p.other[id] = seen{k, time.Now()}
	return nil
}

// keepBeating writes our key until ctx is done, and removes it then.
func (p *Presence) keepBeating(ctx context.Context) {
	tick := time.NewTicker(Beat)
	defer tick.Stop()
	for n := 2; ; n++ {
		select {
		case <-tick.C:
			p.beat(ctx, n)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
			defer cancel()
			_, _ = p.cfg.KV.Delete(ctx, brokers+p.cfg.ID) // else it falls silent
			return
		}
	}
}

func (p *Presence) beat(ctx context.Context, n int) {
	text, err := json.Marshal(brokerKey{Run: p.run, Format: p.cfg.Format, Version: p.cfg.Version, Beat: n})
	if err == nil {
		err = p.put(ctx, brokers+p.cfg.ID, text)
	}
	if err != nil {
		return // we are cut off, which the time since wrote says
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.wrote) > gap {
		p.whole = now
	}
	p.wrote = now
}

// put sets a key, whatever it was.
func (p *Presence) put(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, rev, err := p.cfg.KV.Get(ctx, key)
	switch {
	case errors.Is(err, p.cfg.NotFound):
		_, err = p.cfg.KV.Create(ctx, key, value)
	case err == nil:
		_, err = p.cfg.KV.Update(ctx, key, value, rev)
	}
	return err
}

// Self names this run of this broker, as no other run is named.
func (p *Presence) Self() string { return p.run }

// Gone reports whether a run is over, or so long silent that it is taken for that.
func (p *Presence) Gone(run string) bool {
	if run == p.run {
		return false
	}
	id, _, _ := strings.Cut(run, ".")
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.wrote) > gap {
		return false // we are cut off ourselves
	}
	s, known := p.other[id]
	switch {
	case !known:
		return now.Sub(p.whole) > gap // it may be about to begin, or its word on its way to us
	case s.Run != run:
		return true
	}
	since := s.at
	if p.whole.After(since) {
		since = p.whole
	}
	return now.Sub(since) > SilentAfter
}

// Attached notes that a hook of this request waits here, and not where the request was recorded.
func (p *Presence) Attached(ctx context.Context, requestID string) error {
	return p.put(ctx, attached+requestID, []byte(p.run))
}

// Holder is the run that said so last; empty if none did.
func (p *Presence) Holder(ctx context.Context, requestID string) (run string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	value, _, err := p.cfg.KV.Get(ctx, attached+requestID)
	if errors.Is(err, p.cfg.NotFound) {
		return "", nil
	}
	return string(value), err
}

// Settled forgets what Attached noted.
func (p *Presence) Settled(ctx context.Context, requestID string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, _ = p.cfg.KV.Delete(ctx, attached+requestID) // a note that stays says nothing about another request
}

// Close says that this run is over.
func (p *Presence) Close() error {
	p.mirror.Close()
	return nil
}

// Sweep forgets what Attached noted of requests that wait no more and that nobody forgot, because the broker
// that had them was killed. waits says which still do. A note goes when this found it idle twice, so not while its request is
// on its way here.
func (p *Presence) Sweep(ctx context.Context, waits func(requestID string) bool) error {
	look, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	there := map[string]bool{}
	err := p.cfg.KV.Watch(look, attached, func(key string, value []byte, _ uint64) {
		if value == nil {
			delete(there, key)
		} else {
			there[key] = true
		}
	}, cancel)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the hooks at other brokers: %w", err)
	}
	p.sweeping.Lock()
	defer p.sweeping.Unlock()
	idle := map[string]bool{}
	for key := range there {
		id := strings.TrimPrefix(key, attached)
		switch {
		case waits(id):
		case p.idle[id]:
			p.Settled(ctx, id)
		default:
			idle[id] = true
		}
	}
	p.idle = idle
	return ctx.Err()
}
