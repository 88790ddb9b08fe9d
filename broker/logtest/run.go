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

// Asked is a complete asked record of a new request, for tests.
func Asked() hook.Record {
	id := uuid.NewString()
	now := time.Now().UTC().Truncate(time.Microsecond)
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepAsked, Time: now,
		Request: &hook.Request{
			ID: id, SessionID: "session-1", CWD: "/home/dev/project", ToolName: "Bash",
			ToolInput:   hook.JSON(`{"command":"touch  x"}`),
			InputSHA256: "11", Agent: "claude", AgentID: "a1", AgentType: "general-purpose",
			Origin: hook.Origin{
				Host: "box", PID: 42, AgentLabel: "mine", ProjectDir: "/home/dev/project",
				Repo: hook.Repo{Root: "/home/dev/project", Branch: "main", Head: "abc", Remote: "git@x:y"},
			},
			CreatedAt: now, Deadline: now.Add(590 * time.Second), OnTimeout: hook.Deny,
			PermissionMode: "default", Suggestions: hook.JSON(`[{"type":"addRules"}]`),
			Uninspectable: "invalid UTF-8",
			Raw:           []byte("{\"tool_input\": {\"command\":\"touch  x\"}, \"odd\":\"\xff\"}\n"),
			PayloadSHA256: "22", EventSeq: 7, EventTime: now, CallKey: "Bash k",
			Channel: hook.ChannelRemote,
		},
	}
}

// Decided is a decided record for id.
func Decided(id string) hook.Record {
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepDecided,
		Time:    time.Now().UTC().Truncate(time.Microsecond),
		Outcome: hook.Denied,
		By:      &hook.Approver{Kind: "token", ID: "t1", Name: "phone"},
		Decision: &hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: "11", Message: "not on a Friday",
			Interrupt: true, UpdatedInput: hook.JSON(`{"a":1}`), UpdatedPermissions: hook.JSON(`[]`), Signature: "s",
			PublicKey: &hook.JWK{Kty: "EC", Crv: "P-256", X: "x", Y: "y"}},
	}
}

// Ended is an ended record for id.
func Ended(id string) hook.Record {
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepEnded,
		Time:    time.Now().UTC().Truncate(time.Microsecond),
		Outcome: hook.Withdrawn, Reason: hook.ReasonToolRan, EventSeq: 9,
	}
}

func must(t *testing.T, l broker.Log, rec hook.Record, after uint64) uint64 {
	t.Helper()
	seq, err := l.Append(t.Context(), rec, after)
	if err != nil {
		t.Fatalf("append %s after %d: %v", rec.Step, after, err)
	}
	if seq == 0 {
		t.Fatalf("append %s: sequence 0", rec.Step)
	}
	return seq
}

func recordsOf(t *testing.T, l broker.Log, id string) []hook.Record {
	t.Helper()
	recs, err := l.Records(t.Context(), id)
	// On a machine that is held up a log may have no time to answer.
	for n := 0; errors.Is(err, broker.ErrUnavailable) && n < 60; n++ {
		recs, err = l.Records(t.Context(), id)
	}
	if err != nil {
		t.Fatalf("records of %s: %v", id, err)
	}
	return recs
}

// sameRecord compares all but the representation of times and After, which the log sets.
func sameRecord(a, b hook.Record) bool {
	return reflect.DeepEqual(plain(a), plain(b))
}

func plain(r hook.Record) hook.Record {
	r.Time = r.Time.UTC().Round(0)
	r.After = 0
	if r.Request != nil {
		q := *r.Request
		q.CreatedAt, q.Deadline, q.EventTime = q.CreatedAt.UTC().Round(0), q.Deadline.UTC().Round(0), q.EventTime.UTC().Round(0)
		r.Request = &q
	}
	return r
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
	seq := must(t, l, asked, 0)
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
	timeout := time.After(waitLimit)
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
	case <-time.After(waitLimit):
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
