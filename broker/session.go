package broker

import (
	"container/list"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
)

// maxSessions is how many sessions are remembered. Those with requests are never forgotten;
// of the others the least recently used go first.
const maxSessions = 1000

// maxText is how long a text in a SessionView may be, in bytes; of a longer one the last that
// was shorter stays.
const maxText = 4096

// SessionView is a session of an agent, as its events and requests tell. The JSON names are
// those of the API.
type SessionView struct {
	SessionID      string      `json:"sessionId"`
	CWD            string      `json:"cwd,omitempty"`
	Agent          string      `json:"agent,omitempty"`
	Origin         hook.Origin `json:"origin,omitzero"`
	PermissionMode string      `json:"permissionMode,omitempty"`
	LastEvent      string      `json:"lastEvent,omitempty"`
	LastEventAt    time.Time   `json:"lastEventAt,omitzero"`
	// QueueCount is how many requests are pending.
	QueueCount int `json:"queueCount"`
	// StartedAt is the time of the first event this broker saw of the session.
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// session is a session and the requests an event of it can prove something about. Guarded by
// Broker.mu.
type session struct {
	view     SessionView
	turns    []*turn // those with requests; an agent seldom has more than a few
	pending  int
	unproven int
	over     bool          // SessionEnd was seen
	inIdle   *list.Element // its element of Broker.idle while it has no turns
}

// turn holds the open and unproven requests of one agent of a session: the main thread (empty
// id) or a subagent.
type turn struct {
	agentID string
	entries []*entry
}

// Sessions returns the known sessions, most recently active first: at most 1,000, or as many
// as have requests.
func (b *Broker) Sessions() []SessionView {
	b.mu.Lock()
	views := make([]SessionView, 0, len(b.sessions))
	for _, s := range b.sessions {
		v := s.view
		v.QueueCount = s.pending
		views = append(views, v)
	}
	b.mu.Unlock()
	slices.SortFunc(views, func(x, y SessionView) int {
		if c := y.LastEventAt.Compare(x.LastEventAt); c != 0 {
			return c
		}
		return strings.Compare(x.SessionID, y.SessionID)
	})
	return views
}

// sessionLocked finds or makes the session.
func (b *Broker) sessionLocked(id string) *session {
	s := b.sessions[id]
	if s == nil {
		s = &session{view: SessionView{SessionID: id}}
		b.sessions[id] = s
		b.idleLocked(s)
	}
	return s
}

// idleLocked puts a session without requests behind the others in the line for being
// forgotten.
func (b *Broker) idleLocked(s *session) {
	switch {
	case len(s.turns) > 0:
		if s.inIdle != nil {
			b.idle.Remove(s.inIdle)
			s.inIdle = nil
		}
		return
	case s.over:
		b.dropSessionLocked(s)
		return
	case s.inIdle != nil:
		b.idle.MoveToBack(s.inIdle)
	default:
		s.inIdle = b.idle.PushBack(s)
	}
	if len(b.sessions) > maxSessions {
		if oldest := b.idle.Front().Value.(*session); oldest != s {
			b.dropSessionLocked(oldest)
		}
	}
}

func (b *Broker) dropSessionLocked(s *session) {
	if s.inIdle != nil {
		b.idle.Remove(s.inIdle)
		s.inIdle = nil
	}
	delete(b.sessions, s.view.SessionID)
}

// seenLocked keeps what an event or request says about its session. What comes late changes
// nothing that is newer.
func (s *session) seenLocked(agent, cwd, mode, event string, origin hook.Origin, at time.Time) {
	v := &s.view
	if v.StartedAt.IsZero() || at.Before(v.StartedAt) && !at.IsZero() {
		v.StartedAt = at
	}
	if at.Before(v.LastEventAt) {
		return
	}
	v.LastEventAt = at
	set := func(field *string, value string) {
		if value != "" && len(value) <= maxText {
			*field = value
		}
	}
	set(&v.LastEvent, event)
	set(&v.Agent, agent)
	set(&v.CWD, cwd)
	set(&v.PermissionMode, mode)
	if origin != (hook.Origin{}) {
		v.Origin = origin
	}
}

// linkLocked makes e findable by the events of its session and agent.
func (b *Broker) linkLocked(e *entry) {
	if e.sess != nil {
		if e.sess.view.SessionID == e.SessionID && e.turn.agentID == e.AgentID {
			return
		}
		b.unlinkLocked(e) // the record is of another request than our Ask's
	}
	s := b.sessionLocked(e.SessionID)
	at := e.EventTime
	if at.IsZero() {
		at = e.CreatedAt
	}
	s.seenLocked(e.Agent, e.CWD, e.PermissionMode, hook.EventPermissionRequest, e.Origin, at)
	t := s.turn(e.AgentID)
	if t == nil {
		t = &turn{agentID: e.AgentID}
		s.turns = append(s.turns, t)
	}
	t.entries = append(t.entries, e)
	e.sess, e.turn = s, t
	b.idleLocked(s)
}

// unlinkLocked undoes linkLocked.
func (b *Broker) unlinkLocked(e *entry) {
	if e.sess == nil {
		return
	}
	s, t := e.sess, e.turn
	e.sess, e.turn = nil, nil
	if i := slices.Index(t.entries, e); i >= 0 {
		t.entries = slices.Delete(t.entries, i, i+1)
	}
	if len(t.entries) == 0 {
		s.turns = slices.DeleteFunc(s.turns, func(x *turn) bool { return x == t })
	}
	if len(s.turns) == 0 {
		b.idleLocked(s)
	}
}

// turn is nil when the agent has no requests.
func (s *session) turn(agentID string) *turn {
	for _, t := range s.turns {
		if t.agentID == agentID {
			return t
		}
	}
	return nil
}

// Forget drops what is known of a session that has no pending request; answers that wait for
// proof go with it. What it does afterwards makes it known again.
func (b *Broker) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil || s.pending > 0 {
		return
	}
	for e := s.oldestUnproven(); e != nil; e = s.oldestUnproven() {
		b.forgetLocked(e)
	}
	if len(s.turns) == 0 && b.sessions[id] == s {
		b.dropSessionLocked(s)
	}
}
