package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assent/internal/store/history"
)

const (
	// feedPage is how many events one feed message has at most.
	feedPage = 200
	// historyRetry is how long a feed waits before it asks again for a history that is not there.
	historyRetry = 500 * time.Millisecond
)

// feedCursor is the last event of a feed that a client has.
type feedCursor struct {
	pos uint64
	id  string // its event_id; empty: the client does not say
}

// followFeed sends a session's feed from behind the position after on, and goes on with what
// comes. It reads ahead of nothing: a client that is slow falls behind in the database.
//
// A session that nobody has heard of yet is waited for. Where the feed is not the one the client
// knows, because the session was forgotten or history is being made anew, it begins again with
// a message that says so.
func (s *Server) followFeed(ctx context.Context, session string, after feedCursor, out *socketWriter) error {
	ping := s.pinger(out)
	for {
		watch, stop := s.cfg.History.Watch(session)
		err := s.feedFrom(ctx, session, &after, watch, out, ping)
		stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errWatchEnded):
			// Look again at what there is now.
		case errors.Is(err, history.ErrNotReady):
			pause(ctx, historyRetry)
		default:
			return err
		}
		if err := ping.due(); err != nil {
			return err
		}
	}
}

// feedFrom sends what is stored after *after, then what watch brings. watch was begun before,
// so nothing is missed between the two.
func (s *Server) feedFrom(ctx context.Context, session string, after *feedCursor, watch <-chan []history.News, out *socketWriter, ping *pinger) error {
	known, err := s.cfg.History.Session(ctx, session)
	if err != nil && !errors.Is(err, history.ErrNotFound) {
		return err
	}
	same := after.pos == 0
	if !same {
		if same, err = s.isCursor(ctx, session, known.Info.LastPos, *after); err != nil {
			return err
		}
	}
	if !same {
		*after = feedCursor{}
		if err := out.message(feedHead(session, true), feedTail); err != nil {
			return err
		}
	}
	for more := known.Info.LastPos > 0; more; {
		page, err := s.cfg.History.Feed(ctx, session, after.pos, feedPage)
		if errors.Is(err, history.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		if more = len(page) > 0; more {
			if err := sendFeed(out, session, page, after); err != nil {
				return err
			}
		}
		if err := ping.due(); err != nil {
			return err
		}
	}
	for {
		wait, cancel := context.WithDeadline(ctx, ping.next)
		news, err := nextNews(wait, watch)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		events := eventsAfter(news, after.pos)
		if len(events) > 0 && events[0].Pos != after.pos+1 && after.pos > 0 {
			return errWatchEnded // another feed than the one that was read
		}
		for len(events) > 0 {
			n := min(len(events), feedPage)
			if err := sendFeed(out, session, events[:n], after); err != nil {
				return err
			}
			events = events[n:]
		}
		if err := ping.due(); err != nil {
			return err
		}
	}
}

// eventsAfter are the events of news, which are of one session, from behind the position pos on.
func eventsAfter(news []history.News, pos uint64) []history.Event {
	var events []history.Event
	for _, n := range news {
		if n.Event.Pos > pos || len(events) > 0 {
			events = append(events, n.Event)
		}
	}
	return events
}

var feedTail = []byte("]}")

func feedHead(session string, reset bool) []byte {
	if reset {
		return fmt.Appendf(nil, `{"type":"feed","sessionId":%s,"reset":true,"events":[`, quoted(session))
	}
	return fmt.Appendf(nil, `{"type":"feed","sessionId":%s,"events":[`, quoted(session))
}

// isCursor reports whether a feed that ends at position last is the one that the client knows. A
// session that was forgotten may have gone on beyond the client's position since; then another
// event stands there. Positions that are too old to be kept cannot be compared.
func (s *Server) isCursor(ctx context.Context, session string, last uint64, at feedCursor) (bool, error) {
	if last < at.pos || at.id == "" {
		return last >= at.pos, nil
	}
	page, err := s.cfg.History.Feed(ctx, session, at.pos-1, 1)
	if errors.Is(err, history.ErrNotFound) {
		return false, nil
	}
	if err != nil || len(page) == 0 || page[0].Pos != at.pos {
		return true, err
	}
	id, err := eventID(session, page[0])
	return id == at.id, err
}

func eventID(session string, e history.Event) (string, error) {
	var ev struct {
		ID string `json:"event_id"`
	}
	if err := json.Unmarshal(e.JSON, &ev); err != nil {
		return "", fmt.Errorf("read event %d of session %q: %w", e.Pos, session, err)
	}
	return ev.ID, nil
}

// sendFeed sends one feed message and moves *after behind it.
func sendFeed(out *socketWriter, session string, events []history.Event, after *feedCursor) error {
	parts := make([][]byte, 0, 2*len(events)+2)
	parts = append(parts, feedHead(session, false))
	for i, e := range events {
		if i > 0 {
			parts = append(parts, comma)
		}
		parts = append(parts, e.JSON)
	}
	last := events[len(events)-1]
	id, err := eventID(session, last)
	if err != nil {
		return err
	}
	*after = feedCursor{last.Pos, id}
	return out.message(append(parts, feedTail)...)
}

var comma = []byte{','}
