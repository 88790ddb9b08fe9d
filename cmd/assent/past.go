package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/history"
)

// past hands history to the server, which knows no database.
type past struct{ h *history.History }

func (p past) Sessions(ctx context.Context, after string, limit int) ([]feed.Info, error) {
	var cursor history.SessionCursor
	if after != "" {
		s, err := p.h.Session(ctx, after)
		if err != nil {
			return nil, pastError(err)
		}
		cursor = s.Cursor
	}
	list, err := p.h.Sessions(ctx, cursor, limit)
	infos := make([]feed.Info, len(list))
	for i, s := range list {
		infos[i] = s.Info
	}
	return infos, pastError(err)
}

func (p past) Session(ctx context.Context, id string) (feed.Info, error) {
	s, err := p.h.Session(ctx, id)
	return s.Info, pastError(err)
}

func (p past) Feed(ctx context.Context, session string, after uint64, limit int) ([]server.FeedEvent, error) {
	list, err := p.h.Feed(ctx, session, after, limit)
	events := make([]server.FeedEvent, len(list))
	for i, e := range list {
		events[i] = feedEvent(session, e)
	}
	return events, pastError(err)
}

func (p past) Payload(ctx context.Context, session string, pos uint64) ([]byte, error) {
	raw, err := p.h.Raw(ctx, session, pos)
	if errors.Is(err, history.ErrNotFound) {
		err = server.ErrNoEvent
	}
	return raw, pastError(err)
}

func (p past) Search(ctx context.Context, words string, before uint64, limit int) ([]server.FeedEvent, error) {
	found, err := p.h.Search(ctx, words, before, limit)
	events := make([]server.FeedEvent, len(found))
	for i, f := range found {
		events[i] = feedEvent(f.Session, f.Event)
	}
	return events, pastError(err)
}

func (p past) Settled(ctx context.Context, q hook.SettledQuery) ([]hook.Settled, error) {
	list, err := p.h.Settled(ctx, q)
	return list, pastError(err)
}

func (p past) Stats(ctx context.Context, since time.Time, step string, zone *time.Location) (hook.Stats, error) {
	stats, err := p.h.Stats(ctx, since, step, zone)
	return stats, pastError(err)
}

func (p past) Watch(session string) server.PastWatch { return pastWatch{p.h.Watch(session)} }

func (p past) Forget(ctx context.Context, session string) error {
	return pastError(p.h.Forget(ctx, session))
}

type pastWatch struct{ w *history.Watch }

func (p pastWatch) Next(ctx context.Context) ([]server.FeedEvent, error) {
	select {
	case news, ok := <-p.w.C:
		if !ok {
			return nil, server.ErrPastOver
		}
		events := make([]server.FeedEvent, len(news))
		for i, n := range news {
			events[i] = feedEvent(n.Session, n.Event)
		}
		return events, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pastWatch) Close() { p.w.Close() }

func feedEvent(session string, e history.Event) server.FeedEvent {
	return server.FeedEvent{Session: session, Pos: e.Pos, ID: e.ID, JSON: e.JSON}
}

// pastError says in the server's words what history says.
func pastError(err error) error {
	for is, says := range map[error]error{
		history.ErrNotReady: server.ErrNoPast, history.ErrNotFound: server.ErrNoSession,
		history.ErrWaiting: server.ErrSessionWaits, history.ErrQuery: server.ErrNothingToFind,
		history.ErrSlow: server.ErrSlowSearch,
	} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", says, err)
		}
	}
	return err
}
