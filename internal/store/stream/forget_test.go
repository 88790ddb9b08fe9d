package stream

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// After Forget the session's bytes are nowhere in the state directory, and all else is as it was.
func TestForget(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir()}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			s.Close()
		}
	}()
	const secret, other = "correct-horse-battery", "an-innocent-neighbour"
	event := func(text string) uint64 {
		return mustPublish(t, s, hook.Event{ID: uuid.NewString(), Type: "UserPromptSubmit", Agent: "claude", Raw: []byte(`{"prompt":"` + text + `"}`)})
	}
	request := func(session, text string, settle bool) string {
		rec := asked(t)
		rec.Request.SessionID = session
		rec.Request.Raw = []byte(`{"tool_input":{"command":"` + text + `"}}`)
		rec.Request.ToolInput = rec.Request.Raw[14 : len(rec.Request.Raw)-1]
		seq := mustAppend(t, s, rec, 0)
		if settle {
			d := decided(rec.RequestID)
			d.Decision.Message = text
			mustAppend(t, s, note(rec.RequestID), mustAppend(t, s, d, seq))
			shown := hook.Record{ID: uuid.NewString(), RequestID: hook.ShownEntry(rec.RequestID), Step: hook.StepShown, Time: d.Time, By: &hook.Approver{Kind: hook.KindDevice, ID: "d", Name: text}}
			mustAppend(t, s, shown, 0)
			if seqs, err := s.EntriesOf(t.Context(), rec.RequestID); len(seqs) != 4 || !slices.IsSorted(seqs) || err != nil {
				t.Errorf("entries of a request: %v, %v", seqs, err)
			}
		}
		return rec.RequestID
	}
	var mine []uint64
	for range 5 {
		event(other)
		mine = append(mine, event(secret))
	}
	theirs := event(other)
	gone := []string{request("s", secret, true), request("s", secret, true)}
	keep, waits := request("t", other, true), request("s", other, false)
	awaitMirror(t, s, theirs)

	isIts := func(e hook.Event) bool { return strings.Contains(string(e.Raw), secret) }
	if err := s.Forget(t.Context(), nil, []string{waits}, isIts, nil); err == nil || !strings.Contains(err.Error(), "waits") {
		t.Errorf("forgetting a request that waits: %v", err)
	}
	for range 2 { // the second time there is nothing left
		if err := s.Forget(t.Context(), append(mine, theirs, 999), gone, isIts, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range gone {
		if recs, err := s.Records(t.Context(), id); len(recs) != 0 || err != nil {
			t.Errorf("%d records of a forgotten request, %v", len(recs), err)
		}
		if seqs, err := s.EntriesOf(t.Context(), id); len(seqs) != 0 || err != nil {
			t.Errorf("entries of a forgotten request: %v, %v", seqs, err)
		}
	}
	for id, want := range map[string]int{keep: 3, hook.ShownEntry(keep): 1, waits: 1} {
		if recs, err := s.Records(t.Context(), id); len(recs) != want || err != nil {
			t.Errorf("%d records of %s, %v, want %d", len(recs), id, err, want)
		}
	}
	if got := collect(t, s, 1, 6); len(got) != 6 || got[5].Seq != theirs {
		t.Errorf("%d events are left, want the 6 others", len(got))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	closed = true
	if n := filesWith(t, cfg.Dir, other); n < 2 {
		t.Fatalf("%d files have what was to stay; the search finds nothing", n)
	}
	if n := filesWith(t, cfg.Dir, secret); n > 0 {
		t.Errorf("%d files still have a forgotten payload", n)
	}
}

// TestForgetSaysWhatGoes: nothing is removed from the record of which was not said before that it goes, also not what another broker records
// of the same request while it is said; and in the end nothing is left.
func TestForgetSaysWhatGoes(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Dir: t.TempDir()})
	a := asked(t)
	seq := mustAppend(t, s, decided(a.RequestID), mustAppend(t, s, a, 0))
	sent := hook.Record{ID: uuid.NewString(), RequestID: hook.MessageRecord("m"), Step: hook.MessageSent.RecordStep(), Time: a.Time, Message: &hook.MessageEntry{}}
	wrote := []uint64{seq - 1, seq, mustAppend(t, s, sent, 0)}
	ids := []string{a.RequestID, sent.RequestID}
	later := func() { // as another broker does that has not heard of it
		taken := hook.Record{ID: uuid.NewString(), RequestID: sent.RequestID, Step: hook.MessageTaken.RecordStep(), Time: a.Time, Message: &hook.MessageEntry{N: 1}}
		shown := hook.Record{ID: uuid.NewString(), RequestID: hook.ShownEntry(a.RequestID), Step: hook.StepShown, Time: a.Time, By: &hook.Approver{Kind: hook.KindOwner}}
		wrote = append(wrote, mustAppend(t, s, note(a.RequestID), seq), mustAppend(t, s, shown, 0), mustAppend(t, s, taken, wrote[2]))
	}
	var said []uint64
	say := func(_ context.Context, seqs []uint64) error {
		if len(said) == 0 {
			later()
		}
		said = append(said, seqs...)
		var left []uint64
		for _, id := range ids {
			of, err := s.EntriesOf(t.Context(), id)
			if err != nil {
				t.Error(err)
			}
			left = append(left, of...)
		}
		for _, seq := range wrote {
			if !slices.Contains(left, seq) && !slices.Contains(said, seq) {
				t.Errorf("entry %d is gone, and nobody was told", seq)
			}
		}
		return nil
	}
	if err := s.Forget(t.Context(), nil, ids, nil, say); err != nil {
		t.Fatal(err)
	}
	slices.Sort(said)
	if !slices.Equal(said, wrote) {
		t.Errorf("told of %v, want %v", said, wrote)
	}
	for _, id := range ids {
		if left, err := s.EntriesOf(t.Context(), id); len(left) != 0 || err != nil {
			t.Errorf("left of %s: %v, %v", id, left, err)
		}
	}
}

// TestForgetIsGoneOnWith: a broker was killed when it had removed a part of a request's entries; what is left is none that waits.
func TestForgetIsGoneOnWith(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Dir: t.TempDir()})
	a := asked(t)
	seq := mustAppend(t, s, decided(a.RequestID), mustAppend(t, s, a, 0))
	mustAppend(t, s, note(a.RequestID), seq)
	st, err := s.record.js.Stream(t.Context(), RecordStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []uint64{seq - 1, seq} {
		if err := s.mark.Remove(t.Context(), approvals, gone); err != nil {
			t.Fatal(err)
		}
		if err := remove(t.Context(), st, gone, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget(t.Context(), nil, []string{a.RequestID}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := s.EntriesOf(t.Context(), a.RequestID); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func filesWith(t *testing.T, dir, text string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A forgotten session is a hole wherever an event of it stood. The log of a reader that begins
// anew is not filled with them.
func TestHolesInTheLog(t *testing.T) {
	t.Parallel()
	var log testLog
	s := open(t, Config{Dir: t.TempDir(), Logf: log.Logf})
	var mine []uint64
	last := uint64(0)
	for range 100 {
		mine = append(mine, mustPublish(t, s, hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: []byte(`{}`)}))
		last = mustPublish(t, s, hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: []byte(`{}`)})
	}
	awaitMirror(t, s, last)
	if err := s.Forget(t.Context(), mine, nil, func(hook.Event) bool { return true }, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	err := s.Events(ctx, 1, func(e hook.Event) {
		if n++; e.Seq == last {
			cancel()
		}
	})
	if n != 100 || ctx.Err() == nil {
		t.Fatalf("%d events, %v", n, err)
	}
	if lines := log.count("are gone"); lines == 0 || lines > 7 {
		t.Errorf("%d lines about 99 holes", lines)
	}
}

// awaitMirror waits until the window that readers see has the event last.
func awaitMirror(t *testing.T, s *Stream, last uint64) {
	t.Helper()
	js := mirrorOf(t, s)
	for {
		st, err := js.Stream(t.Context(), HookEvents)
		if err != nil {
			t.Fatal(err)
		}
		if st.CachedInfo().State.LastSeq >= last {
			return
		}
	}
}

// mirrorOf is JetStream in the readers' account, with all rights.
func mirrorOf(t *testing.T, s *Stream) jetstream.JetStream {
	t.Helper()
	js, done, err := s.events.mirrorJS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return js
}
