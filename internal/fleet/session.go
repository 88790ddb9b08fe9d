package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/hook"
)

const (
	// maxSessions bounds the sessions that are known; those without news for longest go first.
	maxSessions = 4096
	// maxStops is how often in a row the end of a turn is answered with a message: the client lets the
	// eighth go through and ends the turn.
	maxStops = 7
)

// session is what its events say of a session. Guarded by Store.mu.
type session struct {
	submitter string
	origin    hook.Origin // of its last event
	working   bool        // a turn runs
	stops     int         // turns in a row that a message lengthened
	seen      time.Time
	idle      time.Time // since when no turn runs
	lastTaken time.Time // when it was handed a message
	retry     time.Time // when its inbox is tried again
	whose     whose
}

// sessionLocked finds or makes a session.
func (s *Store) sessionLocked(id string) *session {
	x := s.sessions[id]
	if x == nil {
		if len(s.sessions) >= maxSessions {
			oldest, at := "", time.Time{}
			for id, x := range s.sessions {
				if oldest == "" || x.seen.Before(at) {
					oldest, at = id, x.seen
				}
			}
			delete(s.sessions, oldest)
		}
		x = &session{}
		s.sessions[id] = x
	}
	return x
}

// Event takes an event of an agent's own hook, once it is durable, and returns what its hook prints, which
// is nothing unless a message is outstanding. It waits only for the record of a message that a Stop hook
// takes, half a second at most.
func (s *Store) Event(ctx context.Context, e *hook.Event, p *hook.Payload, detail func() hook.Detail) []byte {
	if e.Spooled || e.Emitted || e.Source != "" || p.SessionID == "" || e.Agent != (claude.Agent{}).Name() {
		return nil // what is handed over, and how, is Claude Code's
	}
	now := time.Now()
	s.mu.Lock()
	outstanding := s.outstandingLocked(p.SessionID)
	x := s.sessionLocked(p.SessionID)
	if x.submitter != "" && x.submitter != e.Submitter {
		s.mu.Unlock()
		return nil // another may call its session what this one is called
	}
	x.submitter, x.origin, x.seen = e.Submitter, e.Origin, now
	x.isOf(e, p.SessionID)
	if p.AgentID == "" {
		switch e.Type {
		case hook.EventUserPromptSubmit:
			x.working, x.stops = true, 0
		case hook.EventStop, hook.EventStopFailure:
			x.working, x.idle = false, now
		case hook.EventSessionEnd:
			delete(s.sessions, p.SessionID)
		case hook.EventPreToolUse, hook.EventPermissionRequest:
			x.working = true
		}
	}
	mine := slices.DeleteFunc(outstanding, func(e2 *entry) bool { return e2.m.Submitter != e.Submitter })
	if len(mine) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.wakeUp()
	if p.AgentID == "" && e.Type != hook.EventStop { // stop looks for a receipt first
		missedTurn(mine, e.Type, now)
	}
	switch {
	case e.Type == hook.EventSessionEnd:
		for _, o := range mine {
			if o.m.State == hook.MessageTaken && s.looks(o) {
				o.lookAt = now.Add(lookTime) // by then its process is gone, and the transcript whole
				continue
			}
			o.due = over[o.m.State]
		}
	case e.Type == hook.EventUserPromptSubmit && p.AgentID == "":
		s.mu.Unlock()
		return s.receipt(mine, detail().Prompt)
	case e.Type == hook.EventStop && p.AgentID == "":
		again := x.stops < maxStops
		s.mu.Unlock()
		return s.stop(ctx, p.SessionID, mine, again, detail().StopHookActive)
	case e.Type == hook.EventPreToolUse, e.Type == hook.EventPermissionRequest:
		receivedByStop(mine)
	}
	s.mu.Unlock()
	return nil
}

// TurnOver says, of the event that ends a session's turn, whether a message of its queue goes on with the
// turn or begins the next one, and else whether a message could be handed to the session now.
func (s *Store) TurnOver(e *hook.Event, session string) (queued, reachable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hosted := false
	for _, o := range s.messages {
		if o.m.SessionID != session {
			continue
		}
		if o.due == "" && (o.m.State == hook.MessageSent || o.m.State == hook.MessageTaken) {
			return true, false
		}
		hosted = hosted || o.m.Way == hook.WayHost // its host is told at any time
	}
	return false, hosted || s.cfg.Inbox != nil && e.Submitter == s.cfg.Self && e.Agent == (claude.Agent{}).Name()
}

// Seen takes an event as the stream brings it, perhaps again. It finds the receipts and ends of turns that no hook
// brought to Event, as they waited in a spool, or of which the broker was killed that had stored them, before it had
// recorded what follows.
func (s *Store) Seen(e *hook.Event, p *hook.Payload, detail func() hook.Detail) {
	s.learnWhose(e, p)
	over := e.Type == hook.EventStop || e.Type == hook.EventStopFailure
	if e.Type != hook.EventUserPromptSubmit && !over || e.Emitted || p.AgentID != "" || e.Agent != (claude.Agent{}).Name() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.outstandingLocked(p.SessionID) {
		if over {
			began := o.m.State == hook.MessageStarted && (o.begun || e.Time.After(o.m.Steps[len(o.m.Steps)-1].At)) || !o.seen.IsZero() && o.awaits()
			if o.m.Submitter == e.Submitter && o.due == "" && began {
				o.due = hook.MessageEnded
				s.wakeUp()
			}
			continue
		}
		began := o.m.State == hook.MessageStarted && o.m.Way == hook.WayInbox && !o.begun
		if o.m.Submitter != e.Submitter || !began && (!o.awaits() || !o.seen.IsZero()) {
			continue
		}
		if known, _ := o.isPrompt(detail().Prompt); known && began {
			o.begun = true
			return
		} else if known {
			o.seen = time.Now()
			s.wakeUp()
			return
		}
	}
}

// awaits says whether the message's receipt would be a prompt, and is not here.
func (e *entry) awaits() bool {
	return (e.m.State == hook.MessageTaken || e.m.State == hook.MessageLost) && e.due == "" && e.m.Way == hook.WayInbox
}

// isPrompt says whether a prompt is the message, and whether word for word as it was handed over: a client that
// changes the wrapper shows it by its mark and text.
func (e *entry) isPrompt(prompt string) (known, whole bool) {
	if e.m.Prompt == "" {
		return false, false // it was forgotten, or has not come
	}
	whole = strings.Contains(prompt, content(&e.m))
	return whole || strings.Contains(prompt, "#"+Mark(&e.m)) && strings.Contains(prompt, e.m.Prompt) ||
		strings.TrimSpace(prompt) == strings.TrimSpace(e.m.Prompt), whole
}

// outstandingLocked are a session's messages of which something is still to come, in order; also those
// that are lost, whose receipt may come late.
func (s *Store) outstandingLocked(id string) []*entry {
	var found []*entry
	for _, e := range s.messages {
		if e.m.SessionID == id && (!e.m.State.Over() || e.m.State == hook.MessageLost) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return inOrder(a.m, b.m) })
	return found
}

// missedTurn notes when a turn ended before the receipt of a message came: from then on the receipt is waited
// for a while, also where the session is never idle. The text that a Stop hook was handed is in the turn that
// it lengthened, so another prompt ends the wait for it, too.
func missedTurn(mine []*entry, event string, now time.Time) {
	for _, o := range mine {
		over := event == hook.EventStop || event == hook.EventStopFailure || event == hook.EventUserPromptSubmit && o.m.Way == hook.WayStop
		if over && o.m.State == hook.MessageTaken && o.due == "" && o.turnOver.IsZero() {
			o.turnOver = now
		}
	}
}

// receivedByStop notes that the turn went on after a Stop hook had been handed a message: that very turn, of
// which nothing is known any more where another one began, or another broker.
func receivedByStop(mine []*entry) {
	for _, o := range mine {
		if o.answered && o.turnOver.IsZero() && (o.m.State == hook.MessageTaken || o.m.State == hook.MessageLost) && o.due == "" {
			o.due = hook.MessageStarted
		}
	}
}

// receipt finds the message that a prompt is, and returns what the hook says about it, which is nothing where the
// client changed the wrapper.
func (s *Store) receipt(mine []*entry, prompt string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range mine {
		if !o.awaits() {
			continue
		}
		known, whole := o.isPrompt(prompt)
		if !known {
			continue
		}
		o.due = hook.MessageStarted
		s.sessionLocked(o.m.SessionID).lastTaken = time.Time{} // the client has it, and so the next one is no burst
		s.wakeUp()
		if text := about(&o.m); whole && text != "" {
			return claude.PromptContext(text)
		}
		return nil
	}
	return nil
}

// stop ends what the turn was about, and hands over the next message in its place, if one waits that has
// no other way. again says that the client takes another one in this turn, lengthened that the turn had
// been lengthened by a Stop hook.
func (s *Store) stop(ctx context.Context, id string, mine []*entry, again, lengthened bool) []byte {
	s.mu.Lock()
	if lengthened {
		receivedByStop(mine)
	}
	missedTurn(mine, hook.EventStop, time.Now())
	var next *hook.Message
	for _, o := range mine {
		switch {
		case o.m.State == hook.MessageStarted || o.due == hook.MessageStarted:
			o.due = hook.MessageEnded
		case o.m.State == hook.MessageTaken && o.due == "":
			again = false // its receipt comes first
		case o.m.State == hook.MessageSent && o.due == "" && next == nil && !o.absent() && s.inRecord(o) && !expired(&o.m, time.Now()) && s.cfg.May(o.m.By):
			m := o.m
			next = &m
		}
	}
	s.wakeUp()
	s.mu.Unlock()
	if next == nil || !again || s.bar(next) != "" {
		return nil // Run says why it is refused, if it is
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	if next.Submitter == s.cfg.Self {
		if line, err := s.dial(ctx, id); err == nil {
			line.Close()
			return nil // the other way is surer: a transcript settles what becomes of it
		}
	}
	taken, err := s.advance(ctx, next.ID, []hook.MessageState{hook.MessageSent}, hook.MessageTaken, hook.WayStop, "")
	if err != nil {
		s.unrecorded(err)
	}
	if !taken {
		return nil
	}
	s.mu.Lock()
	if e := s.messages[next.ID]; e != nil {
		e.answered = true
	}
	if x := s.sessions[id]; x != nil {
		x.working, x.lastTaken = true, time.Now()
		x.stops++
	}
	s.mu.Unlock()
	return claude.GoOn(stopReason(next))
}
