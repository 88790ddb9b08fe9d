package executor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/hook"
)

// advance does what can be done next for the messages that are ours.
func (s *session) advance(ctx context.Context, now time.Time) {
	if s.broken != nil {
		return
	}
	s.advanceWordless(now)
	m := s.outstanding()
	if m == nil || m.state != confirmed {
		return
	}
	if s.runs && s.stopping == "" { // what is done without the lock comes before all that is looked at
		if !s.straysUntil.IsZero() {
			s.strays(now)
			s.straysUntil = time.Time{}
		}
		s.lookBeside()
		if s.superseded(m) {
			return
		}
	}
	if s.h.halted {
		s.end(now, m, hook.OutcomeCancelled, "CANCELLED", haltedWhy, "")
		return
	}
	if s.runs {
		if s.stopping == "" {
			if why := s.outdated(m.Order); why != "" {
				s.stop(now, "EXIT", why, 1)
			} else if why := cmp.Or(s.h.goesOn(s, m.Order), s.beside()); why != "" { // since it was offered
				s.end(now, m, hook.OutcomeFailed, "REFUSED", why, "")
				return
			}
		}
		if s.stopping != "" {
			return // the next process is given it
		}
	}
	if !s.runs {
		agent, budget, why := s.h.startable(ctx, s, m.Order)
		if why != "" && ctx.Err() != nil {
			return // the look was broken off; the next host looks
		}
		if s.superseded(m) { // while the project was looked at
			return
		}
		if why == "" {
			if err := s.start(agent, budget, now); err != nil {
				why = err.Error()
			}
		}
		if why == haltedWhy {
			s.end(now, m, hook.OutcomeCancelled, "CANCELLED", why, "")
			return
		}
		if why != "" {
			s.end(now, m, hook.OutcomeFailed, "REFUSED", why, "")
			return
		}
	}
	if m.Prompt == "" { // to be there again was all
		s.end(now, m, hook.OutcomeCompleted, "", "the session runs again", "")
		return
	}
	if s.h.halted || s.superseded(m) { // while the process was told what it begins with
		return
	}
	if s.note(entry{At: now, Message: m.ID, State: written}) != nil {
		return
	}
	s.write(now, streamjson.Prompt(m.ID, s.meta.Session, m.Prompt))
}

// superseded says whether a prompt is not to be handed over now: it was cancelled, or is not next any more. What is next is done in
// the next round.
func (s *session) superseded(m *message) bool {
	return s.broken != nil || s.outstanding() != m || m.state != confirmed ||
		slices.ContainsFunc(s.messages, func(c *message) bool { return c.Kind == hook.MessageCancel && c.state == confirmed })
}

// advanceWordless does what is next for handovers and cancels, for which nothing has to be started.
func (s *session) advanceWordless(now time.Time) {
	for _, c := range s.messages {
		switch {
		case c.Kind == hook.MessageHandover && (c.state == confirmed || c.state == started):
			s.handOver(now, c)
		case c.Kind != hook.MessageCancel:
		case c.state == confirmed:
			s.cancel(now, c)
		case c.state == started && s.outstanding() == nil:
			_ = s.note(entry{At: now, Message: c.ID, State: ended, Outcome: hook.OutcomeCompleted})
		}
	}
}

// cancel ends the turn that runs: at first with a word to the agent, then by its process, then by all
// that it started.
func (s *session) cancel(now time.Time, c *message) {
	m := s.outstanding()
	if m == nil || m.state == claimed {
		_ = s.note(entry{At: now, Message: c.ID, State: ended, Outcome: hook.OutcomeCompleted, Why: "nothing ran"})
		return
	}
	if s.note(entry{At: now, Message: c.ID, State: started}) != nil {
		return
	}
	if m.state == confirmed || !s.runs {
		s.end(now, m, hook.OutcomeCancelled, "CANCELLED", "cancelled before the agent was given it", "")
		return
	}
	e := entry{At: now, Message: m.ID, State: m.state, Cancels: m.cancels + 1}
	if e.Cancels == 1 {
		e.Control = cancels + c.ID
	}
	if s.note(e) != nil {
		return
	}
	switch m.cancels {
	case 1:
		s.write(now, streamjson.Interrupt(e.Control)) // one that does not read is stopped
	case 2:
		s.stop(now, "CANCELLED", "cancelled", 2)
	default:
		s.stop(now, "CANCELLED", "cancelled", 3)
	}
}
