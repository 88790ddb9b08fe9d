package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// page is what a watcher shows: it follows snapshots and changes as a client does.
type page struct {
	t     *testing.T
	w     *broker.Watcher
	epoch string
	seq   uint64
	cards map[string]broker.View // pending
	ended map[string]broker.View
	snaps int
}

func openPage(t *testing.T, b *broker.Broker, epoch string, after uint64) *page {
	p := &page{t: t, w: b.Watch(epoch, after), epoch: epoch, seq: after,
		cards: map[string]broker.View{}, ended: map[string]broker.View{}}
	return p
}

// follow takes what is there without waiting for more.
func (p *page) follow() {
	p.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		batch, err := p.w.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		if err != nil {
			p.t.Fatalf("Next: %v", err)
		}
		p.take(batch)
	}
}

func (p *page) take(batch broker.Batch) {
	p.t.Helper()
	if s := batch.Snapshot; s != nil {
		p.snaps++
		p.epoch, p.seq, p.cards = s.Epoch, s.Seq, map[string]broker.View{}
		for _, v := range s.Pending {
			p.cards[v.ID] = v
		}
		return
	}
	for _, c := range batch.Changes {
		if c.Seq != p.seq+1 {
			p.t.Fatalf("change %d after %d", c.Seq, p.seq)
		}
		p.seq = c.Seq
		if c.View.State == broker.Pending {
			p.cards[c.View.ID] = c.View
		} else {
			delete(p.cards, c.View.ID)
			p.ended[c.View.ID] = c.View
		}
	}
}

func TestWatchShowsEveryStep(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		before := r.request("early")
		r.ask(before)
		p := openPage(t, r.b, "", 0)
		defer p.w.Close()
		p.follow()
		if _, ok := p.cards[before.ID]; !ok || p.snaps != 1 {
			t.Fatalf("first snapshot: %v", p.cards)
		}
		q := r.request("x", remote)
		w := r.ask(q)
		p.follow()
		if v := p.cards[q.ID]; v.ToolName != "Bash" || v.Detached {
			t.Errorf("card %+v", v)
		}
		w.hangUp()
		synctest.Wait()
		p.follow()
		if v := p.cards[q.ID]; !v.Detached {
			t.Errorf("card of a detached request %+v", v)
		}
		r.ask(q)
		p.follow()
		if v := p.cards[q.ID]; v.Detached {
			t.Errorf("card of a request whose hook is back %+v", v)
		}
		r.decide(q, allow(q))
		r.b.Delivered(q.ID)
		r.observe("PostToolUse", q)
		followUpsDone()
		p.follow()
		if v := p.ended[q.ID]; v.Outcome != hook.Allowed || v.Delivery != broker.Confirmed || v.DecidedBy.Name != "phone" {
			t.Errorf("ended %+v", v)
		}
		if _, ok := p.cards[q.ID]; ok || p.snaps != 1 {
			t.Errorf("cards %v after %d snapshots", p.cards, p.snaps)
		}
	})
}

func TestWatchResumes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := openPage(t, r.b, "", 0)
		r.ask(r.request("a"))
		p.follow()
		p.w.Close()
		if _, err := p.w.Next(t.Context()); !errors.Is(err, broker.ErrWatcherClosed) {
			t.Errorf("Next after Close: %v", err)
		}
		r.ask(r.request("b"))
		p.w = r.b.Watch(p.epoch, p.seq)
		p.follow()
		if p.snaps != 1 || len(p.cards) != 2 {
			t.Errorf("resumed with %d snapshots, %d cards", p.snaps-1, len(p.cards))
		}
		p.w.Close()
		for _, c := range []struct {
			name  string
			epoch string
			after uint64
		}{{"another run", "x", p.seq}, {"the future", p.epoch, p.seq + 1}} {
			w := r.b.Watch(c.epoch, c.after)
			if batch, err := w.Next(t.Context()); err != nil || batch.Snapshot == nil {
				t.Errorf("%s: no snapshot but %+v, %v", c.name, batch, err)
			}
			w.Close()
		}
	})
}

// A watcher that sleeps through more than the ring holds gets a snapshot, then goes on.
func TestWatcherFallsBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		slow := openPage(t, r.b, "", 0)
		defer slow.w.Close()
		slow.follow()
		quick := openPage(t, r.b, "", 0)
		defer quick.w.Close()
		quick.follow()
		for range 2100 { // two changes each
			q := r.request("x")
			r.ask(q).hangUp()
			synctest.Wait()
			quick.follow()
		}
		stays := r.request("stays")
		r.ask(stays)
		slow.follow()
		quick.follow()
		if slow.snaps != 2 || quick.snaps != 1 {
			t.Errorf("snapshots: slow %d, quick %d; want 2 and 1", slow.snaps, quick.snaps)
		}
		for _, p := range []*page{slow, quick} {
			if _, ok := p.cards[stays.ID]; !ok || len(p.cards) != 1 {
				t.Errorf("%d cards", len(p.cards))
			}
		}
	})
}

// Large payloads push older changes out of the ring before their number does.
func TestRingIsBoundedInBytes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := openPage(t, r.b, "", 0)
		defer p.w.Close()
		p.follow()
		big := strings.Repeat("x", 1<<20)
		for range 20 {
			q := r.request("x")
			q.Raw = []byte(big)
			r.ask(q)
		}
		p.follow()
		if p.snaps != 2 || len(p.cards) != 20 {
			t.Errorf("%d snapshots, %d cards; want the changes dropped", p.snaps, len(p.cards))
		}
	})
}

func TestChangeIsEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		log := logtest.New()
		b, err := broker.New(t.Context(), broker.Config{Log: log, SingleReplica: true, Encode: func(v broker.View) []byte {
			n++
			return []byte(v.ID)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		one, two := b.Watch("", 0), b.Watch("", 0)
		defer one.Close()
		defer two.Close()
		one.Next(t.Context())
		two.Next(t.Context())
		askOn(t, b, newRequest("id", "s", "x", 1))
		synctest.Wait()
		if n != 0 {
			t.Error("encoded before anybody asked")
		}
		for _, w := range []*broker.Watcher{one, two} {
			batch, err := w.Next(t.Context())
			if err != nil || string(batch.Changes[0].JSON()) != "id" {
				t.Errorf("%+v, %v", batch, err)
			}
		}
		if n != 1 {
			t.Errorf("encoded %d times", n)
		}
	})
}

func TestNextEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ends := func(what string, want error, end func(*broker.Watcher, context.CancelFunc)) {
			w := r.b.Watch("", 0)
			w.Next(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := make(chan error, 1)
			go func() {
				_, err := w.Next(ctx)
				got <- err
			}()
			synctest.Wait()
			end(w, cancel)
			if err := <-got; !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		ends("Close", broker.ErrWatcherClosed, func(w *broker.Watcher, _ context.CancelFunc) { w.Close() })
		ends("its context", context.Canceled, func(_ *broker.Watcher, cancel context.CancelFunc) { cancel() })
		ends("the broker", broker.ErrStopping, func(*broker.Watcher, context.CancelFunc) { r.b.Close() })
	})
}

// Snapshots are taken while changes go on: no page may miss or repeat one.
func TestSnapshotsFitTheChanges(t *testing.T) {
	synctest.Test(t, snapshotsFitTheChanges)
}

func snapshotsFitTheChanges(t *testing.T) {
	b, err := broker.New(t.Context(), broker.Config{Log: logtest.New(), SingleReplica: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var hooks, pages sync.WaitGroup
	const stay, leave = 50, 150
	const changes = 2*leave + stay // asked and ended, asked
	for i := range stay + leave {
		hooks.Go(func() {
			hctx, hangUp := context.WithCancel(ctx)
			defer hangUp()
			if i >= stay {
				go hangUp()
			}
			if _, err := askAndWait(hctx, b, newRequest(fmt.Sprint("r", i), "s", "x", uint64(i))); !errors.Is(err, context.Canceled) {
				t.Errorf("Ask: %v", err)
			}
		})
		if i%10 == 0 {
			pages.Go(func() {
				p := openPage(t, b, "", 0)
				defer p.w.Close()
				for p.seq < changes {
					batch, err := p.w.Next(ctx)
					if err != nil {
						t.Errorf("Next: %v after change %d", err, p.seq)
						return
					}
					p.take(batch)
				}
				if len(p.cards) != stay {
					t.Errorf("%d cards, want %d", len(p.cards), stay)
				}
			})
		}
	}
	pages.Wait()
	cancel()
	hooks.Wait()
}

// Who waits for other things beside the changes is woken for them, also by a call that comes before Next blocks.
func TestWakeLetsNextGo(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.b.Watch("", 0)
		defer w.Close()
		if batch, err := w.Next(t.Context()); err != nil || batch.Snapshot == nil {
			t.Fatalf("%+v, %v, want a snapshot", batch, err)
		}
		w.Wake()
		w.Wake() // is one with the first
		next := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			batch, err := w.Next(ctx)
			if batch.Snapshot != nil || batch.Changes != nil {
				t.Errorf("%+v, want nothing", batch)
			}
			return err
		}
		if err := next(); err != nil {
			t.Errorf("woken before: %v", err)
		}
		time.AfterFunc(time.Second, w.Wake)
		if err := next(); err != nil {
			t.Errorf("woken while it blocked: %v", err)
		}
		if err := next(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not woken: %v", err)
		}
	})
}
