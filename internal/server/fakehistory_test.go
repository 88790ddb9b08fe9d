package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/store/history"
)

// memory is a History in memory: the real fold, without a database.
type memory struct {
	t *testing.T

	mu       sync.Mutex
	sessions map[string]*remembered // guarded by mu
	order    []string               // guarded by mu; last heard of last
	seq, id  uint64                 // guarded by mu
	watches  []*memoryWatch         // guarded by mu
	gone     error                  // guarded by mu; what every call says
	busy     string                 // the session that waits
	settled  []hook.Settled         // what was decided
	asked    hook.SettledQuery      // guarded by mu; the last one
	sent     []hook.RecordedMessage // what was sent to agents
	askedFor hook.MessageQuery      // guarded by mu; the last one
	behind   error                  // what CaughtUp says
}

type remembered struct {
	fold   *feed.Session
	events []history.Event
	raw    map[uint64][]byte
}

type memoryWatch struct {
	session string
	c       chan []history.News
}

// clock is a time that a feed believes; a bubble's is too early for that.
func clock() time.Time { return time.Now().AddDate(20, 0, 0) }

func newMemory(t *testing.T) *memory {
	return &memory{t: t, sessions: map[string]*remembered{}}
}

// hook is an event of a hook that has just happened.
func (m *memory) hook(session, event, more string) {
	m.t.Helper()
	raw := []byte(fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":"/home/dev/project"%s}`, session, event, more))
	p, err := claude.Agent{}.Decode(event, raw)
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		s = &remembered{fold: feed.New(session), raw: map[uint64][]byte{}}
		m.sessions[session] = s
	}
	m.order = append(slices.DeleteFunc(m.order, func(id string) bool { return id == session }), session)
	m.seq++
	e := hook.Event{ID: fmt.Sprint("e", m.seq), Seq: m.seq, Type: event, Agent: "claude", Time: clock(), Raw: raw}
	var news []history.News
	for _, f := range s.fold.Event(e, p, claude.Agent{}.Detail(event, raw)) {
		if f.Raw != nil {
			s.raw[f.Pos] = f.Raw
			f.Raw = nil
		}
		doc, err := json.Marshal(f)
		if err != nil {
			m.t.Fatal(err)
		}
		m.id++
		e := history.Event{Pos: f.Pos, ID: m.id, JSON: doc}
		s.events = append(s.events, e)
		news = append(news, history.News{Session: session, Event: e})
	}
	for _, w := range m.watches {
		if w.session == "" || w.session == session {
			w.c <- news
		}
	}
}

// say lets every call fail from now on, and ends the watches; nil lets them work again.
func (m *memory) say(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = err
	m.endLocked()
}

func (m *memory) endLocked() {
	for _, w := range m.watches {
		close(w.c)
	}
	m.watches = nil
}

func (m *memory) known(id string) (*remembered, error) {
	if m.gone != nil {
		return nil, m.gone
	}
	if s := m.sessions[id]; s != nil {
		return s, nil
	}
	return nil, history.ErrNotFound
}

// Sessions takes as cursor how many sessions come before.
func (m *memory) Sessions(_ context.Context, after history.SessionCursor, limit int) ([]history.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone != nil {
		return nil, m.gone
	}
	ids := slices.Clone(m.order)
	slices.Reverse(ids)
	ids = ids[min(int(after.Key), len(ids)):]
	var list []history.Session
	for _, id := range ids[:min(limit, len(ids))] {
		list = append(list, m.sessionLocked(id))
	}
	return list, nil
}

func (m *memory) Session(_ context.Context, id string) (history.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.known(id); err != nil {
		return history.Session{}, err
	}
	return m.sessionLocked(id), nil
}

func (m *memory) sessionLocked(id string) history.Session {
	at := len(m.order) - slices.Index(m.order, id)
	return history.Session{ID: id, Info: m.sessions[id].fold.Info(clock()), Cursor: history.SessionCursor{Key: int64(at)}}
}

func (m *memory) Feed(_ context.Context, id string, after uint64, limit int) ([]history.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.known(id)
	if err != nil {
		return nil, err
	}
	rest := s.events[min(after, uint64(len(s.events))):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (m *memory) Raw(_ context.Context, id string, pos uint64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.known(id)
	if err == nil && s.raw[pos] == nil {
		err = history.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.raw[pos], nil
}

func (m *memory) Prompt(ctx context.Context, id string, pos uint64) ([]byte, string, error) {
	raw, err := m.Raw(ctx, id, pos)
	return raw, "", err
}

func (m *memory) Search(_ context.Context, words string, before uint64, limit int) ([]history.Found, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone != nil {
		return nil, m.gone
	}
	if words == "" {
		return nil, history.ErrQuery
	}
	var found []history.Found
	for id, s := range m.sessions {
		for _, e := range s.events {
			if strings.Contains(string(e.JSON), words) && (before == 0 || e.ID < before) {
				found = append(found, history.Found{Session: id, Event: e})
			}
		}
	}
	slices.SortFunc(found, func(a, b history.Found) int { return int(b.ID) - int(a.ID) })
	return found[:min(limit, len(found))], nil
}

func (m *memory) Settled(_ context.Context, q hook.SettledQuery) ([]hook.Settled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = q
	if m.gone != nil {
		return nil, m.gone
	}
	if q.After != "" && !slices.ContainsFunc(m.settled, func(x hook.Settled) bool { return x.ID == q.After }) {
		return nil, history.ErrNotFound
	}
	return m.settled, nil
}

func (m *memory) Stats(_ context.Context, since time.Time, step string, zone *time.Location) (hook.Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone != nil {
		return hook.Stats{}, m.gone
	}
	if since.After(time.Now()) {
		return hook.Stats{}, history.ErrQuery
	}
	return hook.Stats{Since: since, Step: step, Zone: zone.String()}, nil
}

func (m *memory) Messages(_ context.Context, q hook.MessageQuery) ([]hook.RecordedMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.askedFor = q
	if m.gone != nil {
		return nil, m.gone
	}
	if q.After != "" && !slices.ContainsFunc(m.sent, func(x hook.RecordedMessage) bool { return x.ID == q.After }) {
		return nil, history.ErrNotFound
	}
	return m.sent, nil
}

func (m *memory) CaughtUp(context.Context) error { return m.behind }

func (m *memory) MayForget(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.known(id)
	if err == nil && id == m.busy {
		err = history.ErrWaiting
	}
	return err
}

func (m *memory) Forget(ctx context.Context, id string) error {
	if err := m.MayForget(ctx, id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, id)
	m.order = slices.DeleteFunc(m.order, func(o string) bool { return o == id })
	m.endLocked()
	return nil
}

func (m *memory) Watch(session string) (<-chan []history.News, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &memoryWatch{session, make(chan []history.News, 1024)}
	m.watches = append(m.watches, w)
	return w.c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watches = slices.DeleteFunc(m.watches, func(x *memoryWatch) bool { return x == w })
	}
}
