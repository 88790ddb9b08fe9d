package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/follow"
)

// Of two that have a cursor, the one that saved it last saves it again, and the other one not before it has read it.
func TestCursorIsFenced(t *testing.T) {
	s := open(t, Config{})
	ctx := t.Context()
	former, latter := s.Cursor("a.cursor"), s.Cursor("a.cursor")
	save := func(k *KeptCursor, seq uint64, want error) {
		t.Helper()
		if err := k.Save(ctx, follow.Cursor{Seq: seq}); !errors.Is(err, want) {
			t.Errorf("save %d: %v, want %v", seq, err, want)
		}
	}
	save(former, 1, nil)
	save(former, 2, nil)
	if c, ok, err := latter.Load(ctx); c.Seq != 2 || !ok || err != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	save(latter, 3, nil)
	save(former, 2, broker.ErrConflict) // it does not know yet that its turn is over
	save(former, 4, broker.ErrConflict)
	save(latter, 5, nil)
	if c, _, err := former.Load(ctx); c.Seq != 5 || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	save(former, 6, nil)

	// An acknowledgement was lost: what was saved is ours.
	if _, err := s.Put(ctx, "a.cursor", (follow.Cursor{Seq: 6}).Encode()); err != nil {
		t.Fatal(err)
	}
	save(former, 7, nil)
}

func TestCursor(t *testing.T) {
	s := open(t, Config{})
	ctx := t.Context()
	k := s.Cursor("a.cursor")
	if c, ok, err := k.Load(ctx); c != (follow.Cursor{}) || ok || err != nil {
		t.Errorf("before the first save: %+v, %t, %v", c, ok, err)
	}
	now, err := s.EventsNow(ctx)
	if err != nil || now.Made.IsZero() || now.Last != 0 {
		t.Fatalf("the stream is %+v, %v", now, err)
	}
	for _, want := range []uint64{7, 0, math.MaxUint64} {
		if err := k.Save(ctx, follow.Cursor{Seq: want, Made: now.Made}); err != nil {
			t.Fatal(err)
		}
		if c, ok, err := s.Cursor("a.cursor").Load(ctx); c.Seq != want || !c.Made.Equal(now.Made) || !ok || err != nil {
			t.Errorf("saved %d: %+v, %t, %v", want, c, ok, err)
		}
	}
	if _, ok, err := s.Cursor("a.other").Load(ctx); ok || err != nil {
		t.Errorf("another one: %t, %v", ok, err)
	}
	for _, text := range []string{"", "-1", "x", "1 ", `{"seq":`} {
		if _, err := s.Put(ctx, "a.cursor", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if c, ok, err := k.Load(ctx); ok || err == nil {
			t.Errorf("%q is taken for %+v", text, c)
		}
	}
	// What earlier releases saved.
	if _, err := s.Put(ctx, "a.cursor", []byte("7")); err != nil {
		t.Fatal(err)
	}
	if c, ok, err := k.Load(ctx); c.Seq != 7 || !c.Made.IsZero() || c.Stored.Before(now.Made) || !ok || err != nil {
		t.Errorf("a number alone: %+v, %t, %v", c, ok, err)
	}
	if _, err := s.Delete(ctx, "a.cursor"); err != nil {
		t.Fatal(err)
	}
	if c, ok, err := k.Load(ctx); ok || err != nil {
		t.Errorf("deleted: %+v, %t, %v", c, ok, err)
	}
}

// anewEvents replaces the event stream by another of n events, as an operator and another broker do.
func (s *Stream) anewEvents(t *testing.T, n int) {
	t.Helper()
	if err := s.events.js.DeleteStream(t.Context(), EventsStream); err != nil {
		t.Fatal(err)
	}
	if err := s.layoutEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	publishEvents(t, s, n)
}

func publishEvents(t *testing.T, s *Stream, n int) {
	t.Helper()
	for range n {
		e := fullEvent()
		e.ID = ""
		mustPublish(t, s, e)
	}
}

// A follower stores sequences with its cursor and stops at any moment: each event of each stream comes,
// whatever became of the stream meanwhile.
func TestGoOn(t *testing.T) {
	const read = 5
	for _, x := range []struct {
		name   string
		change func(*testing.T, *Stream)
		found  follow.Found
		want   []uint64
	}{
		{"longer", func(t *testing.T, s *Stream) { publishEvents(t, s, 2) }, follow.Same, []uint64{6, 7}},
		{"anew and shorter", func(t *testing.T, s *Stream) { s.anewEvents(t, 2) }, follow.Anew, []uint64{1, 2}},
		{"anew and as long", func(t *testing.T, s *Stream) { s.anewEvents(t, 5) }, follow.Anew, []uint64{1, 2, 3, 4, 5}},
		{"anew and longer", func(t *testing.T, s *Stream) { s.anewEvents(t, 7) }, follow.Anew, []uint64{1, 2, 3, 4, 5, 6, 7}},
		{"its start is gone", func(t *testing.T, s *Stream) {
			publishEvents(t, s, 4)
			st, err := s.events.js.Stream(t.Context(), EventsStream)
			if err != nil {
				t.Fatal(err)
			}
			for seq := range uint64(7) {
				if err := st.DeleteMsg(t.Context(), seq+1); err != nil {
					t.Fatal(err)
				}
			}
		}, follow.Same, []uint64{8, 9}},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, old %t", x.name, old), func(t *testing.T) {
				x2 := startExternal(t, maxPayload)
				s := open(t, Config{URL: x2.srv.ClientURL(), Logf: t.Logf})
				publishEvents(t, s, read)
				now, err := s.EventsNow(t.Context())
				if err != nil || now.Last != read {
					t.Fatalf("%+v, %v", now, err)
				}
				k := s.Cursor("a.cursor")
				if old {
					_, err = s.Put(t.Context(), "a.cursor", fmt.Appendf(nil, "%d", read))
				} else {
					err = k.Save(t.Context(), follow.Cursor{Seq: read, Made: now.Made})
				}
				if err != nil {
					t.Fatal(err)
				}
				x.change(t, s)
				c, ok, err := k.Load(t.Context())
				if err != nil || !ok {
					t.Fatalf("%t, %v", ok, err)
				}
				if now, err = s.EventsNow(t.Context()); err != nil {
					t.Fatal(err)
				}
				if x.found == follow.Anew {
					if err := s.EventsAfter(t.Context(), c, func(e hook.Event) { t.Errorf("event %d", e.Seq) }); !errors.Is(err, follow.ErrAnew) {
						t.Errorf("from a cursor in another stream: %v", err)
					}
				}
				c, found := c.Resume(now)
				if found != x.found || !c.Made.Equal(now.Made) {
					t.Fatalf("%+v, %d; want %d", c, found, x.found)
				}
				if got := after(t, s, c, len(x.want)); !slices.Equal(got, x.want) {
					t.Errorf("came %d, want %d", got, x.want)
				}
			})
		}
	}
}

// after returns the sequences of n events behind c.
func after(t *testing.T, s *Stream, c follow.Cursor, n int) (list []uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.EventsAfter(ctx, c, func(e hook.Event) {
		if list = append(list, e.Seq); len(list) == n {
			cancel()
		}
	})
	if len(list) < n || !errors.Is(err, context.Canceled) {
		t.Fatalf("%d of %d events came: %v", len(list), n, err)
	}
	return list
}

// The stream that is being read is deleted and made anew.
func TestAnewWhileRead(t *testing.T) {
	for _, n := range []int{0, 2, 5, 9} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := startExternal(t, maxPayload)
			s := open(t, Config{URL: x.srv.ClientURL(), Logf: t.Logf})
			publishEvents(t, s, 5)
			now, err := s.EventsNow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen, observed := make(chan uint64, 100), make(chan uint64, 100)
			ended := make(chan error, 2)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				ended <- s.EventsAfter(ctx, follow.Cursor{Made: now.Made}, func(e hook.Event) { seen <- e.Seq })
			}()
			go func() { ended <- s.Observe(ctx, 1, func(e hook.Event) { observed <- e.Seq }) }()
			for i := range uint64(5) {
				if a, b := receive(t, seen), receive(t, observed); a != i+1 || b != i+1 {
					t.Fatalf("%d and %d, want %d", a, b, i+1)
				}
			}
			s.anewEvents(t, n)
			if err := receive(t, ended); !errors.Is(err, follow.ErrAnew) {
				t.Errorf("who keeps a cursor hears %v", err)
			}
			if len(seen) > 0 {
				t.Errorf("and event %d of the new one", <-seen)
			}
			publishEvents(t, s, 1)
			for i := range uint64(n + 1) { // the broker goes on by itself
				if got := receive(t, observed); got != i+1 {
					t.Errorf("observed %d, want %d", got, i+1)
				}
			}
			cancel()
			receive(t, ended)
		})
	}
}

// An embedded stream is the same after a restart, and another when its directory was removed.
func TestCursorAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	var made [3]follow.Stream
	for i := range made {
		s, err := Open(t.Context(), Config{Dir: dir, Logf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		publishEvents(t, s, 3)
		if made[i], err = s.EventsNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if err := os.RemoveAll(s.engineDir("events")); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := follow.Cursor{Seq: 3, Made: made[0].Made}
	if got, found := c.Resume(made[1]); got.Seq != 3 || found != follow.Same || made[1].Last != 6 {
		t.Errorf("after a restart: %+v, %d of %+v", got, found, made[1])
	}
	if got, found := c.Resume(made[2]); got.Seq != 0 || found != follow.Anew || made[2].Last != 3 {
		t.Errorf("after it was removed: %+v, %d of %+v", got, found, made[2])
	}
}

// A follower that dies between its work and the save does that work again, and leaves none out.
func TestDeathBeforeSave(t *testing.T) {
	s := open(t, Config{})
	publishEvents(t, s, 20)
	k := s.Cursor("a.cursor")
	now, err := s.EventsNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := follow.Cursor{Made: now.Made}
	if err := k.Save(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var done []uint64
	for life := 0; len(done) == 0 || done[len(done)-1] < 20; life++ {
		if c, _, err = k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, _ = c.Resume(now)
		ctx, die := context.WithTimeout(t.Context(), patience)
		n := 0
		_ = s.EventsAfter(ctx, c, func(e hook.Event) {
			if ctx.Err() != nil {
				return
			}
			done = append(done, e.Seq)
			if n++; n == 3 || e.Seq == 20 { // the third is done and not saved
				die()
				return
			}
			if err := k.Save(t.Context(), follow.Cursor{Seq: e.Seq, Made: c.Made}); err != nil {
				t.Error(err)
			}
		})
		die()
		if life > 20 {
			t.Fatalf("done %d", done)
		}
	}
	again := 0
	for i, seq := range done {
		switch {
		case i > 0 && seq == done[i-1]:
			again++
		case i > 0 && seq != done[i-1]+1, i == 0 && seq != 1:
			t.Fatalf("done %d", done)
		}
	}
	if again != 9 {
		t.Errorf("%d were done twice: %d", again, done)
	}
}

// The sequences of a broker's checkpoint count in two streams.
func TestCheckpointOfAnotherStream(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, n := range []int{1, 3, 9} { // shorter, as long, longer
			t.Run(fmt.Sprintf("%d, old %t", n, old), func(t *testing.T) {
				x := startExternal(t, maxPayload)
				url := x.srv.ClientURL()
				ctx := t.Context()
				first := open(t, Config{URL: url, Logf: t.Logf})
				if c, err := first.Checkpoint(ctx); err != nil || c.Tail != 0 {
					t.Fatalf("%+v, %v", c, err)
				}
				publishEvents(t, first, 3)
				for range 3 {
					mustAppend(t, first, asked(t), 0)
				}
				seen := observeAll(t, first, 1, 3)
				want := broker.Checkpoint{Seq: 3, Tail: 3, Live: []string{"x"}, EventSeq: seen}
				if old {
					text, err := json.Marshal(want)
					if err == nil {
						_, err = first.Put(ctx, checkpointKey, text)
					}
					if err != nil {
						t.Fatal(err)
					}
				} else if err := first.SaveCheckpoint(ctx, want); err != nil {
					t.Fatal(err)
				}

				// Nothing has changed but a new event.
				publishEvents(t, first, 1)
				second := open(t, Config{URL: url, Logf: t.Logf})
				c, err := second.Checkpoint(ctx)
				if err != nil || c.Seq != 3 || c.Tail != 3 || len(c.Live) != 1 || c.EventSeq != 3 {
					t.Fatalf("%+v, %v", c, err)
				}
				if last := observeAll(t, second, c.EventSeq+1, 1); last != 4 {
					t.Errorf("observed %d, want 4", last)
				}

				// Both are others.
				second.anewEvents(t, n)
				if err := second.record.js.DeleteStream(ctx, RecordStream); err != nil {
					t.Fatal(err)
				}
				if err := second.layoutRecord(ctx); err != nil {
					t.Fatal(err)
				}
				for range n {
					mustAppend(t, second, asked(t), 0)
				}
				third := open(t, Config{URL: url, Logf: t.Logf})
				if c, err = third.Checkpoint(ctx); err != nil || c.Seq != 0 || c.Tail != 0 || c.Live != nil {
					t.Fatalf("of another record: %+v, %v", c, err)
				}
				tailed := 0
				tail, stop := context.WithTimeout(ctx, patience)
				defer stop()
				_ = third.Tail(tail, c.Seq, func(hook.Record) { tailed++ }, stop)
				if tailed != n {
					t.Errorf("%d records came, want %d", tailed, n)
				}
				if last := observeAll(t, third, c.EventSeq+1, n); last != uint64(n) {
					t.Errorf("observed up to %d, want %d", last, n)
				}
				// And what it saves now counts in these.
				want = broker.Checkpoint{Seq: uint64(n), Tail: uint64(n), EventSeq: uint64(n)}
				if err := third.SaveCheckpoint(ctx, want); err != nil {
					t.Fatal(err)
				}
				if c, err = open(t, Config{URL: url, Logf: t.Logf}).Checkpoint(ctx); err != nil || c.Tail != want.Tail || c.EventSeq != want.EventSeq {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
	}
}

// observeAll observes n events and returns the sequence of the last.
func observeAll(t *testing.T, s *Stream, from uint64, n int) (last uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make(chan uint64, 100)
	done := make(chan error, 1)
	go func() { done <- s.Observe(ctx, from, func(e hook.Event) { got <- e.Seq }) }()
	for range n {
		select {
		case last = <-got:
		case <-time.After(patience):
			t.Fatal("an event did not come")
		}
	}
	cancel()
	<-done
	return last
}
