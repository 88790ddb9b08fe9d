// Package torture runs real brokers on real nats-servers, with hooks and approvers as clients, breaks them by a
// seeded schedule, and checks what everybody was told against what the brokers promise.
//
// The promises: a request has one outcome, and everybody who is told of one is told of that; decisions are
// linearizable (a request is a register that is written once); a hook gets what is recorded, or its fallback; no
// hook is told to allow without the record of an approver who said so; no request is forgotten while its hook
// waits; the events of a session are in the stream once, in their order.
//
// What is broken when, and what clients do, follows from the seed. What comes of it depends on the
// machine as well: a seed that found something finds it again in most runs, not in all.
//
// # Concurrency
//
// Run starts a goroutine for each client, one for the nemesis, and those of the links between processes. All
// have ended, and all processes with them, when it returns.
package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// Options say what to torture. Use Check before Run.
type Options struct {
	// Program is the assent program, which is run as brokers, hooks and nats-servers.
	Program string
	// Brokers is 1 or 3; NATS is 0 (one broker with its own engine), 1 or 3.
	Brokers, NATS int
	// For is how long clients ask; what follows, until all is answered and looked at, comes on top.
	For  time.Duration
	Seed uint64
	// Nemesis names what is done, see Nemeses; empty: all that is possible.
	Nemesis []string
	// Hooks and Approvers are how many there are at a time; 0: eight and six.
	Hooks, Approvers int
	// Dir keeps what the processes wrote; empty: a temporary directory, removed unless something was found.
	Dir string
	// Progress hears a line now and then; nil discards it.
	Progress func(string)
	// Env is added to the environment of brokers.
	Env []string
}

// Result is what a run found.
type Result struct {
	Seed       uint64         `json:"seed"`
	Brokers    int            `json:"brokers"`
	NATS       int            `json:"nats"`
	Seconds    float64        `json:"seconds"`
	Strikes    map[string]int `json:"strikes"`
	Requests   int            `json:"requests"`
	Answered   int            `json:"answered"`   // hooks that got what was recorded
	Expired    int            `json:"expired"`    // whose own time was over
	Hangups    int            `json:"hangups"`    // that went away themselves
	Unanswered int            `json:"unanswered"` // that were handed back without one of those
	OneBroker  int            `json:"oneBroker"`  // of these, who knew one broker only, by its socket
	Decisions  int            `json:"decisions"`
	Won        int            `json:"won"`
	Lost       int            `json:"lost"`
	Unknown    int            `json:"unknown"`
	Unchecked  int            `json:"unchecked"` // requests for which the checker had too little time
	Events     int            `json:"events"`
	Violations []string       `json:"violations"`
	Dir        string         `json:"dir,omitempty"` // where the logs are, if something was found
}

// maxViolations bounds how many are kept of one run.
const maxViolations = 50

// Check returns an error if o asks for what there is not, and fills in the rest.
func (o *Options) Check() error {
	switch {
	case o.Brokers != 1 && o.Brokers != 3:
		return errors.New("-brokers: want 1 or 3")
	case o.NATS != 0 && o.NATS != 1 && o.NATS != 3:
		return errors.New("-nats: want 1 or 3, or 0 for a broker with its own engine")
	case o.NATS == 0 && o.Brokers > 1:
		return errors.New("-nats 0: a broker with its own engine shares it with nobody; want -brokers 1")
	case o.For < time.Second || o.For > 24*time.Hour:
		return errors.New("-for: want a duration from 1s to 24h")
	}
	known := o.possible()
	if len(o.Nemesis) == 0 {
		o.Nemesis = known
	}
	for _, name := range o.Nemesis {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			return fmt.Errorf("-nemesis: %q is not possible here; want of: %v", name, known)
		}
	}
	if o.Hooks <= 0 {
		o.Hooks = 8
	}
	if o.Approvers <= 0 {
		o.Approvers = 6
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return nil
}

// Run tortures until o.For is over, lets everything recover, and looks at what came of it. The error says that
// it could not be run; what it found is in the Result.
func Run(ctx context.Context, o Options) (res Result, err error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	began := time.Now()
	res = Result{Seed: o.Seed, Brokers: o.Brokers, NATS: o.NATS, Strikes: map[string]int{}, Violations: []string{}}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "assent-torture-"); err != nil {
			return res, err
		}
		defer func() {
			if err == nil && len(res.Violations) == 0 {
				_ = os.RemoveAll(dir)
			} else {
				res.Dir = dir
			}
		}()
	}
	w, err := build(ctx, o, dir)
	if err != nil {
		return res, err
	}
	defer w.end()
	h := &history{began: time.Now()}
	r := &run{o: o, w: w, h: h}
	if err := r.credentials(ctx); err != nil {
		return res, err
	}
	o.Progress(fmt.Sprintf("seed %d: %d broker(s), %d nats-server(s), %v of %v", o.Seed, o.Brokers, o.NATS, o.For, o.Nemesis))

	asking, stopAsking := context.WithTimeout(ctx, o.For)
	defer stopAsking()
	deciding, stopDeciding := context.WithCancel(ctx)
	defer stopDeciding()
	var hooks, approvers, nemesis sync.WaitGroup
	for i := range o.Hooks {
		hooks.Go(func() { r.hooks(asking, i) })
	}
	for i := range events {
		hooks.Go(func() { r.events(asking, i) })
	}
	for i := range o.Approvers {
		approvers.Go(func() { r.approver(deciding, i) })
	}
	nemesis.Go(func() { r.nemesis(asking, res.Strikes) })
	stopSaying := r.say(ctx, h.summary)
	nemesis.Wait()
	<-asking.Done()
	w.heal()
	err = w.recover(ctx)
	waited := make(chan struct{})
	go func() { hooks.Wait(); close(waited) }()
	r.drain(waited)
	r.cancelHooks()
	<-waited
	stopDeciding()
	approvers.Wait()
	stopSaying()
	if err != nil {
		return res, err
	}
	r.judge(ctx, &res)
	res.Seconds = time.Since(began).Seconds()
	return res, ctx.Err()
}

// How long hooks may wait for their answer after everything was mended: in all, and without any of them getting one.
const (
	drainTime = 90 * time.Second
	stillTime = 20 * time.Second
)

// drain waits until the last hook has its answer, or none gets one any more.
func (r *run) drain(waited <-chan struct{}) {
	end, still, left := time.After(drainTime), time.NewTicker(stillTime), r.h.waitingNow()
	defer still.Stop()
	for {
		select {
		case <-waited:
			return
		case <-end:
		case <-still.C:
			if now := r.h.waitingNow(); now < left {
				left = now
				continue
			}
		}
		if n := r.h.waitingNow(); n > 0 { // else events are told of still
			r.h.violate("forgotten: %d hooks still wait, long after everything was mended", n)
			return
		}
		<-waited
		return
	}
}

// run is one run.
type run struct {
	o       Options
	w       *world
	h       *history
	submit  string   // token
	approve []string // tokens, one for each approver

	mu   sync.Mutex
	ends []context.CancelFunc // of hooks that wait; guarded by mu
}

// random is the source of the n-th client of a kind: what it does does not depend on the others.
func (r *run) random(kind, n int) *rand.Rand {
	return rand.New(rand.NewPCG(r.o.Seed, uint64(kind)<<32|uint64(n)))
}

// The kinds of clients.
const (
	kindHook = iota + 1
	kindApprover
	kindEvents
	kindNemesis
)

func (r *run) cancelHooks() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range r.ends {
		end()
	}
}

// say reports how far the run is every ten seconds until it is stopped.
func (r *run) say(ctx context.Context, line func() string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.o.Progress(line())
			}
		}
	})
	return func() { cancel(); done.Wait() }
}
