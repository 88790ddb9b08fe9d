package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/store/history"
)

// History is what the server reads of package history; *history.History is one.
type History interface {
	Sessions(ctx context.Context, after history.SessionCursor, limit int) ([]history.Session, error)
	Session(ctx context.Context, id string) (history.Session, error)
	Feed(ctx context.Context, session string, after uint64, limit int) ([]history.Event, error)
	Raw(ctx context.Context, session string, pos uint64) ([]byte, error)
	Prompt(ctx context.Context, session string, pos uint64) (raw []byte, submitter string, err error)
	Search(ctx context.Context, query string, before uint64, limit int) ([]history.Found, error)
	Settled(ctx context.Context, q hook.SettledQuery) ([]hook.Settled, error)
	Messages(ctx context.Context, q hook.MessageQuery) ([]hook.RecordedMessage, error)
	Stats(ctx context.Context, since time.Time, step string, zone *time.Location) (hook.Stats, error)
	Watch(session string) (news <-chan []history.News, stop func())
	MayForget(ctx context.Context, session string) error
	Forget(ctx context.Context, session string) error
	CaughtUp(ctx context.Context) error
}

var (
	errNoEvent = errors.New("no such event")
	// errWatchEnded says that a watch has ended: it fell behind, its session was forgotten, or
	// history is made anew.
	errWatchEnded = errors.New("the watch has ended")
)

// needsHistory is for routes that a broker without history cannot serve.
func (s *Server) needsHistory(next http.Handler) http.Handler {
	if s.cfg.History != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, history.ErrNotReady) })
}

// nextNews waits for news of a watch. It returns errWatchEnded or ctx's error.
func nextNews(ctx context.Context, watch <-chan []history.News) ([]history.News, error) {
	select {
	case news, ok := <-watch:
		if !ok {
			return nil, errWatchEnded
		}
		return news, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pageQuery reads limit and a numeric after. It answers errors itself.
func pageQuery(w http.ResponseWriter, r *http.Request) (after uint64, limit int, ok bool) {
	q := r.URL.Query()
	limit = defaultPage
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			writeProblem(w, badField("limit", "want a number above 0"))
			return 0, 0, false
		}
		limit = min(n, longestPage)
	}
	if text := q.Get("after"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			writeProblem(w, badField("after", "want a number"))
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
	events, err := s.cfg.History.Feed(r.Context(), param(r, "id"), after, limit)
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
		s.fail(w, r, errNoEvent)
		return
	}
	events, err := s.cfg.History.Feed(r.Context(), id, pos-1, 1)
	if err == nil && (len(events) == 0 || events[0].Pos != pos) {
		err = errNoEvent
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	raw, err := s.cfg.History.Raw(r.Context(), id, pos)
	if err != nil && !errors.Is(err, history.ErrNotFound) { // not every event has one
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
		writeProblem(w, badField("q", "too long"))
		return
	}
	found, err := s.cfg.History.Search(r.Context(), words, before, limit)
	if errors.Is(err, history.ErrQuery) {
		writeProblem(w, badField("q", "want at least one word to look for"))
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	sessions := map[string]feed.Info{}
	list := make([]api.Found, len(found))
	for i, e := range found {
		of, known := sessions[e.Session]
		if !known {
			if known, err := s.cfg.History.Session(r.Context(), e.Session); err == nil { // an error: it was just forgotten
				of = known.Info
			}
			sessions[e.Session] = of
		}
		list[i] = api.Found{ID: e.ID, Title: of.Title, Agent: of.Agent, AgentTitle: agents.Title(of.Agent), Event: e.JSON}
	}
	s.writeJSON(w, r, http.StatusOK, list)
}

// maxWords is how long a search may be, in bytes.
const maxWords = 1 << 10

// forgetSession is DELETE /v1/sessions/{id}: what was kept of the session is removed.
func (s *Server) forgetSession(w http.ResponseWriter, r *http.Request) {
	id := param(r, "id")
	// A long session takes long to remove; the deadlines are meant for slow clients.
	c := http.NewResponseController(w)
	if err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})); err != nil {
		s.fail(w, r, err)
		return
	}
	// The history goes last: until then the session is listed, and where a part fails, or this broker is killed, it can be forgotten
	// once more. A message is ended before its entries go, lest it is recorded as sent a second time.
	err := s.cfg.History.MayForget(r.Context(), id)
	if err == nil && s.cfg.Messages != nil {
		err = s.cfg.Messages.Forget(r.Context(), id)
	}
	if err == nil && s.cfg.ForgetAgent != nil {
		err = s.cfg.ForgetAgent(r.Context(), id)
	}
	if err == nil && s.cfg.Agents != nil {
		err = s.cfg.Agents.Forget(r.Context(), id)
	}
	if err == nil {
		err = s.cfg.History.Forget(r.Context(), id)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.forgetHere(id)
	if s.cfg.Forgot != nil {
		if err := s.cfg.Forgot(r.Context(), id); err != nil {
			s.fail(w, r, fmt.Errorf("%w (%w)", broker.ErrUnavailable, err))
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// forgetHere drops what is in memory of a session.
func (s *Server) forgetHere(id string) {
	s.cfg.Broker.Forget(id)
	s.intake.Forget(id)
	s.index.forget(id)
}

// ForgetElsewhere forgets a session that another broker was told to forget, and removed from what they
// share. An error says that it is to be tried again.
func (s *Server) ForgetElsewhere(ctx context.Context, id string) error {
	if err := s.cfg.History.Forget(ctx, id); err != nil && !errors.Is(err, history.ErrNotFound) {
		return err
	}
	s.forgetHere(id)
	return nil
}
