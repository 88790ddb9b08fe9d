package stream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

func note(requestID string) hook.Record {
	return hook.Record{ID: uuid.NewString(), RequestID: requestID, Step: hook.StepDelivered, Time: time.Now().UTC()}
}

// mergeLive reads events and records as history does and returns the order it found.
func mergeLive(t *testing.T, s *Stream, lastEvent, lastRecord uint64) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	events, records := make(chan hook.Event), make(chan hook.Record, 10_000)
	go func() { _ = s.Events(ctx, 1, func(e hook.Event) { events <- e }) }()
	go func() { _ = s.RecordsAfter(ctx, follow.Cursor{}, func(r hook.Record) { records <- r }) }()
	var order []string
	var next *hook.Record // read, not in its place yet
	var place, read uint64
	take := func(before, settled uint64) { // the records that stand before an event
		for {
			for next == nil && (read < settled || settled == 0) && read < lastRecord {
				r := <-records
				read, place = r.Seq, max(place, r.After)
				next = &r
			}
			if next == nil || place >= before {
				return
			}
			order = append(order, fmt.Sprint("r", next.Seq))
			next = nil
		}
	}
	for n := uint64(0); n < lastEvent; {
		e := <-events
		n = e.Seq
		settled, err := s.Settled(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		if settled > 0 {
			take(n, settled)
		}
		order = append(order, fmt.Sprint("e", n))
	}
	take(1<<62, 0)
	return order
}

// mergeStored is the documented order of what the streams hold.
func mergeStored(t *testing.T, s *Stream, lastEvent, lastRecord uint64) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out []string
	place, next := uint64(0), uint64(1)
	_ = s.RecordsAfter(ctx, follow.Cursor{}, func(r hook.Record) {
		for place = max(place, r.After); next <= place; next++ {
			out = append(out, fmt.Sprint("e", next))
		}
		if out = append(out, fmt.Sprint("r", r.Seq)); r.Seq == lastRecord {
			cancel()
		}
	})
	for ; next <= lastEvent; next++ {
		out = append(out, fmt.Sprint("e", next))
	}
	return out
}

// The order that a reader finds while both streams are written is the order they have afterwards.
func TestOrderLiveIsOrderStored(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	const writers, each = 8, 40
	live := make(chan []string, 1)
	// Every writer ends with an event, so that the last event stands behind all records.
	lastEvent, lastRecord := uint64(writers*each+1), uint64(writers*each*2)
	go func() { live <- mergeLive(t, s, lastEvent, lastRecord) }()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				seq := mustPublish(t, s, fullEventID())
				rec := asked(t)
				rec.Request.EventSeq = seq
				after := mustAppend(t, s, rec, 0)
				mustAppend(t, s, note(rec.RequestID), after)
			}
		})
	}
	wg.Wait()
	mustPublish(t, s, fullEventID())
	got, want := receive(t, live), mergeStored(t, s, lastEvent, lastRecord)
	if len(want) != int(lastEvent+lastRecord) || len(got) != len(want) {
		t.Fatalf("%d steps live, %d stored, want %d", len(got), len(want), lastEvent+lastRecord)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("step %d was %s live and is %s now\nlive   %v\nstored %v", i, got[i], want[i], got[max(0, i-5):i+5], want[max(0, i-5):i+5])
		}
	}
}

func fullEventID() hook.Event {
	e := fullEvent()
	e.ID = uuid.NewString()
	return e
}

// A broker that starts puts its first record behind the events of the one before it.
func TestAfterARestart(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	rec := asked(t)
	after := mustAppend(t, s, rec, 0)
	for range 3 {
		mustPublish(t, s, fullEventID())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	mustAppend(t, s, note(rec.RequestID), after)
	recs, err := s.Records(t.Context(), rec.RequestID)
	if err != nil || len(recs) != 2 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if recs[0].After != 0 || recs[1].After != 3 {
		t.Errorf("the records stand after %d and %d, want 0 and 3", recs[0].After, recs[1].After)
	}
}

// Settled waits for the appends that began before, and for no other.
func TestSettledWaits(t *testing.T) {
	var o order
	o.see(4)
	early := hook.Record{}
	endEarly := o.begin(&early)
	o.see(5)
	late := hook.Record{}
	endLate := o.begin(&late)
	if early.After != 4 || late.After != 5 {
		t.Fatalf("after %d and %d, want 4 and 5", early.After, late.After)
	}
	if err := o.settle(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.settle(ctx, 5); err == nil {
		t.Fatal("did not wait for the append that began after event 4")
	}
	endEarly()
	if err := o.settle(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	endLate()
	if err := o.settle(t.Context(), 6); err != nil { // which only the caller has seen
		t.Fatal(err)
	}
	next := hook.Record{}
	o.begin(&next)()
	if next.After < 6 {
		t.Errorf("a record that began after event 6 was settled stands after %d", next.After)
	}
}

// What was removed from the end of a stream is not waited for.
func TestSettledKnowsWhatIsThere(t *testing.T) {
	s := open(t, Config{})
	if seq, err := s.Settled(t.Context(), 0); seq != 0 || err != nil {
		t.Fatalf("settled at %d, %v in an empty record", seq, err)
	}
	if oldest, newest, err := s.EventBounds(t.Context()); oldest != 0 || newest != 0 || err != nil {
		t.Fatalf("bounds %d to %d, %v without events", oldest, newest, err)
	}
	for range 3 {
		mustPublish(t, s, fullEventID())
		mustAppend(t, s, asked(t), 0)
	}
	for _, x := range []struct {
		e    *engine
		name string
	}{{s.events, EventsStream}, {s.record, RecordStream}} {
		st, err := x.e.js.Stream(t.Context(), x.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint64{1, 3} {
			if err := st.DeleteMsg(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seq, err := s.Settled(t.Context(), 3); seq != 2 || err != nil {
		t.Errorf("settled at %d, %v, want 2", seq, err)
	}
	if oldest, newest, err := s.EventBounds(t.Context()); oldest != 2 || newest != 2 || err != nil {
		t.Errorf("bounds %d to %d, %v, want 2 and 2", oldest, newest, err)
	}
}

// On a cluster an event has to be old before the records of other replicas are trusted to be
// there, and a backlog grows old together.
func TestSettledOnACluster(t *testing.T) {
	x := startExternal(t, maxPayload)
	s := open(t, Config{URL: x.srv.ClientURL(), settle: time.Nanosecond})
	for range 5 {
		mustPublish(t, s, fullEventID())
	}
	rec := asked(t)
	want := mustAppend(t, s, rec, 0)
	if seq, err := s.Settled(t.Context(), 1); seq != want || err != nil {
		t.Fatalf("settled at %d, %v, want %d", seq, err, want)
	}
	if s.order.aged != 5 {
		t.Errorf("events up to %d are old, want 5", s.order.aged)
	}
	s.cfg.settle = time.Hour
	if _, err := s.Settled(t.Context(), 5); err != nil {
		t.Error(err)
	}
	mustPublish(t, s, fullEventID())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Settled(ctx, 6); err == nil {
		t.Error("a new event was settled at once")
	}
}
