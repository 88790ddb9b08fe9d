package stream

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/tree"
)

// reading is one that follows the record, and what it was told.
type reading struct {
	name string
	err  error // of the follower; read it when it has ended

	mu   sync.Mutex
	gate chan struct{} // guarded by mu; what it waits for before each; nil: nothing
	seqs []uint64      // guarded by mu
}

func (r *reading) took(seq uint64) {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	if gate != nil {
		<-gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seqs = append(r.seqs, seq)
}

// waitFor has it wait for gate from the next record on.
func (r *reading) waitFor(gate chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = gate
}

func (r *reading) seen() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seqs)
}

// await waits until r has seen n records.
func (r *reading) await(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(patience); len(r.seen()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s has seen %d records, not %d", r.name, len(r.seen()), n)
		}
	}
}

// followAll follows the record as a broker does, with its queue, its history and its tree, until the test ends or stop is
// called.
func followAll(t *testing.T, s *Stream) (all []*reading, stop func()) {
	t.Helper()
	now, err := s.RecordsNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := follow.Cursor{Seq: now.Last, Made: now.Made}
	ctx, cancel := context.WithCancel(context.Background())
	queue, history, proof := &reading{name: "the queue"}, &reading{name: "the history"}, &reading{name: "the tree"}
	var wg sync.WaitGroup
	caughtUp := make(chan struct{})
	wg.Go(func() {
		queue.err = s.Tail(ctx, from.Seq, func(r hook.Record) { queue.took(r.Seq) }, func() { close(caughtUp) })
	})
	within(t, caughtUp)
	wg.Go(func() { history.err = s.RecordsAfter(ctx, from, func(r hook.Record) { history.took(r.Seq) }) })
	wg.Go(func() {
		proof.err = s.EntriesAfter(ctx, from, func(e tree.Entry, decode tree.Decode) {
			// What others have read of it is what it says.
			if rec, err := decode(e); err != nil {
				t.Errorf("entry %d: %v", e.Seq, err)
			} else if want, err := DecodeEntry(e); err != nil || !reflect.DeepEqual(rec, want) {
				t.Errorf("entry %d is read as %+v, want %+v, %v", e.Seq, rec, want, err)
			}
			proof.took(e.Seq)
		})
	})
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return []*reading{queue, history, proof}, stop
}

// awaitOneConsumer appends records until all read along with one reader, and returns how many it appended.
func awaitOneConsumer(t *testing.T, s *Stream, all []*reading) (n int) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		mustAppend(t, s, asked(t), 0)
		n++
		for _, r := range all {
			r.await(t, n)
		}
		if len(consumerNames(t, s)) == 1 {
			return n
		}
		if time.Now().After(end) {
			t.Fatalf("three that follow the record take %d consumers", len(consumerNames(t, s)))
		}
	}
}

func checkOrder(t *testing.T, all []*reading, first uint64, n int) {
	t.Helper()
	for _, r := range all {
		r.await(t, n)
		got := r.seen()
		if len(got) != n {
			t.Errorf("%s has seen %d records of %d", r.name, len(got), n)
		}
		for i, seq := range got {
			if seq != first+uint64(i) {
				t.Fatalf("%s: record %d in place %d, want %d", r.name, seq, i, first+uint64(i))
			}
		}
	}
}

// All that follow the record are delivered each record once together, whatever interrupts them.
func TestFollowersShareAReader(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Logf: t.Logf})
	s.shareReaders() // as on a cluster
	mustAppend(t, s, asked(t), 0)
	all, stop := followAll(t, s)
	n := awaitOneConsumer(t, s, all)
	for _, disturb := range []func(){
		func() {},
		func() {
			s.record.fail(errors.New("a test"), true)
			awaitHealthy(t, s)
		},
		func() { _ = s.record.nc.ForceReconnect() },
		func() {
			for name := range consumerNames(t, s) {
				_ = s.record.js.DeleteConsumer(t.Context(), RecordStream, name)
			}
		},
	} {
		disturb()
		for range 50 {
			a := asked(t)
			if _, err := again(func() (uint64, error) { return s.Append(t.Context(), a, 0) }); err != nil {
				t.Fatal(err)
			}
			n++
		}
		checkOrder(t, all, 2, n)
	}
	awaitOneConsumer(t, s, all)
	stop()
	for _, r := range all {
		if !errors.Is(r.err, context.Canceled) {
			t.Errorf("%s ended with %v", r.name, r.err)
		}
	}
	if n := len(consumerNames(t, s)); n > 1 { // to remove one is a courtesy that nobody waits for
		t.Errorf("%d consumers are left", n)
	}
}

// One that stands still holds nobody up, and misses nothing.
func TestSlowFollowerReadsAlone(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Logf: t.Logf})
	s.shareReaders() // as on a cluster
	mustAppend(t, s, asked(t), 0)
	all, stop := followAll(t, s)
	n := awaitOneConsumer(t, s, all)
	slow, others := all[1], []*reading{all[0], all[2]}
	gate := make(chan struct{})
	slow.waitFor(gate)
	const more = 3 * maxShared
	for range more {
		mustAppend(t, s, asked(t), 0)
	}
	n += more
	checkOrder(t, others, 2, n)
	s.recordReader.mu.Lock()
	held := len(s.recordReader.held)
	s.recordReader.mu.Unlock()
	if held > maxShared {
		t.Errorf("%d messages are held for it", held)
	}
	close(gate)
	checkOrder(t, all, 2, n)
	stop()
}

// A stream that was made anew is noticed by each that reads along.
func TestSharedReaderOfAStreamMadeAnew(t *testing.T) {
	t.Parallel()
	x := startExternal(t, maxPayload)
	s := open(t, Config{URL: x.srv.ClientURL(), Logf: t.Logf})
	now, err := s.EventsNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	cursors, all := [2]error{}, []*reading{{name: "first"}, {name: "second"}, {name: "the broker"}}
	ended := make(chan int, 2)
	for i := range cursors {
		wg.Go(func() {
			cursors[i] = s.EventsAfter(ctx, follow.Cursor{Made: now.Made}, func(e hook.Event) { all[i].took(e.Seq) })
			ended <- i
		})
	}
	wg.Go(func() { _ = s.Observe(ctx, 1, func(e hook.Event) { all[2].took(e.Seq) }) })
	publishEvents(t, s, 30)
	checkOrder(t, all, 1, 30)
	s.anewEvents(t, 40)
	for range cursors {
		if i := within(t, ended); !errors.Is(cursors[i], follow.ErrAnew) {
			t.Errorf("the %s ended with %v", all[i].name, cursors[i])
		}
	}
	all[2].await(t, 70)
	if got := all[2].seen()[30:]; got[0] != 1 || got[39] != 40 {
		t.Errorf("the broker went on with %d to %d", got[0], got[39])
	}
}
