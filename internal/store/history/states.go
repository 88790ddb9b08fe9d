package history

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assent/internal/feed"
)

// session is one session's row and fold in memory.
type session struct {
	key   int64
	id    string
	event uint64
	at    int64 // cursor.clock at its last step
	pos   uint64
	fold  *feed.Session // nil when another version of the fold made the rows
	used  *list.Element // its element of states
	// standing is what fold said when it was stored last.
	standing *feed.Standing
}

// errState says that a session's fold cannot be read although this version wrote it.
var errState = errors.New("the state of a session cannot be read")

// maxStates is how many folds are kept in memory between transactions; the one used longest ago
// leaves first, and is read again when it is needed.
const maxStates = 64

// states are the folds in memory.
type states struct {
	byID  map[string]*session
	byKey map[int64]*session
	order list.List // the one used last in front
}

func (m *states) init() {
	m.byID, m.byKey = map[string]*session{}, map[int64]*session{}
	m.order.Init()
}

func (m *states) add(s *session) {
	m.byID[s.id], m.byKey[s.key] = s, s
	s.used = m.order.PushFront(s)
}

func (m *states) remove(s *session) {
	delete(m.byID, s.id)
	delete(m.byKey, s.key)
	m.order.Remove(s.used)
}

// shrink lets folds go. Only between transactions is each of them in the file.
func (m *states) shrink() {
	for m.order.Len() > maxStates {
		m.remove(m.order.Back().Value.(*session))
	}
}

// session returns the session with an id, which is made if it is new.
func (w *writer) session(id string) (*session, error) {
	if s := w.states.byID[id]; s != nil {
		w.states.order.MoveToFront(s.used)
		return s, nil
	}
	s, err := w.load(w.do.byID, id)
	if err != nil {
		return nil, err
	}
	if s != nil && s.fold == nil { // it comes back to life: its feed begins anew
		if err := w.drop(s.key); err != nil {
			return nil, err
		}
		s = nil
	}
	if s == nil {
		s = &session{id: id, fold: feed.New(id)}
		res, err := w.do.newSession.ExecContext(context.Background(), id)
		if err != nil {
			return nil, w.wrap(err)
		}
		if s.key, err = res.LastInsertId(); err != nil {
			return nil, w.wrap(err)
		}
	}
	w.states.add(s)
	return s, nil
}

// sessionByKey returns a session that has a row; one of an older version has no fold.
func (w *writer) sessionByKey(key int64) (*session, error) {
	if s := w.states.byKey[key]; s != nil {
		w.states.order.MoveToFront(s.used)
		return s, nil
	}
	s, err := w.load(w.do.byKey, key)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("write %s: %w: session %d has requests and no row", w.d.path, errState, key)
	}
	if s.fold != nil {
		w.states.add(s)
	}
	return s, nil
}

// load reads a session's row; nil without one.
func (w *writer) load(by *sql.Stmt, arg any) (*session, error) {
	s := &session{}
	var state []byte
	err := by.QueryRowContext(context.Background(), arg).Scan(&s.key, &s.id, &s.event, &s.at, &s.pos, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, w.wrap(err)
	}
	if state != nil {
		if s.fold, err = readFold(s.id, state); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.d.path, err)
		}
	}
	return s, nil
}

func readFold(id string, packed []byte) (*feed.Session, error) {
	text, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	f := feed.New(id)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	return f, nil
}

// stillAfter is how long after its last event no session changes by itself any more: from then on
// what is stored of it is how it stands.
const stillAfter = 10 * time.Minute

// saveSession stores a session that has changed.
func (w *writer) saveSession(s *session) error {
	state, err := json.Marshal(s.fold)
	if err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	// The file depends on the streams alone, so its times are those of the last step.
	s.standing = s.fold.Standing()
	info, err := json.Marshal(s.standing.At(time.UnixMilli(s.at).Add(stillAfter)))
	if err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	state, info = pack(state), pack(info)
	w.bytes += len(state) + len(info)
	return w.run(w.do.saveSession, s.event, s.at, s.pos, state, info, s.key)
}

// standing is a session as it is committed.
type standing struct {
	key, at int64
	is      *feed.Standing
}

// stands lets readers know how the sessions stand that w has just committed, and those no more whose folds have
// left the memory.
func (h *History) stands(w *writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.standing == nil {
		h.standing = map[string]standing{}
	}
	for key, s := range w.sessions {
		if w.states.byKey[key] == s {
			h.standing[s.id] = standing{key, s.at, s.standing}
		}
	}
	for id := range h.standing {
		if w.states.byID[id] == nil {
			delete(h.standing, id)
		}
	}
}

// standsNow is a session whose fold is in memory, as it stands at now.
func (h *History) standsNow(id string, now time.Time) (Session, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.standing[id]
	if !ok {
		return Session{}, false
	}
	return Session{ID: id, Info: s.is.At(now), At: time.UnixMilli(s.at), Cursor: SessionCursor{At: s.at, Key: s.key}}, true
}

// unknown has readers ask the file again, for it has changed otherwise than by a step of a session.
func (h *History) unknown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.standing = nil
}
