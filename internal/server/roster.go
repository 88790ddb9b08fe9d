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
)

// roster is how the sessions stand that were lately heard of, for the WebSockets: each sends
// what changed since it last looked. It keeps states, not news, so nobody can fall behind.
//
// One goroutine, follow, writes it, from what the past says.
type roster struct {
	mu      sync.Mutex
	seq     uint64               // guarded by mu; counts changes
	entries map[string]*standing // guarded by mu; by session
	next    context.Context      // guarded by mu; done at the next change
	tell    context.CancelFunc   // guarded by mu; ends next
}

// standing is one session of the roster.
type standing struct {
	stand
	seq     uint64    // of the last change
	heard   time.Time // when it was last looked at because of news
	checkAt time.Time // when time alone may have changed it; zero: no more
}

// stand is how a session stands.
type stand struct {
	json   []byte
	origin hook.Origin
	agent  string // api.Session.AgentProcess
}

func (s *Server) standOf(in feed.Info, live map[string]broker.SessionView, queues map[string]queue) (stand, error) {
	j := s.merged(in, live, queues)
	doc, err := json.Marshal(j)
	return stand{doc, j.Origin, j.AgentProcess}, err
}

const (
	// rosterSize is how many sessions are in the roster; of more those go that were not heard of
	// for longest.
	rosterSize = 100
	// rosterPause is how long news of a session is gathered before it is looked at again.
	rosterPause = 250 * time.Millisecond
	// rosterIdle is how long it waits for news before it looks at what time may have changed.
	rosterIdle = 2 * time.Second
	// grace is after how long a session that fell silent is looked at again: then it is
	// taken to wait for input. A little more than the 60 s of package feed.
	grace = 61 * time.Second
)

// follow keeps the roster until ctx is done.
func (r *roster) follow(ctx context.Context, s *Server) {
	for ctx.Err() == nil {
		watch := s.past.Watch("")
		err := r.fill(ctx, s)
		if err == nil {
			err = r.watch(ctx, s, watch)
		}
		watch.Close()
		if ctx.Err() == nil && !errors.Is(err, ErrPastOver) && !errors.Is(err, ErrNoPast) {
			s.log.Warn("sessions cannot be followed; trying again", zap.String("error", line(err.Error())))
		}
		pause(ctx, rosterPause) // after a burst, or until there is a past
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
func (r *roster) fill(ctx context.Context, s *Server) error {
	infos, err := s.past.Sessions(ctx, "", rosterSize)
	if err != nil {
		return err
	}
	live, _ := s.live()
	queues := s.queues()
	now := time.Now()
	changed := map[string]stand{}
	for _, in := range infos {
		if changed[in.Session.SessionID], err = s.standOf(in, live, queues); err != nil {
			return err
		}
	}
	r.set(changed, now, now.Add(grace))
	return nil
}

// watch looks again at the sessions that there is news of, and at those that time may have
// changed.
func (r *roster) watch(ctx context.Context, s *Server, watch PastWatch) error {
	for {
		dirty, err := gather(ctx, watch)
		if err != nil {
			return err
		}
		if err := r.look(ctx, s, dirty); err != nil {
			return err
		}
	}
}

// gather returns the sessions of which there is news: of rosterPause from the first on, or none
// after a while without any.
func gather(ctx context.Context, watch PastWatch) (map[string]bool, error) {
	dirty := map[string]bool{}
	end := time.Now().Add(rosterIdle)
	for {
		wait, cancel := context.WithDeadline(ctx, end)
		news, err := watch.Next(wait)
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
			end = time.Now().Add(rosterPause)
		}
		for _, e := range news {
			dirty[e.Session] = true
		}
	}
}

// look looks at the sessions of which there is news and at those that are due.
func (r *roster) look(ctx context.Context, s *Server, news map[string]bool) error {
	now := time.Now()
	due := r.due(now, &s.agents)
	if len(news)+len(due) == 0 {
		return nil
	}
	live, _ := s.live()
	queues := s.queues()
	lookAt := func(ids []string, checkAt time.Time) error {
		changed := map[string]stand{}
		for _, id := range ids {
			in, err := s.past.Session(ctx, id)
			if errors.Is(err, ErrNoSession) {
				continue // forgotten
			}
			if err != nil {
				return err
			}
			if changed[id], err = s.standOf(in, live, queues); err != nil {
				return err
			}
		}
		r.set(changed, now, checkAt)
		return nil
	}
	var fresh []string
	for id := range news {
		fresh = append(fresh, id)
	}
	if err := lookAt(fresh, now.Add(grace)); err != nil {
		return err
	}
	due = slices.DeleteFunc(due, func(id string) bool { return news[id] })
	return lookAt(due, time.Time{})
}

// due are the sessions that time may have changed, and those whose agent has gone.
func (r *roster) due(now time.Time, agents *agentProcesses) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, e := range r.entries {
		if !e.checkAt.IsZero() && !now.Before(e.checkAt) || e.agent != "" && agents.look(e.origin) != e.agent {
			ids = append(ids, id)
		}
	}
	return ids
}

// set takes how sessions stand now, and wakes the WebSockets if something changed.
func (r *roster) set(changed map[string]stand, now, checkAt time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[string]*standing{}
	}
	news := false
	for id, is := range changed {
		e := r.entries[id]
		if e == nil {
			e = &standing{}
			r.entries[id] = e
		}
		if !checkAt.IsZero() {
			e.heard = now
		}
		e.checkAt = checkAt
		same := bytes.Equal(e.json, is.json)
		e.stand = is
		if !same {
			r.seq++
			e.seq, news = r.seq, true
		}
	}
	for len(r.entries) > rosterSize {
		oldest := ""
		for id, e := range r.entries {
			if oldest == "" || e.heard.Before(r.entries[oldest].heard) {
				oldest = id
			}
		}
		delete(r.entries, oldest)
	}
	if news && r.tell != nil {
		r.tell()
		r.next, r.tell = nil, nil
	}
}

// forget leaves a session out from now on.
func (r *roster) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, id)
}

// since returns what changed after the change seq, in the order of the changes, the number of
// the last change, and a context that is done at the next one.
func (r *roster) since(seq uint64) (docs [][]byte, last uint64, next context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var news []*standing
	for _, e := range r.entries {
		if e.seq > seq {
			news = append(news, e)
		}
	}
	slices.SortFunc(news, func(a, b *standing) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, e := range news {
		docs = append(docs, e.json)
	}
	if r.next == nil {
		r.next, r.tell = context.WithCancel(context.Background())
	}
	return docs, r.seq, r.next
}

// without removes from live the sessions that are in the roster.
func (r *roster) without(live map[string]broker.SessionView) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.entries {
		delete(live, id)
	}
}
