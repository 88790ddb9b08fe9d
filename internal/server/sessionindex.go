package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/store/history"
)

// sessionIndex holds the state of the sessions with the latest events, for the WebSockets: each
// sends what changed since it last looked. It keeps states, not events, so no client can fall behind.
//
// One goroutine, follow, writes it, from what history says.
type sessionIndex struct {
	mu      sync.Mutex
	seq     uint64                   // guarded by mu; counts changes
	entries map[string]*sessionState // guarded by mu; by session
	next    context.Context          // guarded by mu; done at the next change
	notify  context.CancelFunc       // guarded by mu; ends next
}

// sessionState is one session of the index.
type sessionState struct {
	encodedSession
	seq     uint64    // of the last change
	heard   time.Time // when it was last looked at because of news
	checkAt time.Time // when time alone may have changed it; zero: no more
}

// encodedSession is an api.Session as it is sent, and what tells whether its agent still runs, and a turn of it.
type encodedSession struct {
	json   []byte
	origin hook.Origin
	agent  string // api.Session.AgentProcess
	heard  time.Time
	host   hostWord
}

func (s *Server) encodeSession(in feed.Info, live map[string]broker.SessionView, queues map[string]queue) (encodedSession, error) {
	j := s.merged(in, live, queues)
	doc, err := json.Marshal(j)
	return encodedSession{doc, j.Origin, j.AgentProcess, j.LastEventAt, s.hostSays(j.SessionID, j.LastEventAt)}, err
}

const (
	// indexSize is how many sessions are in the index; beyond that, those without news for
	// longest are removed.
	indexSize = 100
	// indexPause is how long news of a session is gathered before it is looked at again.
	indexPause = 250 * time.Millisecond
	// indexIdle is how long it waits for news before it looks at what time may have changed.
	indexIdle = 2 * time.Second
	// idleAfter is after how long a session that fell silent is looked at again: then it is
	// taken to wait for input. A little more than the 60 s of package feed.
	idleAfter = 61 * time.Second
)

// follow keeps the index until ctx is done.
func (x *sessionIndex) follow(ctx context.Context, s *Server) {
	for ctx.Err() == nil {
		watch, stop := s.cfg.History.Watch("")
		err := x.fill(ctx, s)
		if err == nil {
			err = x.watch(ctx, s, watch)
		}
		stop()
		if ctx.Err() == nil && !errors.Is(err, errWatchEnded) && !errors.Is(err, history.ErrNotReady) {
			s.log.Warn("sessions cannot be followed; trying again", zap.String("error", line(err.Error())))
		}
		pause(ctx, indexPause) // after a burst, or until there is history
	}
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// fill looks at the newest sessions.
func (x *sessionIndex) fill(ctx context.Context, s *Server) error {
	newest, err := s.stored(ctx, "", indexSize)
	if err != nil {
		return err
	}
	live, _ := s.live()
	queues := s.queues()
	now := time.Now()
	changed := map[string]encodedSession{}
	for _, h := range newest {
		if changed[h.Info.Session.SessionID], err = s.encodeSession(h.Info, live, queues); err != nil {
			return err
		}
	}
	x.set(changed, now, now.Add(idleAfter))
	return nil
}

// watch looks again at the sessions that there is news of, and at those that time may have
// changed.
func (x *sessionIndex) watch(ctx context.Context, s *Server, watch <-chan []history.News) error {
	for {
		dirty, err := gather(ctx, watch)
		if err != nil {
			return err
		}
		if err := x.look(ctx, s, dirty); err != nil {
			return err
		}
	}
}

// gather returns the sessions of which there is news: of indexPause from the first on, or none
// after a while without any.
func gather(ctx context.Context, watch <-chan []history.News) (map[string]bool, error) {
	dirty := map[string]bool{}
	end := time.Now().Add(indexIdle)
	for {
		wait, cancel := context.WithDeadline(ctx, end)
		news, err := nextNews(wait, watch)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return dirty, nil
		case err != nil:
			return nil, err
		}
		if len(dirty) == 0 && len(news) > 0 {
			end = time.Now().Add(indexPause)
		}
		for _, e := range news {
			dirty[e.Session] = true
		}
	}
}

// look looks at the sessions of which there is news and at those that are due.
func (x *sessionIndex) look(ctx context.Context, s *Server, news map[string]bool) error {
	now := time.Now()
	due := x.due(now, s)
	if len(news)+len(due) == 0 {
		return nil
	}
	live, _ := s.live()
	queues := s.queues()
	lookAt := func(ids []string, checkAt time.Time) error {
		changed := map[string]encodedSession{}
		for _, id := range ids {
			h, err := s.cfg.History.Session(ctx, id)
			if errors.Is(err, history.ErrNotFound) {
				continue // forgotten
			}
			if err != nil {
				return err
			}
			if changed[id], err = s.encodeSession(h.Info, live, queues); err != nil {
				return err
			}
		}
		x.set(changed, now, checkAt)
		return nil
	}
	var fresh []string
	for id := range news {
		fresh = append(fresh, id)
	}
	if err := lookAt(fresh, now.Add(idleAfter)); err != nil {
		return err
	}
	due = slices.DeleteFunc(due, func(id string) bool { return news[id] })
	return lookAt(due, time.Time{})
}

// due are the sessions that time may have changed, and those whose agent has gone, or rests now or works again.
func (x *sessionIndex) due(now time.Time, s *Server) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var ids []string
	for id, e := range x.entries {
		if !e.checkAt.IsZero() && !now.Before(e.checkAt) || e.agent != "" && s.agents.look(e.origin) != e.agent || s.hostSays(id, e.heard) != e.host {
			ids = append(ids, id)
		}
	}
	return ids
}

// set stores the new states of sessions, and wakes the WebSockets if something changed.
func (x *sessionIndex) set(changed map[string]encodedSession, now, checkAt time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.entries == nil {
		x.entries = map[string]*sessionState{}
	}
	news := false
	for id, is := range changed {
		e := x.entries[id]
		if e == nil {
			e = &sessionState{}
			x.entries[id] = e
		}
		if !checkAt.IsZero() {
			e.heard = now
		}
		e.checkAt = checkAt
		same := bytes.Equal(e.json, is.json)
		e.encodedSession = is
		if !same {
			x.seq++
			e.seq, news = x.seq, true
		}
	}
	for len(x.entries) > indexSize {
		oldest := ""
		for id, e := range x.entries {
			if oldest == "" || e.heard.Before(x.entries[oldest].heard) {
				oldest = id
			}
		}
		delete(x.entries, oldest)
	}
	if news && x.notify != nil {
		x.notify()
		x.next, x.notify = nil, nil
	}
}

// forget leaves a session out from now on.
func (x *sessionIndex) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.entries, id)
}

// since returns what changed after the change seq, in the order of the changes, the number of
// the last change, and a context that is done at the next one.
func (x *sessionIndex) since(seq uint64) (docs [][]byte, last uint64, next context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var news []*sessionState
	for _, e := range x.entries {
		if e.seq > seq {
			news = append(news, e)
		}
	}
	slices.SortFunc(news, func(a, b *sessionState) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, e := range news {
		docs = append(docs, e.json)
	}
	if x.next == nil {
		x.next, x.notify = context.WithCancel(context.Background())
	}
	return docs, x.seq, x.next
}

// without removes from live the sessions that are in the index.
func (x *sessionIndex) without(live map[string]broker.SessionView) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.entries {
		delete(live, id)
	}
}
