package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/store/history"
)

// queue is what waits in a session.
type queue struct {
	permissions, questions int
	state                  feed.AgentState // a permission before a question before a plan
}

// queues are the queues of all sessions in which something waits.
func (s *Server) queues() map[string]queue {
	all := map[string]queue{}
	s.cfg.Broker.EachPending(func(v *broker.View) {
		q := all[v.SessionID]
		switch waits := feed.WaitingFor(v.ToolName); {
		case waits == feed.StateBlocked:
			q.permissions++
			q.state = waits
		default:
			q.questions++
			if q.permissions == 0 && q.state != feed.StateAskUser {
				q.state = waits
			}
		}
		all[v.SessionID] = q
	})
	return all
}

func newSession(v broker.SessionView, q queue) api.Session {
	return api.Session{
		SessionID:            v.SessionID,
		CWD:                  v.CWD,
		QueueCount:           q.permissions + q.questions,
		PermissionQueueCount: q.permissions,
		QuestionQueueCount:   q.questions,
		State:                q.state,
		Agent:                v.Agent,
		AgentTitle:           agents.Title(v.Agent),
		Origin:               v.Origin,
		PermissionMode:       v.PermissionMode,
		LastEvent:            v.LastEvent,
		LastEventAt:          v.LastEventAt,
		StartedAt:            v.StartedAt,
	}
}

// addHistory adds to j what history knows. Pending requests are taken from the broker, for history
// lags behind it.
func addHistory(j *api.Session, in feed.Info) {
	or(&j.CWD, in.CWD)
	or(&j.Agent, in.Agent)
	j.AgentTitle = agents.Title(j.Agent)
	or(&j.PermissionMode, in.PermissionMode)
	if j.Origin == (hook.Origin{}) {
		j.Origin = in.Origin
	}
	if j.LastEventAt.IsZero() {
		j.LastEvent, j.LastEventAt = in.LastEvent, fromMillis(in.LastEventAt)
	}
	if at := fromMillis(in.Session.StartedAt); !at.IsZero() { // the broker knows those since its start
		j.StartedAt = at
	}
	j.EndedAt = fromMillis(in.Session.EndedAt)
	j.Title, j.Model, j.CurrentRun, j.Actors, j.Tasks, j.LastPos = in.Title, in.Session.Model, in.CurrentRun, in.Actors, in.Tasks, in.LastPos
	if j.State == "" || j.State == in.State {
		j.State, j.StateSince, j.TurnOver = in.State, fromMillis(in.StateSince), in.TurnOver
	}
}

func or(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// fromMillis is the zero time for 0, and for what JSON's dates cannot say.
func fromMillis(ms int64) time.Time {
	t := time.UnixMilli(ms).UTC()
	if ms == 0 || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// live are the broker's sessions by id, and their order: most recently active first.
func (s *Server) live() (map[string]broker.SessionView, []broker.SessionView) {
	views := s.cfg.Broker.Sessions()
	byID := make(map[string]broker.SessionView, len(views))
	for _, v := range views {
		byID[v.SessionID] = v
	}
	return byID, views
}

// merged is a session of history with what the broker knows of it.
func (s *Server) merged(in feed.Info, live map[string]broker.SessionView, queues map[string]queue) api.Session {
	id := in.Session.SessionID
	v, ok := live[id]
	if !ok {
		v = broker.SessionView{SessionID: id}
	}
	j := newSession(v, queues[id])
	addHistory(&j, in)
	s.agents.add(&j, &in)
	s.addHost(&j)
	return j
}

// hostWord is what the host of an agent says of a session: that no turn of it runs, and how the last one ended, for
// people; ended is empty where it is completed.
type hostWord struct {
	rests bool
	ended string
}

// hostSays is what its host says of a session that was last heard of otherwise at heard.
func (s *Server) hostSays(session string, heard time.Time) (w hostWord) {
	if s.cfg.Agents != nil {
		w.rests, w.ended = s.cfg.Agents.Rests(session, heard)
	}
	return w
}

// addHost adds what the host of an agent says: the session's own events do not tell how a turn ended that was
// cancelled, or whose process was killed.
func (s *Server) addHost(j *api.Session) {
	switch j.State {
	case feed.StateStarting, feed.StateWorking, feed.StateWaiting, feed.StateExited:
		w := s.hostSays(j.SessionID, j.LastEventAt)
		j.TurnOver = j.TurnOver || w.rests && j.State == feed.StateWorking
		j.LastTurn = w.ended
	}
}

// listSessions is GET /v1/sessions: sessions, the one last heard of first, limit a page. after
// is the id of the last session of the page before. Without history it lists those the broker
// knows.
func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := defaultPage
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			writeProblem(w, badField("limit", "want a number above 0"))
			return
		}
		limit = min(n, longestPage)
	}
	list, err := s.sessions(r.Context(), q.Get("after"), limit)
	switch {
	case errors.Is(err, history.ErrNotFound):
		writeProblem(w, badField("after", "no such session; begin again without it"))
	case err != nil:
		s.fail(w, r, err)
	default:
		s.writeJSON(w, r, http.StatusOK, list)
	}
}

func (s *Server) sessions(ctx context.Context, after string, limit int) ([]api.Session, error) {
	live, order := s.live()
	queues := s.queues()
	stored, err := s.stored(ctx, after, limit)
	if errors.Is(err, history.ErrNotReady) {
		return liveSessions(order, queues, after, limit)
	}
	if err != nil {
		return nil, err
	}
	list := make([]api.Session, 0, len(stored))
	known := make(map[string]bool, len(stored))
	for i, h := range stored {
		in := h.Info
		in.SameProcess = in.SameProcess && i < mostAgents && after == ""
		list = append(list, s.merged(in, live, queues))
		known[in.Session.SessionID] = true
	}
	if after != "" {
		return list, nil
	}
	// A session that began just now may not be in history yet.
	var fresh []api.Session
	for _, v := range order {
		if !known[v.SessionID] && (len(list) < limit || !v.LastEventAt.Before(list[len(list)-1].LastEventAt)) {
			fresh = append(fresh, newSession(v, queues[v.SessionID]))
		}
	}
	list = append(fresh, list...)
	return list[:min(limit, len(list))], nil
}

// stored returns up to limit sessions of history, from behind the one with the id after on. Without
// history it is history.ErrNotReady.
func (s *Server) stored(ctx context.Context, after string, limit int) ([]history.Session, error) {
	if s.cfg.History == nil {
		return nil, history.ErrNotReady
	}
	var from history.SessionCursor
	if after != "" {
		last, err := s.cfg.History.Session(ctx, after)
		if err != nil {
			return nil, err
		}
		from = last.Cursor
	}
	return s.cfg.History.Sessions(ctx, from, limit)
}

func (s *Server) storedSession(ctx context.Context, id string) (history.Session, error) {
	if s.cfg.History == nil {
		return history.Session{}, history.ErrNotReady
	}
	return s.cfg.History.Session(ctx, id)
}

// liveSessions is a page of the sessions the broker knows.
func liveSessions(order []broker.SessionView, queues map[string]queue, after string, limit int) ([]api.Session, error) {
	list := []api.Session{}
	found := after == ""
	for _, v := range order {
		if found && len(list) < limit {
			list = append(list, newSession(v, queues[v.SessionID]))
		}
		found = found || v.SessionID == after
	}
	if !found {
		return nil, history.ErrNotFound
	}
	return list, nil
}

// getSession is GET /v1/sessions/{id}.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	id := param(r, "id")
	live, _ := s.live()
	v, ok := live[id]
	in, err := s.storedSession(r.Context(), id)
	switch {
	case err == nil:
		s.writeJSON(w, r, http.StatusOK, s.merged(in.Info, live, s.queues()))
	case ok && (errors.Is(err, history.ErrNotReady) || errors.Is(err, history.ErrNotFound)):
		s.writeJSON(w, r, http.StatusOK, newSession(v, s.queues()[id]))
	default:
		s.fail(w, r, err)
	}
}
