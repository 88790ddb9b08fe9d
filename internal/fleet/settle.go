package fleet

import (
	"context"
	"fmt"
	"time"

	"assent/internal/hook"
	"assent/internal/host/transcript"
)

// Why a message is lost.
const (
	noReceipt = "the session's transcript cannot be read here"
	neverRead = "the session does not have it: its process ended before it was in the agent's context, or it was taken out of the queue in the terminal"
)

// looks says whether the transcript is to say where a message is. Store.mu is held.
func (s *Store) looks(e *entry) bool {
	return e.m.Prompt != "" && e.m.Way == hook.WayInbox && e.m.Submitter == s.cfg.Self && s.cfg.Standing != nil
}

// look is when that is to be looked at next.
func (e *entry) look() time.Time {
	if !e.lookAt.IsZero() {
		return e.lookAt
	}
	return e.m.Steps[len(e.m.Steps)-1].At.Add(lookTime)
}

// settle finds out where a message is whose receipt has not come, and does what follows. It returns when it is to
// be looked at again; the zero time: when the record has changed.
func (s *Store) settle(ctx context.Context, t task) (retry time.Time) {
	at, err := s.cfg.Standing(ctx, t.session, content(&t.message))
	tries := 0
	for _, step := range t.message.Steps {
		if step.State == hook.MessageTaken {
			tries++
		}
	}
	now := time.Now()
	s.mu.Lock()
	e := s.messages[t.id]
	if e == nil || e.m.State != hook.MessageTaken || e.due != "" {
		s.mu.Unlock()
		return time.Time{} // its receipt came
	}
	e.lookAt = now.Add(lookAgain)
	retry = e.lookAt
	e.blind = err != nil || at == transcript.Unknown
	lost := ""
	switch {
	case at == transcript.Read:
		e.due = hook.MessageStarted
		if x := s.sessions[t.session]; !e.turnOver.IsZero() || x != nil && !x.working && x.idle.After(e.m.Steps[len(e.m.Steps)-1].At) {
			e.due = hook.MessageEnded // the turn is over that it was in
		}
		retry = now
	case at == transcript.Gone:
		lost = neverRead
	case at == transcript.Absent && tries >= maxTries:
		lost = fmt.Sprintf("it was handed over %d times, and the session's transcript shows that it took none", tries)
	}
	s.mu.Unlock()
	if lost != "" {
		if _, err := s.advanceAs(ctx, &t.message, hook.MessageLost, lost); err != nil {
			s.unrecorded(err)
		}
		return retry
	}
	if at == transcript.Absent {
		s.again(ctx, t)
	}
	return retry
}

// again hands a message over once more that the session did not take. That is recorded first, as a step of its own,
// and only where nothing else came first. It is the same text to the byte: should the first have been late, the client
// reads both at once, and drops what it was handed within the last seconds (2.1.329: 15, not 30).
func (s *Store) again(ctx context.Context, t task) {
	if why := s.bar(&t.message); why != "" {
		if _, err := s.advanceAs(ctx, &t.message, hook.MessageLost, "the session had not taken it, and it was not handed over again: "+why); err != nil {
			s.unrecorded(err)
		}
		return
	}
	line, err := s.dial(ctx, t.session)
	if err != nil {
		return // it is looked at again
	}
	taken, err := s.advanceAs(ctx, &t.message, hook.MessageTaken, "the session had not taken it; it was handed over again")
	if err != nil {
		s.unrecorded(err)
	}
	if !taken {
		line.Close()
		return
	}
	if err := line.Send(t.id, content(&t.message)); err != nil {
		s.cfg.Logf("a message may not have reached its session: %v", err)
	}
}
