package logtest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

// tailing runs Tail in a goroutine and hands out what it applied.
type tailing struct {
	mu     sync.Mutex
	seen   []hook.Record
	caught []int // how many records were applied at each call of caughtUp
	moved  chan struct{}
	stop   context.CancelFunc
	done   chan error
}

func startTail(t *testing.T, l broker.Log, from uint64) *tailing {
	ctx, cancel := context.WithCancel(context.Background())
	tl := &tailing{moved: make(chan struct{}, 1), stop: cancel, done: make(chan error, 1)}
	poke := func() {
		select {
		case tl.moved <- struct{}{}:
		default:
		}
	}
	go func() {
		tl.done <- l.Tail(ctx, from, func(rec hook.Record) {
			tl.mu.Lock()
			tl.seen = append(tl.seen, rec)
			tl.mu.Unlock()
			poke()
		}, func() {
			tl.mu.Lock()
			tl.caught = append(tl.caught, len(tl.seen))
			tl.mu.Unlock()
			poke()
		})
	}()
	t.Cleanup(cancel)
	return tl
}

// until waits for cond, which is called with the lock.
func (tl *tailing) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		tl.mu.Lock()
		ok := cond()
		n, caught := len(tl.seen), tl.caught
		tl.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-tl.moved:
		case <-timeout:
			t.Fatalf("tail: no %s; %d records, caught up %v", what, n, caught)
		}
	}
}

// end stops the tail and holds it to its error and to a single caughtUp.
func (tl *tailing) end(t *testing.T) []hook.Record {
	t.Helper()
	tl.stop()
	select {
	case err := <-tl.done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Tail returned %v, want its context's error", err)
		}
	case <-time.After(patience):
		t.Fatal("Tail does not end with its context")
	}
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if len(tl.caught) != 1 {
		t.Errorf("caughtUp was called %d times, want once", len(tl.caught))
	}
	return tl.seen
}

func seqs(recs []hook.Record) []uint64 {
	out := make([]uint64, len(recs))
	for i, r := range recs {
		out[i] = r.Seq
	}
	return out
}

func tailInOrder(t *testing.T, l broker.Log) {
	var want []uint64
	a, b := Asked(), Asked()
	want = append(want, must(t, l, a, 0))
	want = append(want, must(t, l, b, 0))
	want = append(want, must(t, l, Decided(a.RequestID), want[0]))

	tl := startTail(t, l, 0)
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	if tl.caught[0] != 3 {
		t.Errorf("caughtUp came after %d records, want 3", tl.caught[0])
	}
	want = append(want, must(t, l, Ended(b.RequestID), want[1]))
	tl.until(t, "new record", func() bool { return len(tl.seen) == 4 })
	seen := tl.end(t)
	if !reflect.DeepEqual(seqs(seen), want) {
		t.Errorf("tail saw %v, want %v", seqs(seen), want)
	}
	a.Seq = want[0]
	if !sameRecord(seen[0], a) {
		t.Errorf("tail changed a record:\n got %+v\nwant %+v", seen[0], a)
	}
}

func tailFrom(t *testing.T, l broker.Log) {
	var all []uint64
	for range 5 {
		all = append(all, must(t, l, Asked(), 0))
	}
	tl := startTail(t, l, all[2])
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	if seen := tl.end(t); !reflect.DeepEqual(seqs(seen), all[3:]) {
		t.Errorf("tail from %d saw %v, want %v", all[2], seqs(seen), all[3:])
	}

	tl = startTail(t, l, all[4]) // nothing to catch up with
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	next := must(t, l, Asked(), 0)
	tl.until(t, "new record", func() bool { return len(tl.seen) == 1 })
	if seen := tl.end(t); seen[0].Seq != next {
		t.Errorf("tail from the end saw %v, want %d", seqs(seen), next)
	}
}

func tailBeyond(t *testing.T, l broker.Log) {
	first := must(t, l, Asked(), 0)
	tl := startTail(t, l, first+5000)
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	second := must(t, l, Asked(), 0)
	tl.until(t, "both records", func() bool { return len(tl.seen) == 2 })
	if seen := tl.end(t); !reflect.DeepEqual(seqs(seen), []uint64{first, second}) {
		t.Errorf("tail from beyond the end saw %v, want %d and %d", seqs(seen), first, second)
	}
}

func tailEmpty(t *testing.T, l broker.Log) {
	tl := startTail(t, l, 0)
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	seq := must(t, l, Asked(), 0)
	tl.until(t, "first record", func() bool { return len(tl.seen) == 1 })
	if seen := tl.end(t); seen[0].Seq != seq {
		t.Errorf("tail saw %v, want %d", seqs(seen), seq)
	}
}

// tailUnderAppends: nothing is skipped, doubled or turned round while many write.
func tailUnderAppends(t *testing.T, l broker.Log) {
	const writers, each = 4, 50
	for range 10 {
		must(t, l, Asked(), 0)
	}
	tl := startTail(t, l, 0)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				a := Asked()
				seq, err := l.Append(t.Context(), a, 0)
				if err == nil {
					_, err = l.Append(t.Context(), Ended(a.RequestID), seq)
				}
				if err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	const total = 10 + writers*each*2
	tl.until(t, "all records", func() bool { return len(tl.seen) >= total })
	tl.until(t, "caughtUp", func() bool { return len(tl.caught) == 1 })
	seen := tl.end(t)
	if len(seen) != total {
		t.Errorf("%d records, want %d", len(seen), total)
	}
	for i := 1; i < len(seen); i++ {
		if seen[i].Seq <= seen[i-1].Seq {
			t.Fatalf("sequence %d after %d", seen[i].Seq, seen[i-1].Seq)
		}
	}
	ids := map[string]bool{}
	for _, r := range seen {
		if ids[r.ID] {
			t.Fatalf("record %s came twice", r.ID)
		}
		ids[r.ID] = true
	}
}
