package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
)

// Past is what happened: sessions and their feeds. Its methods may be called from any
// goroutine and return the errors below. ErrNoPast may end at any time: the past is made anew
// when its file is lost, and comes when it can.
type Past interface {
	// Sessions returns up to limit sessions, the one last heard of first, from behind the one
	// with the ID after on; "" means from the first.
	Sessions(ctx context.Context, after string, limit int) ([]feed.Info, error)
	Session(ctx context.Context, id string) (feed.Info, error)
	// Feed returns up to limit events from behind the position after on, or fewer where they
	// are large; none means that there are no more.
	Feed(ctx context.Context, session string, after uint64, limit int) ([]FeedEvent, error)
	// Payload is what the hook sent that an event of a feed came from.
	Payload(ctx context.Context, session string, pos uint64) ([]byte, error)
	// Search returns up to limit events that have the words, newest first, of those older than
	// the one with the ID before; 0 means from the newest.
	Search(ctx context.Context, words string, before uint64, limit int) ([]FeedEvent, error)
	// Settled returns the requests that are over, the last settled one first. An After that is
	// not known is ErrNoSession.
	Settled(ctx context.Context, q hook.SettledQuery) ([]hook.Settled, error)
	// Stats counts what became of requests since a time, by "hour" or "day". More than can be
	// shown is ErrNothingToFind.
	Stats(ctx context.Context, since time.Time, step string, zone *time.Location) (hook.Stats, error)
	// Watch watches a session, or all of them if session is "".
	Watch(session string) PastWatch
	// Forget removes a session and what was kept of it.
	Forget(ctx context.Context, session string) error
}

// PastWatch brings new events. It is closed by who began it.
type PastWatch interface {
	// Next waits for new events. It returns ErrPastOver when the watch has ended: because it
	// fell behind, or the session was forgotten, or all is made anew; and ctx's error.
	Next(ctx context.Context) ([]FeedEvent, error)
	Close()
}

// FeedEvent is one event of a session's feed.
type FeedEvent struct {
	Session string
	Pos     uint64 // its place in the session
	ID      uint64 // its place among those of all sessions, until the past is made anew
	JSON    []byte // a feed.Event without its payload
}

// What a Past may say.
var (
	ErrNoPast        = errors.New("history is not available at the moment; the log of the broker says why")
	ErrNoSession     = errors.New("no such session")
	ErrNoEvent       = errors.New("no such event")
	ErrSessionWaits  = errors.New("a request of the session waits; answer it first")
	ErrNothingToFind = errors.New("there is no word to look for")
	ErrSlowSearch    = errors.New("the search took too long; look for fewer or rarer words")
	ErrPastOver      = errors.New("the watch has ended")
)

// pageQuery reads limit and a numeric after. It answers what is wrong with them itself.
func pageQuery(w http.ResponseWriter, r *http.Request) (after uint64, limit int, ok bool) {
	q := r.URL.Query()
	limit = defaultPage
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			writeProblem(w, badFields(fieldProblem{"limit", "want a number above 0"}))
			return 0, 0, false
		}
		limit = min(n, longestPage)
	}
	if text := q.Get("after"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			writeProblem(w, badFields(fieldProblem{"after", "want a number"}))
			return 0, 0, false
		}
		after = n
	}
	return after, limit, true
}

// getFeed is GET /v1/sessions/{id}/feed: a page of the session's feed, oldest first.
func (s *Server) getFeed(w http.ResponseWriter, r *http.Request) {
	after, limit, ok := pageQuery(w, r)
	if !ok {
		return
	}
	events, err := s.past.Feed(r.Context(), param(r, "id"), after, limit)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 32<<10)
	_ = b.WriteByte('[') // bufio keeps the first error; the client is gone then
	for i, e := range events {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		if _, err := b.Write(e.JSON); err != nil {
			return
		}
	}
	_, _ = b.WriteString("]\n")
	_ = b.Flush()
}

// getFeedEvent is GET /v1/sessions/{id}/feed/{pos}: one event, with the payload it came from.
func (s *Server) getFeedEvent(w http.ResponseWriter, r *http.Request) {
	id := param(r, "id")
	pos, err := strconv.ParseUint(chi.URLParam(r, "pos"), 10, 63)
	if err != nil || pos == 0 {
		s.fail(w, r, ErrNoEvent)
		return
	}
	events, err := s.past.Feed(r.Context(), id, pos-1, 1)
	if err == nil && (len(events) == 0 || events[0].Pos != pos) {
		err = ErrNoEvent
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	raw, err := s.past.Payload(r.Context(), id, pos)
	if err != nil && !errors.Is(err, ErrNoEvent) { // not every event has one
		s.fail(w, r, err)
		return
	}
	body, err := withPayload(events[0].JSON, raw)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, json.RawMessage(body))
}

// withPayload adds the payload to the JSON of an event, as feed.Event writes it.
func withPayload(event, raw []byte) ([]byte, error) {
	if len(raw) == 0 || len(event) == 0 {
		return event, nil
	}
	member, value := `,"raw":`, any(string(raw))
	if !utf8.Valid(raw) {
		member, value = `,"raw_base64":`, raw
	}
	b, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), event[:len(event)-1]...)
	return append(append(append(out, member...), b...), '}'), nil
}

// search is GET /v1/search?q=: the events of all sessions that have the words, newest first.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	before, limit, ok := pageQuery(w, r)
	if !ok {
		return
	}
	words := r.URL.Query().Get("q")
	if len(words) > maxWords {
		writeProblem(w, badFields(fieldProblem{"q", "too long"}))
		return
	}
	found, err := s.past.Search(r.Context(), words, before, limit)
	if errors.Is(err, ErrNothingToFind) {
		writeProblem(w, badFields(fieldProblem{"q", err.Error()}))
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	titles := map[string]string{}
	list := make([]api.Found, len(found))
	for i, e := range found {
		title, known := titles[e.Session]
		if !known {
			if info, err := s.past.Session(r.Context(), e.Session); err == nil { // else it was just forgotten
				title = info.Title
			}
			titles[e.Session] = title
		}
		list[i] = api.Found{ID: e.ID, Title: title, Event: e.JSON}
	}
	s.writeJSON(w, r, http.StatusOK, list)
}

// maxWords is how long a search may be, in bytes.
const maxWords = 1 << 10

// forgetSession is DELETE /v1/sessions/{id}: what was kept of the session is removed.
func (s *Server) forgetSession(w http.ResponseWriter, r *http.Request) {
	id := param(r, "id")
	// A long session takes its time; the deadlines are for clients that dawdle.
	c := http.NewResponseController(w)
	if err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})); err != nil {
		s.fail(w, r, err)
		return
	}
	if err := s.past.Forget(r.Context(), id); err != nil {
		s.fail(w, r, err)
		return
	}
	s.cfg.Broker.Forget(id)
	s.roster.forget(id)
	w.WriteHeader(http.StatusNoContent)
}

// noPast is the Past of a server without one.
type noPast struct{}

func (noPast) Sessions(context.Context, string, int) ([]feed.Info, error) { return nil, ErrNoPast }
func (noPast) Session(context.Context, string) (feed.Info, error)         { return feed.Info{}, ErrNoPast }
func (noPast) Feed(context.Context, string, uint64, int) ([]FeedEvent, error) {
	return nil, ErrNoPast
}
func (noPast) Payload(context.Context, string, uint64) ([]byte, error) { return nil, ErrNoPast }
func (noPast) Search(context.Context, string, uint64, int) ([]FeedEvent, error) {
	return nil, ErrNoPast
}
func (noPast) Settled(context.Context, hook.SettledQuery) ([]hook.Settled, error) {
	return nil, ErrNoPast
}
func (noPast) Stats(context.Context, time.Time, string, *time.Location) (hook.Stats, error) {
	return hook.Stats{}, ErrNoPast
}
func (noPast) Watch(string) PastWatch               { return noWatch{} }
func (noPast) Forget(context.Context, string) error { return ErrNoPast }

// noWatch never brings anything.
type noWatch struct{}

func (noWatch) Next(ctx context.Context) ([]FeedEvent, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (noWatch) Close() {}
