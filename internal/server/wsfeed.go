package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// feedPage is how many events one feed message has at most.
	feedPage = 200
	// pastRetry is how long a feed waits before it asks again for a past that is not there.
	pastRetry = 500 * time.Millisecond
)

// feedPlace is the last event of a feed that a client has.
type feedPlace struct {
	pos uint64
	id  string // its event_id; empty: the client does not say
}

// followFeed sends a session's feed from behind the position after on, and goes on with what
// comes. It reads ahead of nothing: a client that is slow falls behind in the database.
//
// A session that nobody has heard of yet is waited for. Where the feed is not the one the client
// knows, because the session was forgotten or the past is being made anew, it begins again with
// a message that says so.
func (s *Server) followFeed(ctx context.Context, session string, after feedPlace, out *socketWriter) error {
	ping := s.pinger(out)
	for {
		watch := s.past.Watch(session)
		err := s.feedFrom(ctx, session, &after, watch, out, ping)
		watch.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrPastOver):
			// Look again at what there is now.
		case errors.Is(err, ErrNoPast):
			pause(ctx, pastRetry)
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
func (s *Server) feedFrom(ctx context.Context, session string, after *feedPlace, watch PastWatch, out *socketWriter, ping *pinger) error {
	info, err := s.past.Session(ctx, session)
	if err != nil && !errors.Is(err, ErrNoSession) {
		return err
	}
	same := after.pos == 0
	if !same {
		if same, err = s.isPlace(ctx, session, info.LastPos, *after); err != nil {
			return err
		}
	}
	if !same {
		*after = feedPlace{}
		if err := out.message(feedHead(session, true), feedTail); err != nil {
			return err
		}
	}
	for more := info.LastPos > 0; more; {
		page, err := s.past.Feed(ctx, session, after.pos, feedPage)
		if errors.Is(err, ErrNoSession) {
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
		news, err := watch.Next(wait)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		for len(news) > 0 && news[0].Pos <= after.pos {
			news = news[1:]
		}
		if len(news) > 0 && news[0].Pos != after.pos+1 && after.pos > 0 {
			return ErrPastOver // another feed than the one that was read
		}
		for len(news) > 0 {
			n := min(len(news), feedPage)
			if err := sendFeed(out, session, news[:n], after); err != nil {
				return err
			}
			news = news[n:]
		}
		if err := ping.due(); err != nil {
			return err
		}
	}
}

var feedTail = []byte("]}")

func feedHead(session string, reset bool) []byte {
	if reset {
		return fmt.Appendf(nil, `{"type":"feed","sessionId":%s,"reset":true,"events":[`, quoted(session))
	}
	return fmt.Appendf(nil, `{"type":"feed","sessionId":%s,"events":[`, quoted(session))
}

// isPlace reports whether a feed that ends at position last is the one that the client knows. A
// session that was forgotten may have gone on beyond the client's position since; then another
// event stands there. One that is too old to be kept cannot tell.
func (s *Server) isPlace(ctx context.Context, session string, last uint64, place feedPlace) (bool, error) {
	if last < place.pos || place.id == "" {
		return last >= place.pos, nil
	}
	page, err := s.past.Feed(ctx, session, place.pos-1, 1)
	if errors.Is(err, ErrNoSession) {
		return false, nil
	}
	if err != nil || len(page) == 0 || page[0].Pos != place.pos {
		return true, err
	}
	id, err := eventID(page[0])
	return id == place.id, err
}

func eventID(e FeedEvent) (string, error) {
	var ev struct {
		ID string `json:"event_id"`
	}
	if err := json.Unmarshal(e.JSON, &ev); err != nil {
		return "", fmt.Errorf("read event %d of session %q: %w", e.Pos, e.Session, err)
	}
	return ev.ID, nil
}

// sendFeed sends one feed message and moves *after behind it.
func sendFeed(out *socketWriter, session string, events []FeedEvent, after *feedPlace) error {
	parts := make([][]byte, 0, 2*len(events)+2)
	parts = append(parts, feedHead(session, false))
	for i, e := range events {
		if i > 0 {
			parts = append(parts, comma)
		}
		parts = append(parts, e.JSON)
	}
	last := events[len(events)-1]
	id, err := eventID(last)
	if err != nil {
		return err
	}
	*after = feedPlace{last.Pos, id}
	return out.message(append(parts, feedTail)...)
}

var comma = []byte{','}
