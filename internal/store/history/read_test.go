package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/schemas"
)

func titles(t *testing.T, events []Event) (out []string) {
	t.Helper()
	for _, e := range events {
		var ev feed.Event
		if err := json.Unmarshal(e.JSON, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Pos != e.Pos {
			t.Errorf("event at %d says it is at %d", e.Pos, ev.Pos)
		}
		out = append(out, ev.Title)
	}
	return out
}

// A session as a reader finds it: its feed in pages, its state, its payloads.
func TestRead(t *testing.T) {
	r := newRig(t)
	h := r.start()
	r.event("one", "SessionStart", `"source":"startup"`)
	raw := `"prompt":"mend the bicycle"`
	r.event("one", "UserPromptSubmit", raw)
	id, at := r.request("one", "make bicycle")
	r.catchUp()
	s, err := h.Session(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if in := s.Info; in.State != feed.StateBlocked || in.PermissionQueueCount != 1 || in.CurrentRun == nil || in.CurrentRun.Status != feed.RunBlocked || in.Title != "mend the bicycle" {
		t.Errorf("while a request waits: %+v", in)
	}
	r.decide(id, at, "no wheels")
	r.event("one", "Stop", "")
	r.event("two", "SessionStart", `"source":"startup"`)
	r.catchUp()

	var pages []Event
	for after := uint64(0); ; {
		page, err := h.Feed(t.Context(), "one", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		pages = append(pages, page...)
		after = page[len(page)-1].Pos
	}
	whole, err := h.Feed(t.Context(), "one", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := titles(t, whole); !slices.Equal(got, titles(t, pages)) || len(got) < 6 {
		t.Errorf("whole %q, in pages %q", got, titles(t, pages))
	}
	if s, err = h.Session(t.Context(), "one"); err != nil || s.Info.LastPos != whole[len(whole)-1].Pos || s.Info.PermissionQueueCount != 0 {
		t.Errorf("%+v, %v", s.Info, err)
	}
	for _, e := range whole {
		if err := schemas.Validate("feed/Event", e.JSON); err != nil {
			t.Errorf("%v: %s", err, e.JSON)
		}
	}

	list, err := h.Sessions(t.Context(), SessionCursor{}, 1)
	if err != nil || len(list) != 1 || list[0].ID != "two" {
		t.Fatalf("the last session is %+v, %v", list, err)
	}
	if list, err = h.Sessions(t.Context(), list[0].Cursor, 10); err != nil || len(list) != 1 || list[0].ID != "one" {
		t.Errorf("the one before is %+v, %v", list, err)
	}

	var got []byte
	for _, e := range whole {
		if got, err = h.Raw(t.Context(), "one", e.Pos); err == nil && string(got) == fmt.Sprintf(`{"session_id":"one","hook_event_name":"UserPromptSubmit","cwd":"/home/dev/app",%s}`, raw) {
			break
		}
		got = nil
	}
	if got == nil {
		t.Error("the prompt's payload is not kept as it came")
	}

	for name, err := range map[string]error{
		"Session": errOf(h.Session(t.Context(), "three")),
		"Feed":    errOf(h.Feed(t.Context(), "three", 0, 0)),
		"Raw":     errOf(h.Raw(t.Context(), "one", 9999)),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s of what is not there: %v", name, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestSearch(t *testing.T) {
	r := newRig(t)
	h := r.start()
	for i := range 30 {
		r.event(fmt.Sprintf("s%d", i%3), "UserPromptSubmit", fmt.Sprintf(`"prompt":"paint the shed number %d"`, i))
	}
	r.event("s1", "PreToolUse", `"tool_name":"Edit","tool_input":{"file_path":"/srv/shed/Größe.go","old_string":"x","new_string":"y"}`)
	r.decideMessage("s2", "not before the painter comes")
	r.catchUp()
	for query, want := range map[string]int{
		"shed": 31, "SHED paint": 30, `"paint the shed"`: 30, `"the paint"`: 0, "grosse": 0, "große": 1, "Grö": 1, "größe.go": 1, "/srv/shed": 1,
		"painter": 1, "pain": 31, `"pain"`: 0, "number 7": 1, "Edit": 1, `shed" OR "x`: 0,
	} {
		found, err := h.Search(t.Context(), query, 0, 1000)
		if err != nil || len(found) != want {
			t.Errorf("%q found %d, want %d, %v", query, len(found), want, err)
		}
	}
	var all []Found
	for before := uint64(0); ; {
		page, err := h.Search(t.Context(), "paint shed", before, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		before = page[len(page)-1].ID
	}
	if len(all) != 30 || !slices.IsSortedFunc(all, func(a, b Found) int { return int(b.ID) - int(a.ID) }) || all[0].Session != "s2" {
		t.Errorf("%d in pages, the first of session %s", len(all), all[0].Session)
	}
	if _, err := h.Search(t.Context(), " * ", 0, 0); !errors.Is(err, ErrQuery) {
		t.Errorf("a query without a word: %v", err)
	}
}

// A frequent word is not looked for as a beginning; a rare one is.
func TestSearchFrequent(t *testing.T) {
	r := newRig(t)
	h := r.start()
	for range frequent {
		r.event("s", "UserPromptSubmit", `"prompt":"shed"`)
	}
	r.event("s", "UserPromptSubmit", `"prompt":"shedding"`)
	r.catchUp()
	for query, want := range map[string]int{"shed": frequent, "she": frequent + 1, "shedd": 1} {
		if found, err := h.Search(t.Context(), query, 0, 1000); err != nil || len(found) != want {
			t.Errorf("%q found %d, want %d, %v", query, len(found), want, err)
		}
	}
}

// Hundreds of readers may hold a page each. Pages of large events are short, and together they are
// the whole feed.
func TestPagesAreBounded(t *testing.T) {
	r := newRig(t)
	h := r.start()
	long := strings.Repeat("x", 60_000)
	for i := range 30 {
		r.event("s", "PostToolUse", fmt.Sprintf(`"tool_name":"Bash","tool_use_id":"%d","tool_input":{"command":%q},"tool_response":{"stdout":%q}`, i, long, long))
	}
	r.catchUp()
	for after := uint64(0); ; {
		page, err := h.Feed(t.Context(), "s", after, maxPage)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			if after < 30 {
				t.Errorf("the feed ends at %d", after)
			}
			return
		}
		size := 0
		for _, e := range page {
			if after++; e.Pos != after {
				t.Fatalf("event %d stands where %d was expected", e.Pos, after)
			}
			size += len(e.JSON)
		}
		if size > 1<<20 {
			t.Errorf("a page of %d bytes", size)
		}
	}
}

// A search that would run for minutes is given up, and while such searches run everything else
// can be read.
func TestSearchIsBounded(t *testing.T) {
	r := newRig(t)
	r.cfg.searchTime = patience
	h := r.start()
	words := strings.Repeat("a b ", 2000)
	for range 200 {
		r.event("s", "UserPromptSubmit", fmt.Sprintf(`"prompt":%q`, words))
	}
	r.catchUp()
	var query []string
	for i := range maxTerms {
		query = append(query, `"a b a b a a`+strings.Repeat(" b a", i)+`"`)
	}
	awful := strings.Join(query, " ")
	d, done, err := h.reading()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var searches sync.WaitGroup
	var over atomic.Int32
	for range readers {
		searches.Go(func() {
			_, _ = h.Search(ctx, awful, 0, 0)
			over.Add(1)
		})
	}
	for d.read.Stats().InUse < maxSearches {
		runtime.Gosched()
	}
	done()
	for range 50 {
		if _, err := h.Session(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	if n := over.Load(); n > 0 {
		t.Errorf("reading a session waited for %d searches", n)
	}
	cancel()
	searches.Wait()

	h.cfg.searchTime = time.Millisecond
	if _, err := h.Search(t.Context(), awful, 0, 0); !errors.Is(err, ErrSlow) {
		t.Errorf("a search without an end: %v", err)
	}
	h.cfg.searchTime = patience
	if found, err := h.Search(t.Context(), "a b", 0, 1); err != nil || len(found) != 1 {
		t.Errorf("%d found afterwards, %v", len(found), err)
	}
}

func (r *rig) decideMessage(session, message string) {
	r.t.Helper()
	id, at := r.request(session, "true")
	r.append(hook.Record{RequestID: id, Step: hook.StepDelivered}, r.decide(id, at, message))
}

// Whom a prompt came from is kept where the agent's own hook brought it at once, and of no other event.
func TestPromptsSubmitter(t *testing.T) {
	r := newRig(t)
	h := r.start()
	raw := func(typ string) []byte {
		return []byte(`{"session_id":"s","hook_event_name":"` + typ + `","prompt":"go on"}`)
	}
	for _, e := range []hook.Event{
		{Type: hook.EventUserPromptSubmit, Submitter: "user:1@x"},
		{Type: hook.EventUserPromptSubmit, Submitter: "token:t"},
		{Type: hook.EventUserPromptSubmit, Submitter: "user:1@x", Spooled: true},
		{Type: hook.EventUserPromptSubmit, Submitter: "user:1@x", Emitted: true},
		{Type: "Notification", Submitter: "user:1@x"},
	} {
		e.Raw = raw(e.Type)
		r.publish(e)
	}
	r.catchUp()
	events, err := h.Feed(t.Context(), "s", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var from []string
	for _, e := range events {
		if _, submitter, err := h.Prompt(t.Context(), "s", e.Pos); err == nil && submitter != "" {
			from = append(from, submitter)
		}
	}
	if want := []string{"user:1@x", "token:t"}; !slices.Equal(from, want) {
		t.Errorf("%q, want %q", from, want)
	}
}
