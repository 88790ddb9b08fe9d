package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"assent/broker"
	"assent/internal/hook"
)

func TestRecordRoundTrip(t *testing.T) {
	long := strings.Repeat("long ", 20_000)
	raw := []byte("{ \"tool_input\" : {\"a\": \"<&>\" ,\"b\":1e2}, \"permission_suggestions\":[ 1 ],\"x\":\"\xff\" }\n")
	input, suggestions := hook.JSON(raw[17:40]), hook.JSON("[ 1 ]")
	base := func() hook.Record {
		r := asked(t)
		r.Request.Raw, r.Request.ToolInput, r.Request.Suggestions = raw, input, suggestions
		return r
	}
	tests := map[string]func() hook.Record{
		"asked":            base,
		"asked, no raw":    func() hook.Record { r := base(); r.Request.Raw = nil; return r },
		"asked, long cwd":  func() hook.Record { r := base(); r.Request.CWD = long; return r },
		"asked, no input":  func() hook.Record { r := base(); r.Request.ToolInput = nil; r.Request.Suggestions = nil; return r },
		"asked, odd input": func() hook.Record { r := base(); r.Request.ToolInput = hook.JSON("{ \"not\":\"in raw\" }"); return r },
		"asked, all": func() hook.Record {
			r := base()
			r.Request.Origin = hook.Origin{Host: "h", PID: 7, AgentLabel: "ä\n\r%", ProjectDir: "/p", Repo: hook.Repo{Root: "/p", Branch: "b", Head: "c", Remote: "d"}}
			r.Request.Deadline, r.Request.OnTimeout, r.Request.Channel = r.Time, hook.Deny, hook.ChannelRemote
			r.Request.EventSeq, r.Request.EventTime, r.Request.CallKey = 9, r.Time, "k"
			r.Request.Uninspectable = "invalid UTF-8"
			return r
		},
		"decided": func() hook.Record {
			r := decided("q")
			r.By = &hook.Approver{Kind: "device", ID: "1", Name: "Ann's <phone>"}
			r.Decision.UpdatedInput = hook.JSON("{ \"a\" : \"<\" }")
			r.Decision.UpdatedPermissions = hook.JSON(`[{"type":"x"}]`)
			r.Decision.Message = "not on a\nFriday"
			return r
		},
		"decided, updatedInput null": func() hook.Record { r := decided("q"); r.Decision.UpdatedInput = hook.JSON("null"); return r },
		"ended": func() hook.Record {
			return hook.Record{ID: "1", RequestID: "q", Step: hook.StepEnded, Outcome: hook.Withdrawn, Reason: hook.ReasonHangup, EventSeq: 4, Time: time.Now().UTC()}
		},
	}
	s := open(t, Config{})
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			want := make()
			want.RequestID = uuid.NewString()
			if want.Request != nil {
				want.Request.ID = want.RequestID
			}
			before, _ := json.Marshal(want)
			want.Seq = mustAppend(t, s, want, 0)
			recs, err := s.Records(t.Context(), want.RequestID)
			if err != nil || len(recs) != 1 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			recs[0].After = 0 // Append's own
			if !reflect.DeepEqual(recs[0], want) {
				t.Errorf("got  %+v\nwant %+v", recs[0], want)
			}
			want.Seq = 0
			if after, _ := json.Marshal(want); !bytes.Equal(before, after) {
				t.Error("Append changed its record")
			}
		})
	}
}

func TestAskedBodyIsThePayload(t *testing.T) {
	s := open(t, Config{})
	rec := asked(t)
	seq := mustAppend(t, s, rec, 0)
	st, err := s.record.js.Stream(t.Context(), RecordStream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.GetMsg(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Data, rec.Request.Raw) {
		t.Errorf("body is %q", m.Data)
	}
	if strings.Contains(m.Header.Get(HeaderRecord), "command") {
		t.Error("the header repeats the tool input")
	}
}

func FuzzMessageRecord(f *testing.F) {
	rec := hook.Record{ID: "1", RequestID: "2", Step: hook.StepAsked, Request: &hook.Request{ID: "2", ToolInput: hook.JSON("{}"), Raw: []byte(`{"a":{}}`)}}
	msg, err := recordMessage(rec)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg.Header.Get(HeaderRecord), msg.Data)
	f.Add(`{"id":"1","requestId":"2","step":"asked","request":{},"toolInputAt":[9223372036854775807,1]}`, []byte("x"))
	f.Add("", []byte(`{"id":"1","requestId":"2","step":"decided","decision":{},"exact":{"updatedInput":"e30="}}`))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		h := nats.Header{}
		if header != "" {
			h[HeaderRecord] = []string{header}
		}
		rec, err := messageRecord(h, body, 7)
		if err != nil {
			return
		}
		if rec.Seq != 7 || rec.ID == "" || (rec.Step == hook.StepAsked) != (rec.Request != nil) {
			t.Fatalf("accepted %+v", rec)
		}
	})
}

func TestAppendRace(t *testing.T) {
	s := open(t, Config{})
	for range 50 {
		a := asked(t)
		after := mustAppend(t, s, a, 0)
		var wg sync.WaitGroup
		var mu sync.Mutex
		won, lost := "", 0
		for range 8 {
			wg.Go(func() {
				d := decided(a.RequestID)
				_, err := again(func() (uint64, error) { return s.Append(t.Context(), d, after) })
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && won == "":
					won = d.ID
				case errors.Is(err, broker.ErrConflict):
					lost++
				default:
					t.Errorf("another winner, or %v", err)
				}
			})
		}
		wg.Wait()
		if lost != 7 {
			t.Fatalf("%d lost", lost)
		}
		recs, err := s.Records(t.Context(), a.RequestID)
		if err != nil || len(recs) != 2 || recs[1].ID != won {
			t.Fatalf("records %+v, %v; won %s", recs, err, won)
		}
	}
}

// A record that was stored although its Append did not hear of it is found by its id.
func TestAppendAgain(t *testing.T) {
	s := open(t, Config{})
	a := asked(t)
	first := mustAppend(t, s, a, 0)
	if seq := mustAppend(t, s, a, 0); seq != first {
		t.Errorf("the same record again: %d, was %d", seq, first)
	}
	d := decided(a.RequestID)
	second := mustAppend(t, s, d, first)
	delivered := hook.Record{ID: uuid.NewString(), RequestID: a.RequestID, Step: hook.StepDelivered, Time: time.Now()}
	mustAppend(t, s, delivered, second)
	if seq := mustAppend(t, s, d, first); seq != second {
		t.Errorf("behind another record: %d, was %d", seq, second)
	}
	if _, err := s.Append(t.Context(), decided(a.RequestID), first); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("another record: %v", err)
	}
	if recs, _ := s.Records(t.Context(), a.RequestID); len(recs) != 3 {
		t.Errorf("%d records", len(recs))
	}
}

// A caller that goes away while its record is on its way still gets the truth.
func TestAppendCancelled(t *testing.T) {
	s := open(t, Config{})
	recorded := map[bool]int{}
	for i := range 200 {
		a := asked(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Microsecond)
		_, err := s.Append(ctx, a, 0)
		cancel()
		recs, recErr := s.Records(t.Context(), a.RequestID)
		if recErr != nil {
			t.Fatal(recErr)
		}
		if err == nil && len(recs) != 1 {
			t.Fatalf("acknowledged, but there are %d records", len(recs))
		}
		if err != nil && !errors.Is(err, broker.ErrUnavailable) {
			t.Fatal(err)
		}
		recorded[err == nil]++
	}
	t.Log(recorded)
}

func TestAppendRefusesSubjects(t *testing.T) {
	s := open(t, Config{})
	for _, id := range []string{"", "a.b", "*", ">", "a b", "a\r\nb"} {
		rec := decided(id)
		if _, err := s.Append(t.Context(), rec, 0); err == nil {
			t.Errorf("took request id %q", id)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	const n = 500
	var want []string
	for range n {
		a := asked(t)
		mustAppend(t, s, a, 0)
		want = append(want, a.ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	caught := make(chan int, 2)
	last := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Tail(ctx, 100, func(r hook.Record) {
			got = append(got, r.ID)
			if r.Step == hook.StepDecided {
				close(last)
			}
		}, func() { caught <- len(got) })
	}()
	if have := within(t, caught); have != n-100 {
		t.Errorf("caught up after %d", have)
	}
	d := decided(uuid.NewString())
	mustAppend(t, s, d, 0)
	within(t, last)
	cancel()
	if err := within(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("Tail returned %v", err)
	}
	if !reflect.DeepEqual(got, append(want[100:], d.ID)) {
		t.Errorf("got %d records, not the %d of the log in order", len(got), n-99)
	}
	if len(caught) != 0 {
		t.Error("caughtUp was called twice")
	}
}

// The checkpoint outlived the stream it speaks of: a tail that waited for its place would hear
// no answer to any hook.
func TestTailOfAStreamMadeAnew(t *testing.T) {
	s := open(t, Config{})
	want := []string{}
	next := func() {
		a := asked(t)
		mustAppend(t, s, a, 0)
		want = append(want, a.ID)
	}
	next()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan string, 2)
	caught := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Tail(ctx, 5000, func(r hook.Record) { got <- r.ID }, func() { close(caught) })
	}()
	within(t, caught)
	next()
	for i, id := range want {
		select {
		case have := <-got:
			if have != id {
				t.Errorf("record %d is %s, want %s", i, have, id)
			}
		case <-time.After(patience):
			t.Fatalf("record %d never came", i)
		}
	}
	cancel()
	within(t, done)
}

// A damaged record at the end must not keep a broker waiting for ever that starts with a repair.
func TestTailPastADamagedEnd(t *testing.T) {
	l := &testLog{}
	l.show(t)
	cfg := Config{Dir: t.TempDir(), Logf: l.Logf}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	for range n {
		mustAppend(t, s, asked(t), 0)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(cfg.Dir, "nats/record/jetstream/*/streams", RecordStream, "msgs/*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	b, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 100; i < len(b)-60; i++ {
		b[i] ^= 0x5a
	}
	if err := os.WriteFile(blocks[0], b, 0o600); err != nil {
		t.Fatal(err)
	}

	cfg.Repair = true
	s = open(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	caught := make(chan struct{})
	done := make(chan struct{})
	next := asked(t)
	go func() {
		defer close(done)
		_ = s.Tail(ctx, 0, func(r hook.Record) {
			if got = append(got, r.ID); r.ID == next.ID {
				cancel()
			}
		}, func() { close(caught) })
	}()
	select {
	case <-caught:
	case <-ctx.Done():
		t.Fatal("never caught up")
	}
	mustAppend(t, s, next, 0)
	within(t, done)
	if len(got) != n || got[n-1] != next.ID {
		t.Errorf("read %d records, want the %d whole ones and the new one last", len(got), n-1)
	}
}

func TestTailSurvives(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	disturb := map[string]func(){
		"restart": func() {
			s.record.fail(errors.New("a test"), true)
			awaitHealthy(t, s)
		},
		"reconnect": func() {
			_ = s.record.nc.ForceReconnect()
		},
		"consumer deleted": func() {
			for name := range consumerNames(t, s) {
				_ = s.record.js.DeleteConsumer(t.Context(), RecordStream, name)
			}
		},
	}
	for name, disturb := range disturb {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			from, err := s.record.streamState(ctx, s.record.js, RecordStream)
			if err != nil {
				t.Fatal(err)
			}
			seen := make(chan hook.Record, 1000)
			done := make(chan error, 1)
			go func() {
				done <- s.Tail(ctx, from.LastSeq, func(r hook.Record) { seen <- r }, func() {})
			}()
			var want []string
			for i := range 60 {
				if i%20 == 10 {
					disturb()
				}
				a := asked(t)
				// Between two sessions a write may fail, and may not.
				if _, err := again(func() (uint64, error) { return s.Append(t.Context(), a, 0) }); err != nil {
					t.Fatal(err)
				}
				want = append(want, a.ID)
				if i%3 == 0 {
					if r := within(t, seen); r.ID != want[0] {
						t.Fatalf("got %s, want %s", r.ID, want[0])
					}
					want = want[1:]
				}
			}
			for _, id := range want {
				if r := within(t, seen); r.ID != id {
					t.Fatalf("got %s, want %s", r.ID, id)
				}
			}
			cancel()
			within(t, done)
			if len(seen) != 0 {
				t.Errorf("%d records came twice", len(seen))
			}
		})
	}
}

func consumerNames(t *testing.T, s *Stream) map[string]bool {
	t.Helper()
	st, err := s.record.js.Stream(t.Context(), RecordStream)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	lister := st.ConsumerNames(t.Context())
	for name := range lister.Name() {
		names[name] = true
	}
	return names
}

// awaitHealthy waits until both engines are trusted and connected again.
func awaitHealthy(t *testing.T, s *Stream) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for s.Healthy() != nil {
		if time.Now().After(deadline) {
			t.Fatalf("not healthy again: %v", s.Healthy())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEnded(t *testing.T) {
	s := open(t, Config{})
	var settled []string // oldest first
	var seqs []uint64
	for i := range 20 {
		a := asked(t)
		after := mustAppend(t, s, a, 0)
		if i%4 == 3 {
			continue // still pending
		}
		seqs = append(seqs, mustAppend(t, s, decided(a.RequestID), after))
		settled = append(settled, a.RequestID)
	}
	var got []string
	before := uint64(0)
	for {
		page, err := s.Ended(t.Context(), before, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, recs := range page {
			if len(recs) != 2 || recs[0].Step != hook.StepAsked {
				t.Fatalf("records %+v", recs)
			}
			got = append(got, recs[0].RequestID)
			before = recs[1].Seq
		}
	}
	for i, id := range got {
		if want := settled[len(settled)-1-i]; id != want {
			t.Errorf("%d is %s, want %s", i, id, want)
		}
	}
	if len(got) != len(settled) {
		t.Errorf("%d requests, want %d", len(got), len(settled))
	}
	if page, err := s.Ended(t.Context(), seqs[0], 4); err != nil || len(page) != 0 {
		t.Errorf("before the first: %d, %v", len(page), err)
	}
}

func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	if c, err := s.Checkpoint(t.Context()); err != nil || !reflect.DeepEqual(c, broker.Checkpoint{}) {
		t.Errorf("at first: %+v, %v", c, err)
	}
	want := broker.Checkpoint{Seq: 3, Live: []string{"a"}, EventSeq: 9}
	if err := s.SaveCheckpoint(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Dir: dir})
	if c, err := s.Checkpoint(t.Context()); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("after a restart: %+v, %v", c, err)
	}
}
