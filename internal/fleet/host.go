package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
)

// hostPrefix begins the Submitter of a message to an agent of a host; the host's id follows. No event has
// such a submitter, so no hook is ever handed a host's message.
const hostPrefix = "host:"

// toHost says whether a message is for a host, which alone says what becomes of it.
func toHost(m *hook.Message) bool { return strings.HasPrefix(m.Submitter, hostPrefix) }

// Report is what a host says of a message: the state that it is in now.
type Report struct {
	ID      string
	State   hook.MessageState
	Outcome string // of MessageEnded
	Command string // of a hook.MessageHandover that has ended
	By      string // id of the message that cancelled it, of MessageEnded
	Why     string
	At      time.Time // zero: now
}

// hostSteps are the states that a host can bring a message to, with those that they follow.
var hostSteps = map[hook.MessageState][]hook.MessageState{ // read-only
	hook.MessageTaken:   {hook.MessageSent},
	hook.MessageStarted: {hook.MessageTaken, hook.MessageLost},
	hook.MessageEnded:   {hook.MessageTaken, hook.MessageStarted, hook.MessageLost},
	hook.MessageRefused: {hook.MessageSent, hook.MessageTaken},
	hook.MessageLost:    {hook.MessageTaken, hook.MessageStarted},
}

// Report records what a host says of a message to one of its agents. What it said before is no error: why
// is "" then too. Else why says for people that it cannot be so, and nothing is recorded. The state is the
// message's afterwards, "" where there is none. An error is ErrUnavailable; the same can be said again.
func (s *Store) Report(ctx context.Context, host string, r Report) (state hook.MessageState, why string, err error) {
	from, ok := hostSteps[r.State]
	if !ok {
		return "", "no host brings a message to the state " + string(r.State), nil
	}
	const attempts = 5 // against other steps
	for range attempts {
		m, err := s.Message(r.ID)
		switch {
		case err != nil || m.Submitter != hostPrefix+host:
			return "", "no message of this host has this id; it may have been forgotten", nil
		case slices.ContainsFunc(m.Steps, func(x hook.MessageStep) bool { return x.State == r.State }):
			return m.State, "", nil
		case !slices.Contains(from, m.State):
			return m.State, "it is " + string(m.State) + " already", nil
		case r.State == hook.MessageTaken && expired(&m, time.Now()):
			return m.State, "its time is over", nil
		case r.State == hook.MessageTaken && !s.cfg.May(m.By):
			return m.State, noSender, nil
		case r.State == hook.MessageTaken && m.Prompt == "" && !hook.Wordless(m.Kind):
			return m.State, "its text was forgotten", nil
		}
		if r.Why == r.Outcome {
			r.Why = "" // it says no more
		}
		stopper := ""
		if r.Outcome == hook.OutcomeCancelled {
			stopper = s.stopper(r.By, m.SessionID, host)
		}
		done, err := s.step(ctx, r.ID, in(from), func(m *hook.Message) {
			m.Way = hook.WayHost
			if r.State == hook.MessageEnded {
				m.Outcome, m.StoppedBy = r.Outcome, stopper
				if m.Kind == hook.MessageHandover && r.Outcome == hook.OutcomeCompleted {
					m.Command = r.Command
				}
			}
		}, hook.MessageStep{State: r.State, At: r.At, Why: clip(r.Why, 300)})
		if err != nil {
			return m.State, "", err
		}
		if done {
			return r.State, "", nil
		}
	}
	return "", "", fmt.Errorf("%w: its steps come too fast", ErrUnavailable)
}

// ToHost are the messages that are sent and that a host has not taken, in order, those without words first; and
// those that it has taken or begun.
func (s *Store) ToHost(host string) (sent, held []hook.Message) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.messages {
		if e.m.Submitter != hostPrefix+host {
			continue
		}
		switch e.m.State {
		case hook.MessageSent:
			if !expired(&e.m, now) && s.cfg.May(e.m.By) && !e.absent() && s.inRecord(e) {
				sent = append(sent, e.m)
			}
		case hook.MessageTaken, hook.MessageStarted:
			held = append(held, e.m)
		}
	}
	slices.SortFunc(held, inOrder)
	slices.SortFunc(sent, func(a, b hook.Message) int {
		if x, y := hook.Wordless(a.Kind), hook.Wordless(b.Kind); x != y {
			if x {
				return -1
			}
			return 1
		}
		return inOrder(a, b)
	})
	return sent, held
}

// HostAgent is the agent of a host whose session this is, see HostOf; "" if none is known.
func (s *Store) HostAgent(session string) string {
	_, agent := s.HostOf(session)
	return agent
}

// HostOf is the host, and the agent, whose session this is, by the last message to it that was not turned away; "" if none
// is known.
func (s *Store) HostOf(session string) (host, agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last *hook.Message
	for _, e := range s.messages {
		turnedAway := e.m.State == hook.MessageRefused || e.m.State == hook.MessageExpired
		if e.m.SessionID == session && toHost(&e.m) && !turnedAway && (last == nil || inOrder(*last, e.m) < 0) {
			last = &e.m
		}
	}
	if last == nil {
		return "", ""
	}
	return strings.TrimPrefix(last.Submitter, hostPrefix), last.Agent
}

// writer says for people who else writes to a session that an agent of a host is asked to: "" if nobody, or
// only that agent. live says that the session has a process at this agent.
func (s *Store) writer(session, agent string, live bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := live
	for _, e := range s.messages {
		if e.m.SessionID != session || !toHost(&e.m) || e.m.State.Over() {
			continue
		}
		if e.m.Agent != agent {
			return anAgent + e.m.Agent
		}
		ours = true
	}
	x := s.sessions[session]
	switch {
	case ours || x == nil || s.cfg.Gone(x.origin):
		return ""
	case x.whose.hosted && x.whose.agent != "" && x.whose.agent != agent:
		return anAgent + x.whose.agent
	case x.whose.hosted || x.submitter == "":
		return ""
	}
	where := "a terminal"
	if x.origin.Host != "" {
		where += " on " + x.origin.Host
	}
	if x.origin.PID > 0 {
		where += fmt.Sprintf(" (process %d)", x.origin.PID)
	}
	return where
}

// sendToHost records a message for a host. The same message again returns what became of it.
func (s *Store) sendToHost(ctx context.Context, m hook.Message, host string) (hook.Message, error) {
	if err := s.makeRoom(ctx, len(m.Prompt)); err != nil {
		return hook.Message{}, err
	}
	s.mu.Lock()
	waiting := 0
	for _, e := range s.messages {
		// However much waits, what ends the turn before it finds room.
		if e.m.SessionID == m.SessionID && e.m.State == hook.MessageSent && (e.m.Kind == hook.MessageCancel) == (m.Kind == hook.MessageCancel) {
			waiting++
		}
	}
	s.mu.Unlock()
	if waiting >= maxWaiting {
		return hook.Message{}, ErrTooMany
	}
	m.Submitter = hostPrefix + host
	return s.record(ctx, m)
}

// record makes the record of a new message.
func (s *Store) record(ctx context.Context, m hook.Message) (hook.Message, error) {
	m.State, m.Way, m.Outcome, m.Recorded = hook.MessageSent, "", "", s.cfg.Record != nil
	m.Steps = []hook.MessageStep{{State: hook.MessageSent, At: time.Now().UTC()}}
	at, err := s.keep(ctx, &m)
	if err != nil {
		return hook.Message{}, err
	}
	value, err := encode(m, at)
	if err != nil {
		return hook.Message{}, err
	}
	if err := s.recordSent(ctx, &m); err != nil {
		_ = s.erase(context.WithoutCancel(ctx), at) // what is left now goes with a later sweep
		return hook.Message{}, err
	}
	defer func() {
		s.mu.Lock()
		delete(s.sent, m.ID)
		s.mu.Unlock()
	}()
	rev, err := s.cfg.KV.Create(ctx, prefix+m.ID, value)
	if err != nil {
		have, haveRev, getErr := s.cfg.KV.Get(context.WithoutCancel(ctx), prefix+m.ID)
		if getErr != nil {
			return hook.Message{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		s.kv.Offer(prefix+m.ID, have, haveRev)
		if s.placeOf(m.ID) != at {
			_ = s.erase(ctx, at) // another message has the id; what is left now goes with the next sweep
		}
		if before, err := s.whole(ctx, m.ID); err == nil {
			return same(before, m)
		}
		return hook.Message{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.kv.Offer(prefix+m.ID, value, rev)
	return m, nil
}
