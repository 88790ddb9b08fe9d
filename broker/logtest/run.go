package logtest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
)

// waitLimit is how long a case waits for something that must happen. It is no measurement.
const waitLimit = 20 * time.Second

// Run holds a Log to the contract of broker.Log. open returns a new, empty log and sees to its
// end by t.Cleanup. A log that also has a method LoseNextAck() is tried with a lost
// acknowledgement; without it that case is skipped by name.
func Run(t *testing.T, open func(t *testing.T) broker.Log) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, broker.Log)
	}{
		{"RecordsComeBackAsWritten", recordsComeBack},
		{"AfterIsNeverBeforeTheEventsOfTheRecord", afterItsEvents},
		{"UnknownRequestHasNoRecords", unknownRequest},
		{"RequestAtItsNumber", requestAt},
		{"OnlyTheExpectedPredecessor", expectedPredecessor},
		{"SubjectsAreIndependent", independentSubjects},
		{"CompetingAppendsHaveOneWinner", competingAppends},
		{"LostAckIsFound", lostAck},
		{"EndedContextIsNoRecord", endedContext},
		{"TailInOrder", tailInOrder},
		{"TailFrom", tailFrom},
		{"TailFromBeyondTheEnd", tailBeyond},
		{"TailCaughtUpOnAnEmptyLog", tailEmpty},
		{"TailUnderAppends", tailUnderAppends},
		{"EndedPages", endedPages},
		{"CheckpointRoundTrip", checkpointRoundTrip},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func recordsComeBack(t *testing.T, l broker.Log) {
	asked := Asked()
	asked.Seq = must(t, l, asked, 0)
	decided := Decided(asked.RequestID)
	decided.Seq = must(t, l, decided, asked.Seq)
	confirmed := hook.Record{ID: uuid.NewString(), RequestID: asked.RequestID, Step: hook.StepOverruled,
		Time: decided.Time, EventSeq: 12}
	confirmed.Seq = must(t, l, confirmed, decided.Seq)

	got := recordsOf(t, l, asked.RequestID)
	want := []hook.Record{asked, decided, confirmed}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !sameRecord(got[i], want[i]) {
			t.Errorf("record %d:\n got %+v\nwant %+v", i, got[i], want[i])
			if want[i].Request != nil && got[i].Request != nil {
				t.Errorf("request:\n got %+v\nwant %+v", *got[i].Request, *want[i].Request)
			}
		}
	}
}

func afterItsEvents(t *testing.T, l broker.Log) {
	asked := Asked()
	asked.After = 1 << 60 // means nothing
	seq := must(t, l, asked, 0)
	must(t, l, Ended(asked.RequestID), seq)
	var tailed []hook.Record
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := l.Tail(ctx, 0, func(rec hook.Record) {
		if tailed = append(tailed, rec); len(tailed) == 2 {
			cancel()
		}
	}, func() {})
	if len(tailed) != 2 {
		t.Fatalf("Tail brought %d records and ended with %v", len(tailed), err)
	}
	for _, recs := range [][]hook.Record{recordsOf(t, l, asked.RequestID), tailed} {
		for i, event := range []uint64{asked.Request.EventSeq, Ended("").EventSeq} {
			if after := recs[i].After; after < event || after == 1<<60 {
				t.Errorf("%s about event %d stands after event %d", recs[i].Step, event, after)
			}
		}
	}
}

func unknownRequest(t *testing.T, l broker.Log) {
	if recs := recordsOf(t, l, uuid.NewString()); len(recs) != 0 {
		t.Fatalf("%d records of a request nobody asked", len(recs))
	}
}

func expectedPredecessor(t *testing.T, l broker.Log) {
	asked := Asked()
	id := asked.RequestID
	conflict := func(what string, rec hook.Record, after uint64) {
		t.Helper()
		if _, err := l.Append(t.Context(), rec, after); !errors.Is(err, broker.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", what, err)
		}
	}
	conflict("decided before asked", Decided(id), 1)
	seq := must(t, l, asked, 0)
	again := Asked()
	again.RequestID, again.Request.ID = id, id
	conflict("asked twice", again, 0)
	conflict("decided after a wrong record", Decided(id), seq+5)
	end := must(t, l, Ended(id), seq)
	conflict("decided after ended", Decided(id), seq)
	if end <= seq {
		t.Errorf("sequence %d after %d", end, seq)
	}
	if recs := recordsOf(t, l, id); len(recs) != 2 || recs[0].Seq != seq || recs[1].Seq != end {
		t.Errorf("records after the conflicts: %+v", recs)
	}
}

func independentSubjects(t *testing.T, l broker.Log) {
	a, b := Asked(), Asked()
	seqA := must(t, l, a, 0)
	must(t, l, b, 0)
	must(t, l, Ended(a.RequestID), seqA) // a's last record is not the log's last
	if n := len(recordsOf(t, l, b.RequestID)); n != 1 {
		t.Errorf("%d records of the other request, want 1", n)
	}
}

func competingAppends(t *testing.T, l broker.Log) {
	const rounds, rivals = 25, 8
	for range rounds {
		asked := Asked()
		seq := must(t, l, asked, 0)
		errs, ids := make([]error, rivals), make([]string, rivals)
		var wg sync.WaitGroup
		for i := range rivals {
			rec := Decided(asked.RequestID)
			if i%2 == 0 {
				rec = Ended(asked.RequestID)
			}
			ids[i] = rec.ID
			wg.Go(func() { _, errs[i] = l.Append(t.Context(), rec, seq) })
		}
		wg.Wait()
		winner := ""
		for i, err := range errs {
			switch {
			case err == nil && winner == "":
				winner = ids[i]
			case err == nil:
				t.Fatal("two appends won one slot")
			case !errors.Is(err, broker.ErrConflict):
				t.Fatalf("loser got %v, want ErrConflict", err)
			}
		}
		recs := recordsOf(t, l, asked.RequestID)
		if len(recs) != 2 || recs[1].ID != winner {
			t.Fatalf("winner %q is not what stands in the log: %+v", winner, recs)
		}
	}
}

func lostAck(t *testing.T, l broker.Log) {
	loser, ok := l.(interface{ LoseNextAck() })
	if !ok {
		t.Skip("this log cannot lose an acknowledgement on order")
	}
	asked := Asked()
	loser.LoseNextAck()
	seq, err := l.Append(t.Context(), asked, 0) // once: it must find its own record
	appended(t, asked, 0, seq, err)
	recs := recordsOf(t, l, asked.RequestID)
	if len(recs) != 1 || recs[0].ID != asked.ID || recs[0].Seq != seq {
		t.Fatalf("after a lost acknowledgement: sequence %d, records %+v", seq, recs)
	}
}

func endedContext(t *testing.T, l broker.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := Asked()
	if _, err := l.Append(ctx, asked, 0); err == nil {
		// Writing it all the same is allowed; lying about it is not.
		if len(recordsOf(t, l, asked.RequestID)) != 1 {
			t.Fatal("Append said yes and recorded nothing")
		}
	} else if errors.Is(err, broker.ErrConflict) {
		t.Fatalf("an ended context is no conflict: %v", err)
	}
}

func endedPages(t *testing.T, l broker.Log) {
	if got, err := l.Ended(t.Context(), 0, 10); err != nil || len(got) != 0 {
		t.Fatalf("ended requests of an empty log: %v, %v", got, err)
	}
	var settled []uint64 // oldest first
	ids := map[uint64]string{}
	for i := range 5 {
		a := Asked()
		seq := must(t, l, a, 0)
		rec := Decided(a.RequestID)
		if i%2 == 1 {
			rec = Ended(a.RequestID)
		}
		s := must(t, l, rec, seq)
		settled = append(settled, s)
		ids[s] = a.RequestID
		must(t, l, Asked(), 0) // one that stays open
		if i == 0 {            // a record behind the settling one does not count as another
			must(t, l, hook.Record{ID: uuid.NewString(), RequestID: a.RequestID, Step: hook.StepDelivered, Time: rec.Time}, s)
		}
	}
	var before uint64
	for page := 0; ; page++ {
		got, err := l.Ended(t.Context(), before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			break
		}
		if len(got) > 2 {
			t.Fatalf("page of %d, limit 2", len(got))
		}
		for _, recs := range got {
			want := settled[len(settled)-1]
			settled = settled[:len(settled)-1]
			if len(recs) < 2 || recs[0].Step != hook.StepAsked || recs[0].RequestID != ids[want] || recs[1].Seq != want {
				t.Fatalf("page %d: got %+v, want the request settled by %d", page, recs, want)
			}
			before = want
		}
		if len(settled) == 0 {
			if got, err := l.Ended(t.Context(), before, 2); err != nil || len(got) != 0 {
				t.Fatalf("after the last page: %v, %v", got, err)
			}
			return
		}
	}
	t.Fatalf("paging ended with %d requests unseen", len(settled))
}

func checkpointRoundTrip(t *testing.T, l broker.Log) {
	if c, err := l.Checkpoint(t.Context()); err != nil || !reflect.DeepEqual(c, broker.Checkpoint{}) {
		t.Fatalf("first checkpoint: %+v, %v; want the zero value", c, err)
	}
	for _, want := range []broker.Checkpoint{
		{Seq: 3, Tail: 9, Live: []string{"a", "b"}, EventSeq: 1 << 40},
		{Seq: 4, Tail: 4, EventSeq: 5},
	} {
		if err := l.SaveCheckpoint(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := l.Checkpoint(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("checkpoint: %+v, %v; want %+v", got, err, want)
		}
	}
}
