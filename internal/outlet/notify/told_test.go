package notify_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/outlet/notify"
)

// twoBrokers runs f with two that share a store and have the same notice. teller says which of them tells: 0 or 1.
func twoBrokers(t *testing.T, refuses func(kind string) bool, f func(t *testing.T, r *rig, b *bot, teller *atomic.Int32, both func(func(*notify.Push)))) {
	t.Helper()
	withBot(t, refuses, func(t *testing.T, r *rig, b *bot) {
		var teller atomic.Int32
		r.end()
		r.cfg.Mine = func() bool { return teller.Load() == 0 }
		r.start()
		cfg := r.cfg
		cfg.Mine = func() bool { return teller.Load() == 1 }
		other, err := notify.Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- other.Run(ctx) }()
		synctest.Wait()
		first := r.push
		f(t, r, b, &teller, func(do func(*notify.Push)) {
			do(first)
			do(other)
			synctest.Wait()
		})
		cancel()
		<-ran
		_ = other.Close()
	})
}

func nobody(string) bool { return false }

// One of several brokers tells; who takes over tells what is left, and nothing twice.
func TestOneBrokerTells(t *testing.T) {
	twoBrokers(t, nobody, func(t *testing.T, r *rig, b *bot, teller *atomic.Int32, both func(func(*notify.Push))) {
		want := func(what, all string) {
			t.Helper()
			pass(time.Minute)
			if got := b.said(); got != all {
				t.Errorf("%s: told %q, want %q", what, got, all)
			}
		}
		turnEnds := func(session string) {
			both(func(p *notify.Push) {
				p.Observe(hook.Event{Type: hook.EventStop, Time: time.Now()}, hook.Payload{SessionID: session})
			})
		}
		waits := r.ask()
		turnEnds("s2")
		want("by the first", "request.asked turn.finished")
		teller.Store(-1) // the first was killed
		pass(time.Second)
		r.ask()
		turnEnds("s3")
		want("by nobody", "request.asked turn.finished")
		teller.Store(1)
		want("by the second", "request.asked turn.finished request.asked turn.finished")
		r.allow(waits)
		r.ask()
		want("more", "request.asked turn.finished request.asked turn.finished request.asked")
		teller.Store(0)
		want("by the first again", "request.asked turn.finished request.asked turn.finished request.asked")
		pass(10 * time.Minute)
		if got := strings.Count(b.said(), "request.waits"); got > 2 {
			t.Errorf("reminded %d times", got)
		}
		for key := range r.kv.Values() {
			if strings.HasPrefix(key, "push.told.") && strings.Contains(key, "bot") {
				t.Errorf("%s names a service", key)
			}
		}
	})
}

// Who is killed between the message and the note of it has it told once more, under the same id.
func TestToldTwiceHasOneID(t *testing.T) {
	twoBrokers(t, nobody, func(t *testing.T, r *rig, b *bot, teller *atomic.Int32, both func(func(*notify.Push))) {
		r.kv.SetDown(errors.New("away"))
		for range 2 {
			r.ask()
			pass(time.Minute)
		}
		both(func(p *notify.Push) {
			p.Halted(hook.Halt{Acts: []hook.HaltAct{{Act: hook.HaltStop, At: time.Now(), By: everything}}})
		})
		pass(time.Minute)
		r.kv.SetDown(nil)
		teller.Store(1)
		pass(time.Minute)
		if got := strings.Fields(b.said()); len(got) != 6 || len(b.ids) != 3 {
			t.Errorf("%q, %d ids", got, len(b.ids))
		}
	})
}

// A device hears from who took over that a request ended of which the former broker told it.
func TestSettledAfterTakeover(t *testing.T) {
	twoBrokers(t, nobody, func(t *testing.T, r *rig, _ *bot, teller *atomic.Int32, _ func(func(*notify.Push))) {
		r.vendor.Answer(nil)
		r.device("phone")
		first, second := r.ask(), r.ask()
		pass(time.Minute)
		teller.Store(-1)
		pass(time.Second)
		r.allow(first) // while nobody tells
		pass(2 * time.Second)
		teller.Store(1)
		pass(time.Minute)
		r.allow(second)
		pass(time.Minute)
		gone := map[string]int{}
		for _, m := range r.got() {
			for _, g := range m.Gone {
				gone[g.ID]++
			}
		}
		if gone[first.ID] != 1 || gone[second.ID] != 1 || len(gone) != 2 {
			t.Errorf("%v, of %s and %s", gone, first.ID, second.ID)
		}
		if got := strings.Count(r.types(), "asked"); got != 2 {
			t.Errorf("asked %d times", got)
		}
	})
}
