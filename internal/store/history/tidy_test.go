package history

import (
	"context"
	"fmt"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// tidyAll has everything removed that is due at a time.
func (r *rig) tidyAll(now time.Time) {
	r.t.Helper()
	for again := time.Duration(0); again != tidyEvery; {
		if err := r.h.do(r.t.Context(), func(w *writer) (err error) {
			again, err = w.tidy(now)
			return err
		}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) count(query string) (n int) {
	r.t.Helper()
	d, done, err := r.h.reading()
	if err != nil {
		r.t.Fatal(err)
	}
	defer done()
	if err := d.read.QueryRow(query).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// What is older than the retention goes, with all that belongs to it, and nothing else.
func TestRetention(t *testing.T) {
	r := newRig(t)
	r.cfg.Retention = time.Hour
	inner := r.cfg.Events
	var days time.Duration // the streams' clock is ahead
	r.cfg.Events = func(ctx context.Context, from follow.Cursor, fn func(hook.Event)) error {
		return inner(ctx, from, func(e hook.Event) {
			if e.Seq > 700 {
				days = 48 * time.Hour
			}
			e.Stored = e.Stored.Add(days)
			fn(e)
		})
	}
	h := r.start()
	for i := range 695 {
		r.event(fmt.Sprintf("s%d", i%7), "UserPromptSubmit", `"prompt":"old words"`)
	}
	id, at := r.request("s0", "old words")
	r.decide(id, at, "old words")
	for range 4 {
		r.event("both", "UserPromptSubmit", `"prompt":"old words"`)
	}
	r.event("both", "UserPromptSubmit", `"prompt":"new words"`) // 701
	r.catchUp()
	r.tidyAll(time.Now())
	if n := r.count("SELECT count(*) FROM sessions"); n != 8 {
		t.Fatalf("%d sessions while nothing is old", n)
	}
	r.tidyAll(time.Now().Add(24 * time.Hour))
	for query, want := range map[string]int{
		"SELECT count(*) FROM sessions":                        1,
		"SELECT count(*) FROM requests":                        0,
		"SELECT count(*) FROM decisions":                       0,
		"SELECT count(*) FROM search WHERE search MATCH 'old'": 0,
		"SELECT count(*) FROM search WHERE search MATCH 'new'": 1,
		"SELECT count(*) FROM raw":                             1,
		"SELECT count(*) FROM events":                          1,
	} {
		if n := r.count(query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	r.event("both", "Stop", "") // and it goes on
	r.event("s3", "UserPromptSubmit", `"prompt":"back again"`)
	r.catchUp()
	if feed, err := h.Feed(t.Context(), "both", 0, 0); err != nil || len(feed) < 3 || feed[0].Pos < 10 {
		t.Errorf("%d events, %v", len(feed), err)
	}
	if _, err := h.Session(t.Context(), "s3"); err != nil {
		t.Error(err)
	}
	r.halt()
	r.dump() // holds the index against the rows
}

// A file that is too large loses its oldest rows, and gives the space back.
func TestMaxBytes(t *testing.T) {
	r := newRig(t)
	r.cfg.MaxBytes = 2 << 20 // some of the pieces in which rows go away
	r.start()
	for i := range 1500 {
		r.event("s", "UserPromptSubmit", fmt.Sprintf(`"prompt":"%x %d"`, [64]byte{byte(i)}, i))
	}
	r.catchUp()
	before := r.count("SELECT count(*) FROM feed")
	r.tidyAll(time.Now())
	after := r.count("SELECT count(*) FROM feed")
	if after >= before || after == 0 {
		t.Errorf("%d rows before, %d after", before, after)
	}
	if used := r.count("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"); used > 2<<20 {
		t.Errorf("%d bytes in use", used)
	}
	if free := r.count("PRAGMA freelist_count"); free >= tidyPages {
		t.Errorf("%d pages were not given back", free)
	}
}

// Events that left the stream while history was away are missing, and the feed says so.
func TestGap(t *testing.T) {
	r := newRig(t)
	r.start()
	r.event("s", "UserPromptSubmit", `"prompt":"before"`)
	r.event("asleep", "UserPromptSubmit", `"prompt":"before"`)
	r.catchUp()
	r.halt()
	for range 10 {
		r.event("s", "Stop", "")
	}
	// As if the first ten of the twelve were too old for the stream.
	if err := r.streams.Forget(t.Context(), []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, nil, func(hook.Event) bool { return true }, nil); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.event("s", "UserPromptSubmit", `"prompt":"after"`)
	r.event("s", "UserPromptSubmit", `"prompt":"and on"`)
	r.event("fresh", "UserPromptSubmit", `"prompt":"never away"`)
	r.catchUp()
	r.halt() // it remembers for those that still sleep
	h := r.start()
	r.event("asleep", "Stop", "")
	r.catchUp()
	for session, want := range map[string]int{"s": 1, "asleep": 1, "fresh": 0} {
		events, err := h.Feed(t.Context(), session, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, title := range titles(t, events) {
			if title == "⚠ 8 events were lost here, of this session or others" {
				n++
			}
		}
		if n != want {
			t.Errorf("session %s says %d times that events were lost, want %d: %q", session, n, want, titles(t, events))
		}
	}
	if !r.saidSo("events 3 to 10 left the stream") {
		t.Error("the log does not say so")
	}
}
