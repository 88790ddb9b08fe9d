package fleet

import (
	"slices"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
)

// Why a message that waits for a live session is refused after all.
const (
	nowHosted  = "an agent of a host has the session now; send it to that agent"
	nowStopped = "everything is stopped"
)

// whose is what the last event of a session says of who works on it. A host tells it to the program that it starts, whose
// hooks say it with each event: so no broker knows of a session without it, whatever lists and messages are still on their
// way there.
type whose struct {
	at     time.Time // of that event, by its hook's clock
	by     string    // its submitter
	hosted bool      // an agent of a host does
	agent  string    // its name, if that is known
}

// isOf takes what an event says of its session. The lock is held.
func (x *session) isOf(e *hook.Event, session string) {
	if x.whose.by != "" && x.whose.by != e.Submitter || e.Time.Before(x.whose.at) {
		return
	}
	agent, hosted := e.Origin.HostedSession(session)
	x.whose = whose{e.Time, e.Submitter, hosted, agent}
}

// learnWhose does so with an event that the stream brings: of another broker's session, or of one from before this broker began.
func (s *Store) learnWhose(e *hook.Event, p *hook.Payload) {
	if e.Emitted || e.Source != "" || p.SessionID == "" || e.Agent != (claude.Agent{}).Name() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, hosted := e.Origin.HostedSession(p.SessionID)
	x := s.sessions[p.SessionID]
	switch {
	case x != nil && x.submitter != "" && x.submitter != e.Submitter:
		return // another may call its session what this one is called
	case x == nil && !hosted || e.Type == hook.EventSessionEnd:
		return
	case x == nil:
		x = s.sessionLocked(p.SessionID)
		x.seen = time.Now()
	}
	x.isOf(e, p.SessionID)
}

// whoseIs is what the last event of a session says, the zero value if none is known, or what it came from is gone.
func (s *Store) whoseIs(session string) whose {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[session]
	if x == nil || s.cfg.Gone(x.origin) {
		return whose{}
	}
	return x.whose
}

// hostedBy says for people which agent of a host has a session, "" if none has. What is meant for it goes through that
// host, which looks at who signed it and at its ceilings: the session's own inbox and hooks are no way around that. It is
// not called with Store.mu, since a Registry asks the Store while it holds its own.
func (s *Store) hostedBy(session string) string {
	if agent := s.atHost(session); agent != "" {
		return anAgent + agent
	}
	if s.cfg.Hosted != nil {
		if agent := s.cfg.Hosted(session); agent != "" {
			return anAgent + agent
		}
	}
	switch w := s.whoseIs(session); {
	case w.agent != "":
		return anAgent + w.agent
	case w.hosted:
		return "an agent of a host"
	}
	return ""
}

// atHost is the agent of a host that has, or is about to have, a message to the session, "" if there is none.
func (s *Store) atHost(session string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.messages {
		if e.m.SessionID == session && toHost(&e.m) && !e.m.State.Over() {
			return e.m.Agent
		}
	}
	return ""
}

// bar says why a message must not be handed to a live session now, "" if it may be. It is asked again right before each
// hand-over, also of what the session did not take. Not called with Store.mu.
func (s *Store) bar(m *hook.Message) string {
	switch {
	case s.cfg.Stopped():
		return nowStopped
	case !s.cfg.May(m.By):
		return noSender
	case s.hostedBy(m.SessionID) != "":
		return nowHosted
	}
	return ""
}

// barred says of each message that waits for a live session why it must not be handed over any more, by its id.
func (s *Store) barred() map[string]string {
	var waiting []hook.Message
	s.mu.Lock()
	for _, e := range s.messages {
		if e.m.State == hook.MessageSent && !toHost(&e.m) {
			waiting = append(waiting, e.m)
		}
	}
	s.mu.Unlock()
	why := map[string]string{}
	for _, m := range waiting {
		if reason := s.bar(&m); reason != "" {
			why[m.ID] = reason
		}
	}
	return why
}

// Works is the agent of a host that has a process for this session, "" if none has: as its host said last, and also while
// that is away, since its agents go on.
func (r *Registry) Works(session string) (agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.speakForLocked(session) {
		for _, a := range h.Agents {
			if slices.ContainsFunc(a.Sessions, func(x api.AgentSession) bool {
				return x.SessionID == session && (x.Status == api.AgentBusy || x.Status == api.AgentIdle)
			}) {
				return a.Name
			}
		}
	}
	return ""
}

// SpeaksFor says whether a host may say anything of a session: not where it is another's.
func (r *Registry) SpeaksFor(host, session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.speakForLocked(session), func(h *hostEntry) bool { return h.ID == host })
}

// speakForLocked are the hosts whose word on a session counts. Which sessions it has is a host's own word, and whoever stole
// its token has that: of a session that took messages by another host, it says nothing.
func (r *Registry) speakForLocked(session string) (hosts []*hostEntry) {
	of, _ := r.cfg.Messages.HostOf(session)
	if of != "" && !r.cfg.Known(of) {
		of = "" // its token was made anew, or it is no more
	}
	for id, h := range r.hosts {
		if r.cfg.Known(id) && (of == "" || of == id) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// claims are the agents that are said to have a session, without those that are away but the one of this name.
func (r *Registry) claims(session, agent string) (all []claim) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.speakForLocked(session) {
		for _, a := range h.Agents {
			has := slices.ContainsFunc(a.Sessions, func(x api.AgentSession) bool { return x.SessionID == session })
			if has && (a.Name == agent || r.liveLocked(h, now)) {
				all = append(all, claim{a.Name, h.Host})
			}
		}
	}
	return all
}

// claim is an agent that is said to have a session.
type claim struct{ agent, hostname string }
