package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"assent/internal/torture/baddisk"
)

// The nemeses, by name.
const (
	killBroker = "kill-broker" // kill -9, started again later
	stopBroker = "stop-broker" // SIGSTOP for a while
	rolling    = "rolling"     // each broker ended and started, one after the other
	killNATS   = "kill-nats"
	stopNATS   = "stop-nats"
	stepDown   = "step-down" // the leader of the record is asked to let another lead
	partition  = "partition" // one process, or one pair, is cut off from the others
	slowLink   = "slow-link" // what one process says to another, and hears, takes a while
	slowDisk   = "slow-disk" // each fsync of one process that keeps the record takes a while
	fullDisk   = "full-disk" // one of them has no space left
	clock      = "clock"     // the wall clock of one process jumps, and stays there
)

// Nemeses are all of them.
var Nemeses = []string{killBroker, stopBroker, rolling, killNATS, stopNATS, stepDown, partition, slowLink, slowDisk, fullDisk, clock} // read-only

// possible are those that there are something for.
func (o *Options) possible() (names []string) {
	for _, name := range Nemeses {
		switch name {
		case killNATS, stopNATS, partition, slowLink:
			if o.NATS == 0 {
				continue
			}
		case stepDown:
			if o.NATS < 3 {
				continue
			}
		case slowDisk, fullDisk:
			if !baddisk.Possible() {
				continue
			}
		case clock:
			if !canSetClocks {
				continue
			}
		}
		names = append(names, name)
	}
	return names
}

// strike is one thing that is done.
type strike struct {
	after time.Duration // since the one before it was repaired
	kind  string
	at    int           // which process, or link
	lasts time.Duration // until it is mended
	early bool          // the next one does not wait until all serve again
}

// schedule is what is done, from the seed alone: as much as fills the time.
func schedule(o *Options, random *rand.Rand) (strikes []strike) {
	for total := time.Duration(0); total < o.For; {
		s := strike{
			after: time.Second + time.Duration(random.Int64N(int64(3*time.Second))),
			kind:  o.Nemesis[random.IntN(len(o.Nemesis))],
			at:    random.IntN(1 << 16),
			lasts: 500*time.Millisecond + time.Duration(random.Int64N(int64(7*time.Second))),
			early: random.IntN(4) == 0,
		}
		total += s.after + s.lasts
		strikes = append(strikes, s)
	}
	return strikes
}

// nemesis does what the schedule says until ctx is done. Each strike is mended before the next, so that of
// three nats-servers two stand.
func (r *run) nemesis(ctx context.Context, counts map[string]int) {
	for _, s := range schedule(&r.o, r.random(kindNemesis, 0)) {
		if !pause(ctx, s.after) {
			return
		}
		counts[s.kind]++
		r.h.note("%s %d for %v", s.kind, s.at, s.lasts.Round(time.Millisecond))
		r.strike(ctx, s)
		if !s.early { // else a slow machine would do nothing but start
			_ = r.w.serve(ctx, serveTime) // the next strike comes all the same
		}
	}
}

// serveTime bounds how long a strike waits until what the one before it broke serves again.
const serveTime = 30 * time.Second

// pick is the one of a list that a strike is for.
func pick[T any](list []T, s strike) T { return list[s.at%len(list)] }

func (r *run) strike(ctx context.Context, s strike) {
	w := r.w
	hold := func(p *process, begin, end syscall.Signal) {
		p.signal(begin)
		pause(ctx, s.lasts)
		if end != 0 {
			p.signal(end)
		}
		_ = p.start() // recover looks
	}
	switch s.kind {
	case killBroker:
		hold(pick(w.brokers, s), syscall.SIGKILL, 0)
	case stopBroker:
		hold(pick(w.brokers, s), syscall.SIGSTOP, syscall.SIGCONT)
	case killNATS:
		hold(pick(w.nodes, s), syscall.SIGKILL, 0)
	case stopNATS:
		hold(pick(w.nodes, s), syscall.SIGSTOP, syscall.SIGCONT)
	case rolling:
		for _, b := range w.brokers {
			b.signal(syscall.SIGTERM)
			_ = b.start() // recover looks
			if !pause(ctx, time.Second+s.lasts/3) {
				return
			}
		}
	case stepDown:
		if err := askToStepDown(pick(w.nodes, s).url); err != nil {
			r.h.note("step-down: %v", err)
		}
	case slowLink:
		l := pick(w.links, s)
		l.slow.Store(int64(10*time.Millisecond + time.Duration(s.at%290)*time.Millisecond))
		pause(ctx, s.lasts)
		l.slow.Store(0)
	case slowDisk:
		if err := pick(w.disked(), s).disk.Slow(ctx, 50*time.Millisecond+time.Duration(s.at%2450)*time.Millisecond, s.lasts); err != nil {
			r.h.violate("the nemesis: %v", err)
		}
	case fullDisk:
		p := pick(w.disked(), s)
		if err := p.disk.Fill(); err != nil {
			r.h.violate("the nemesis: %v", err)
		}
		pause(ctx, s.lasts)
		p.disk.Heal()
		if w.o.NATS > 0 { // a nats-server that had no space writes again when it is started again
			p.signal(syscall.SIGTERM)
			_ = p.start() // recover looks
		}
	case clock:
		if err := pick(w.all(), s).setClock(int64(s.at%1201) - 600); err != nil {
			r.h.violate("the nemesis: %v", err)
		}
	case partition:
		cut := r.cut(s.at)
		pause(ctx, s.lasts)
		for _, l := range cut {
			l.set(true)
		}
	}
}

// cut separates one process from all others, or one pair.
func (r *run) cut(at int) (cut []*link) {
	names := map[string]bool{}
	if at%2 == 0 {
		all := r.w.all()
		names[all[at/2%len(all)].name] = true
	} else {
		l := r.w.links[at/2%len(r.w.links)]
		names[l.from], names[l.to] = true, true
	}
	for _, l := range r.w.links {
		if len(names) == 1 && (names[l.from] || names[l.to]) || len(names) == 2 && names[l.from] && names[l.to] {
			l.set(false)
			cut = append(cut, l)
		}
	}
	return cut
}

// askToStepDown asks through a nats-server.
func askToStepDown(url string) error {
	nc, err := nats.Connect(url, nats.Timeout(2*time.Second), nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	answer, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.APPROVALS", nil, 3*time.Second)
	if err != nil {
		return fmt.Errorf("ask the leader: %w", err)
	}
	_ = answer // whoever leads now
	return nil
}
