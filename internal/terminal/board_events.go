package terminal

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func (b *board) decided(m decidedMsg) {
	delete(b.sending, m.r.ID)
	number := "#" + numberOf(m.r)
	switch {
	case m.err != nil:
		delete(b.mine, m.r.ID)
		b.say(Danger.On(number + ": " + show.OneRow(show.Readable(m.err.Error()))))
	case m.d.Behavior == hook.BehaviorAllow:
		b.say(Calm.On(strings.TrimSpace(number + " allowed, " + show.Line(m.delivery) + ". " + b.saved)))
		b.saved = ""
	case m.d.Message != "":
		b.say(Danger.On(number + " denied, " + show.Line(m.delivery) + ". The agent is told: " + show.Line(m.d.Message)))
	default:
		b.say(Danger.On(number + " denied, " + show.Line(m.delivery)))
	}
}

func (b *board) event(e BoardEvent) tea.Cmd {
	switch {
	case e.Failed != nil:
		b.failed = e.Failed
		return tea.Quit
	case e.Lost != "":
		b.lost, b.halt = e.Lost, nil // a new connection says it again
		return nil
	case e.Message == nil:
		return nil
	}
	m := e.Message
	switch m.Type {
	case api.MessageSnapshot:
		b.lost, b.snapshot = "", true
		for _, r := range b.requests {
			if !slices.ContainsFunc(m.Requests, func(x *api.Request) bool { return x.ID == r.ID }) {
				b.say(Dim.On("#" + numberOf(r) + " ended while the connection was lost"))
			}
		}
		at := b.index()
		var waiting []*api.Request
		for _, r := range m.Requests {
			waiting = append(waiting, b.known(r))
		}
		b.requests = waiting
		b.choose(at)
		clear(b.sessions)
		b.countSessions(m.Sessions)
	case api.MessageChanges:
		for _, c := range m.Changes {
			if c.Request != nil {
				b.change(c.Request)
			}
		}
	case api.MessageSessions:
		b.countSessions(m.Sessions)
	case api.MessageRules:
		b.rules = b.cfg.Rules(m)
	case api.MessageHalt:
		b.halt = m.Halt
	}
	return nil
}

// countSessions takes in what changed of sessions.
func (b *board) countSessions(changed []api.Session) {
	for i := range changed {
		if s := &changed[i]; s.State == feed.StateExited {
			delete(b.sessions, s.SessionID)
		} else {
			b.sessions[s.SessionID] = true
		}
	}
}

// known is r, or the whole of it where it was fetched already.
func (b *board) known(r *api.Request) *api.Request {
	i := slices.IndexFunc(b.requests, func(x *api.Request) bool { return x.ID == r.ID })
	if i < 0 || !r.Partial || b.requests[i].Partial {
		return r
	}
	whole := *b.requests[i]
	whole.State, whole.Detached, whole.Deadline = r.State, r.Detached, r.Deadline
	return &whole
}

// change takes in one change of a request.
func (b *board) change(r *api.Request) {
	at := b.index()
	i := slices.IndexFunc(b.requests, func(x *api.Request) bool { return x.ID == r.ID })
	switch {
	case r.State == "pending" && i < 0:
		b.requests = append(b.requests, r) // at the end: nothing moves under a finger
	case r.State == "pending":
		b.requests[i] = b.known(r)
	case i >= 0:
		if !b.mine[r.ID] { // decided tells of ours
			b.say(outcomeRole(r).On("#" + numberOf(r) + " " + show.OneRow(show.Readable(b.cfg.State(r)))))
		}
		b.requests = slices.Delete(b.requests, i, i+1)
		if i < at {
			at--
		}
		delete(b.edits, r.ID)
		delete(b.sending, r.ID)
		delete(b.loading, r.ID)
		delete(b.mine, r.ID)
	}
	b.choose(at)
}

func outcomeRole(r *api.Request) Role {
	switch r.Outcome {
	case hook.Allowed:
		return Calm
	case hook.Denied:
		return Danger
	}
	return Dim
}

func (b *board) whole(m wholeMsg) {
	i := slices.IndexFunc(b.requests, func(x *api.Request) bool { return x.ID == m.id })
	if _, loading := b.loading[m.id]; loading && (m.err != nil || m.r == nil) {
		b.loading[m.id] = time.Now().Add(reloadAfter)
	}
	if m.err != nil {
		b.say(Danger.On("#: " + show.OneRow(show.Readable(m.err.Error()))))
		return
	}
	if i < 0 || m.r == nil {
		return
	}
	m.r.Partial = false
	b.requests[i] = m.r
	if m.id == b.selected {
		b.comeUp()
	}
}
