package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// After Forget nothing of a session is in any file, the others are as they were, and replay
// brings nothing back.
func TestForget(t *testing.T) {
	r := newRig(t)
	h := r.start()
	const secret, other = "correct-horse-battery", "an-innocent-neighbour"
	for i := range 50 {
		r.event("mine", "UserPromptSubmit", fmt.Sprintf(`"prompt":"%s %d"`, secret, i))
		r.event("theirs", "UserPromptSubmit", fmt.Sprintf(`"prompt":"%s %d"`, other, i))
	}
	id, at := r.request("mine", secret)
	theirs, theirsAt := r.request("theirs", other)
	r.decide(theirs, theirsAt, "")

	if err := h.Forget(t.Context(), "mine"); !errors.Is(err, ErrWaiting) {
		t.Fatalf("while a request waits: %v", err)
	}
	if err := h.Forget(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("a session nobody knows: %v", err)
	}
	r.append(hook.Record{RequestID: id, Step: hook.StepDelivered}, r.decide(id, at, secret))
	r.catchUp()
	theirFeed := r.told("theirs")
	news, stop := h.Watch("mine")
	defer stop()
	if filesWith(t, r.dir, secret) == 0 { // compressed rows apart
		t.Fatal("the search finds nothing")
	}
	if err := h.Forget(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	for range news { // ends
	}
	if _, err := h.Session(t.Context(), "mine"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
	if found, err := h.Search(t.Context(), secret, 0, 0); len(found) != 0 || err != nil {
		t.Errorf("search finds %d, %v", len(found), err)
	}
	if got := r.told("theirs"); got != theirFeed {
		t.Errorf("the other session was\n%s\nand is\n%s", theirFeed, got)
	}
	if found, err := h.Search(t.Context(), other, 0, 1000); len(found) < 50 || err != nil {
		t.Errorf("of the other session search finds %d, %v", len(found), err)
	}
	if err := h.Forget(t.Context(), "mine"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the second time: %v", err)
	}
	r.event("mine", "UserPromptSubmit", `"prompt":"again"`)
	r.catchUp()
	again, err := h.Feed(t.Context(), "mine", 0, 0)
	if err != nil || len(again) != 2 || again[0].Pos != 1 {
		t.Errorf("what the session does next: %d events, %v", len(again), err)
	}
	want := r.told("theirs") + r.told("mine")
	if r.saidSo("left the stream before") {
		t.Error("what was forgotten counts as lost")
	}
	r.halt()
	r.dump() // holds the index against the rows
	r.removeFile()
	r.start()
	r.catchUp()
	if got := r.told("theirs") + r.told("mine"); got != want {
		t.Errorf("after a replay\n%s\nbefore\n%s", got, want)
	}
	r.halt()
	if err := r.streams.Close(); err != nil {
		t.Fatal(err)
	}
	if n := filesWith(t, r.dir, secret); n > 0 {
		t.Errorf("%d files still have it", n)
	}
	if r.streams, err = stream.Open(t.Context(), stream.Config{Dir: r.dir}); err != nil {
		t.Fatal(err)
	}
}

// told is all that readers see of a session.
func (r *rig) told(session string) (out string) {
	r.t.Helper()
	s, err := r.h.Session(r.t.Context(), session)
	if err != nil {
		r.t.Fatal(err)
	}
	out = fmt.Sprintf("%+v\n", s.Info.LastPos)
	events, err := r.h.Feed(r.t.Context(), session, 0, maxPage)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		out += string(e.JSON) + "\n"
	}
	return out
}

// Readers that fall behind are ended and go on from the file; the others miss nothing.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.start()
	r.event("s", "UserPromptSubmit", `"prompt":"0"`)
	r.catchUp()
	slow, stopSlow := h.Watch("")
	defer stopSlow()
	news, stop := h.Watch("s")
	var last uint64
	begin, err := h.Feed(t.Context(), "s", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	last = begin[0].Pos
	rest, err := h.Feed(t.Context(), "s", last, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rest {
		last = e.Pos
	}
	for i := range watchRoom + 5 {
		r.event("s", "UserPromptSubmit", fmt.Sprintf(`"prompt":"%d"`, i))
		r.event("other", "Stop", "")
		r.catchUp() // so that each is a transaction
		batch, ok := <-news
		if !ok {
			t.Fatal("a reader that keeps up was ended")
		}
		for _, n := range batch {
			if n.Session != "s" || n.Event.Pos != last+1 {
				t.Fatalf("event %d of session %s after %d", n.Event.Pos, n.Session, last)
			}
			last = n.Event.Pos
		}
		for len(news) > 0 {
			for _, n := range <-news {
				last = n.Event.Pos
			}
		}
	}
	n := 0
	for range slow {
		n++
	}
	if n > watchRoom {
		t.Errorf("a slow reader was given %d transactions", n)
	}
	stop()
	stop()
	if _, ok := <-news; ok {
		t.Error("a watch that was stopped goes on")
	}
	all, stopAll := h.Watch("")
	defer stopAll()
	r.halt()
	select {
	case <-all:
	case <-time.After(patience):
		t.Error("a watch outlives Run")
	}
}

// TestMessagesAreForgotten: entries of messages are no session's in the feed, and go with the session that they were sent to.
func TestMessagesAreForgotten(t *testing.T) {
	r := newRig(t)
	h := r.start()
	step := func(id, session string, state hook.MessageState, n int, after uint64) uint64 {
		rec := hook.Record{RequestID: hook.MessageRecord(id), Step: state.RecordStep(), Message: &hook.MessageEntry{N: n}}
		if n == 0 {
			rec.By, rec.Message.Sent = &hook.Approver{Kind: hook.KindOwner}, &hook.SentMessage{Agent: "a", SessionID: session, Kind: hook.MessagePrompt}
		}
		return r.append(rec, after)
	}
	for _, session := range []string{"mine", "theirs"} {
		r.event(session, "UserPromptSubmit", `"prompt":"ring the bell"`)
		for _, n := range []string{"1", "2"} {
			step(session+n, session, hook.MessageTaken, 1, step(session+n, session, hook.MessageSent, 0, 0))
		}
	}
	step("unborn", "a session without an event", hook.MessageSent, 0, 0)
	r.catchUp()
	if list, err := h.Sessions(t.Context(), SessionCursor{}, 10); err != nil || len(list) != 2 {
		t.Errorf("there are %+v, %v", list, err)
	}
	feed := r.told("theirs")
	if err := h.Forget(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"mine1": 0, "mine2": 0, "theirs1": 2, "theirs2": 2, "unborn": 1} {
		if recs, err := r.streams.Records(t.Context(), hook.MessageRecord(id)); err != nil || len(recs) != want {
			t.Errorf("%s has %d entries, %v; want %d", id, len(recs), err, want)
		}
	}
	if got := r.told("theirs"); got != feed {
		t.Errorf("the other session was\n%s\nand is\n%s", feed, got)
	}
}
