package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"assent/internal/store/stream"
)

// anew replaces the event stream by an empty one, as who removes its directory does.
func (r *rig) anew() {
	r.t.Helper()
	if err := r.streams.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "nats", "events")); err != nil {
		r.t.Fatal(err)
	}
	var err error
	if r.streams, err = stream.Open(r.t.Context(), stream.Config{Dir: r.dir}); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Events, r.cfg.Records, r.cfg.EventsNow, r.cfg.RecordsNow = r.streams.EventsAfter, r.streams.RecordsAfter, r.streams.EventsNow, r.streams.RecordsNow
	r.cfg.Settled, r.cfg.EventBounds, r.cfg.Forget = r.streams.Settled, r.streams.EventBounds, forgetIn(r.streams)
}

// prompts is how many events the feed of a session has of n prompts.
func (r *rig) prompts(session string) int {
	r.t.Helper()
	return r.count(fmt.Sprintf("SELECT count(*) FROM feed JOIN sessions ON sessions.key = feed.session WHERE sessions.id = '%s' AND feed.text LIKE '%%hello%%'", session))
}

// Whatever an event stream has that was made anew comes into the file, beside what the former one had.
func TestEventsMadeAnew(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, n := range []int{2, 5, 9} { // shorter, as long, longer
			t.Run(fmt.Sprintf("%d, old %t", n, old), func(t *testing.T) {
				r := newRig(t)
				r.start()
				for range 5 {
					r.event("before", "UserPromptSubmit", `"prompt":"hello"`)
				}
				r.catchUp()
				if old { // as layout 8 left it
					if err := r.h.do(t.Context(), func(w *writer) error {
						return w.d.exec("UPDATE cursor SET event_stream = 0, record_stream = 0")
					}); err != nil {
						t.Fatal(err)
					}
				}
				r.halt()
				r.anew()
				for range n {
					r.event("since", "UserPromptSubmit", `"prompt":"hello"`)
				}
				r.start()
				r.catchUp()
				if a, b := r.prompts("before"), r.prompts("since"); a != 5 || b != n {
					t.Errorf("%d and %d prompts, want 5 and %d", a, b, n)
				}
				if !r.saidSo("made anew") {
					t.Error("nothing is said of it")
				}
				// Nothing comes twice after that, and what is removed for its age takes nothing of the new.
				r.halt()
				r.start()
				r.event("since", "UserPromptSubmit", `"prompt":"hello"`)
				r.catchUp()
				if err := r.h.do(t.Context(), func(w *writer) error {
					if err := w.begin(); err != nil {
						return err
					}
					if err := w.removeUpTo(3, 0); err != nil {
						return err
					}
					return w.end()
				}); err != nil {
					t.Fatal(err)
				}
				if got := r.prompts("since"); got != n+1 {
					t.Errorf("%d prompts, want %d", got, n+1)
				}
				if got := r.count("SELECT count(*) FROM events"); got != n+1 {
					t.Errorf("%d events are known, want %d", got, n+1)
				}
				if event, _ := r.h.Cursor(); event != uint64(n+1) {
					t.Errorf("the cursor is at %d", event)
				}
			})
		}
	}
}

// A file of a layout without the streams' times goes on where it was.
func TestOldCursor(t *testing.T) {
	r := newRig(t)
	r.start()
	for range 5 {
		r.event("one", "UserPromptSubmit", `"prompt":"hello"`)
	}
	r.catchUp()
	if err := r.h.do(t.Context(), func(w *writer) error {
		return w.d.exec("UPDATE cursor SET event_stream = 0, record_stream = 0")
	}); err != nil {
		t.Fatal(err)
	}
	r.halt()
	r.event("one", "UserPromptSubmit", `"prompt":"hello"`)
	r.start()
	r.catchUp()
	if got := r.prompts("one"); got != 6 || r.saidSo("made anew") {
		t.Errorf("%d prompts", got)
	}
	if got := r.count("SELECT count(*) FROM cursor WHERE event_stream > 0 AND record_stream > 0"); got != 1 {
		t.Error("the streams are not noted")
	}
}
