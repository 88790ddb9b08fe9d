package broker

import (
	"maps"
	"slices"
	"time"

	"assent/internal/hook"
)

// Observe takes an event as proof of how requests ended. It must be fed every event of
// EVENTS from EventsFrom on, in order, by one goroutine. It does not wait for the log: what it
// finds is recorded in the background, and a decision that is recorded first wins.
//
// Nothing is ever approved here. A tool that ran confirms a request we allowed, or retires one
// that waited, or shows that the terminal overruled a denial, or that an input an approver had
// edited ran as it was asked for; in that order, oldest first, one event for one request. The end
// of a turn retires what the agent still waited for, where its own prompt was up (Config.Races). Events of another submitter say nothing about a
// request, whatever session they name.
func (b *Broker) Observe(ev hook.Event, p hook.Payload) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return
	}
	_, usedBefore := b.used[ev.Seq]
	if ev.Seq > 0 {
		delete(b.used, ev.Seq)
		b.eventSeq = ev.Seq
		b.unsavedLocked()
	}
	if p.SessionID == "" {
		return
	}
	kind := ev.Type
	if kind == "" {
		kind = p.Type
	}
	over := kind == hook.EventSessionEnd
	s := b.sessions[p.SessionID]
	if s == nil {
		if over {
			return
		}
		s = b.sessionLocked(p.SessionID)
	}
	if !ev.Time.Before(s.view.LastEventAt) {
		s.over = over
	}
	s.seenLocked(ev.Agent, p.CWD, p.PermissionMode, kind, ev.Origin, ev.Time)
	if !ev.Spooled && !ev.Emitted && ev.Seq > 0 {
		switch kind {
		case hook.EventPostToolUse, hook.EventPostToolUseFailure:
			if t := s.turn(p.AgentID); t != nil && p.CallKey != "" && !usedBefore {
				b.toolRanLocked(t, ev, p, kind == hook.EventPostToolUseFailure)
			}
		case hook.EventStop, hook.EventStopFailure, hook.EventSubagentStop, hook.EventPostToolBatch, hook.EventUserPromptSubmit:
			if t := s.turn(p.AgentID); t != nil {
				b.turnEndedLocked(t, ev, hook.ReasonTurnEnded)
			}
		case hook.EventSessionEnd:
			for _, t := range slices.Clone(s.turns) {
				b.turnEndedLocked(t, ev, hook.ReasonSession)
			}
		}
	}
	if b.sessions[p.SessionID] == s {
		b.idleLocked(s)
	}
}

// EventsFrom is the EVENTS sequence from which Observe wants to be fed after New.
func (b *Broker) EventsFrom() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.eventSeq + 1
}

// proves reports whether ev can say anything about e: it is later than e's own event, by sequence
// and by its host's clock, and from the same submitter.
func proves(ev hook.Event, e *entry) bool {
	return ev.Seq > e.EventSeq && !ev.Time.Before(e.EventTime) && e.acceptsEventsFrom(ev.Submitter)
}

// races reports whether events may end e while it waits, see Config.Races.
func (b *Broker) races(e *entry) bool { return b.cfg.Races == nil || b.cfg.Races(e.Agent) }

// expects reports whether a tool call with this key is the one e is about.
func (e *entry) expects(callKey string) bool {
	return e.CallKey == callKey || e.updatedKey == callKey
}

// edited reports whether the approver allowed another call than was asked for.
func (e *entry) edited() bool { return e.updatedKey != "" && e.updatedKey != e.CallKey }

// olderThan orders the requests of one turn.
func (e *entry) olderThan(x *entry) bool {
	if x == nil || e.EventSeq != x.EventSeq {
		return x == nil || e.EventSeq < x.EventSeq
	}
	return e.AskedSeq < x.AskedSeq
}

// hasAnswer reports whether the hook of the settled request was given its answer.
func (e *entry) hasAnswer() bool { return e.delivered || e.Delivery == Delivered }

// toolRanLocked spends ev, the end of a tool call, on at most one request.
func (b *Broker) toolRanLocked(t *turn, ev hook.Event, p hook.Payload, failed bool) {
	callKey := p.CallKey
	var allowed, waited, denied *entry
	oldest := func(found **entry, e *entry) {
		if e.olderThan(*found) {
			*found = e
		}
	}
	for _, e := range t.entries {
		if e.usedBy > 0 || e.turnOver > 0 || !e.expects(callKey) || !proves(ev, e) {
			continue
		}
		switch {
		case e.open():
			if b.races(e) {
				oldest(&waited, e)
			}
		case e.Outcome == hook.Allowed && (!e.edited() || callKey == e.updatedKey):
			oldest(&allowed, e)
		case e.denies():
			oldest(&denied, e)
		case e.Outcome == hook.Allowed && e.hasAnswer(): // the agent was told of another input
			oldest(&denied, e)
		default: // the agent's own prompt decided, or was quicker than an allow with an edited input
			oldest(&waited, e)
		}
	}
	for _, e := range []*entry{allowed, waited, denied} {
		if e == nil {
			continue
		}
		e.toolFailed, e.failure = failed, p.Failure
		e.ranAsAsked = e.edited() && callKey != e.updatedKey
		break
	}
	switch {
	case allowed != nil:
		b.provenLocked(allowed, ev.Seq)
	case waited != nil && waited.open():
		waited.usedBy = ev.Seq
		b.endLocked(waited, ending{outcome: hook.Withdrawn, reason: hook.ReasonToolRan, eventSeq: ev.Seq})
	case waited != nil:
		b.provenLocked(waited, ev.Seq)
	case denied != nil:
		b.provenLocked(denied, ev.Seq)
	}
}

// provenLocked records what the end of its tool proves about a settled request.
func (b *Broker) provenLocked(e *entry, eventSeq uint64) {
	e.usedBy = eventSeq
	step := hook.StepConfirmed
	switch {
	case e.Outcome == hook.Allowed && !e.ranAsAsked:
	case e.Outcome == hook.Allowed, e.denies():
		step = hook.StepOverruled
	default:
		b.forgetLocked(e)
		return
	}
	reason, failure := "", ""
	if e.toolFailed {
		failure = e.failure
	}
	if step == hook.StepConfirmed && e.toolFailed {
		reason = hook.ReasonFailed
	}
	e.followUpsDue++
	b.followUps.addProof(followUp{id: e.ID, entry: e, step: step, eventSeq: eventSeq, reason: reason, failure: failure})
}

// turnEndedLocked retires all requests of t that are older than ev, and forgets those that
// waited for proof. It may be repeated.
func (b *Broker) turnEndedLocked(t *turn, ev hook.Event, reason string) {
	for _, e := range slices.Clone(t.entries) {
		switch {
		case !proves(ev, e):
		case !e.open():
			b.forgetLocked(e)
		case e.turnOver == 0 && b.races(e):
			e.turnOver = ev.Seq
			b.endLocked(e, ending{outcome: hook.Withdrawn, reason: reason, eventSeq: ev.Seq})
		}
	}
}

// noteUsedLocked remembers that a record names an event that is still to be observed: another
// replica was quicker, or this is a restart.
func (b *Broker) noteUsedLocked(rec hook.Record) {
	if rec.EventSeq <= b.eventSeq {
		return
	}
	b.used[rec.EventSeq] = struct{}{}
	if len(b.used) > maxUnproven { // forget events that were evicted before they were observed
		maps.DeleteFunc(b.used, func(seq uint64, _ struct{}) bool { return seq <= b.eventSeq })
	}
}

// awaitProofLocked keeps a settled request until proof comes, its turn or session ends, or a
// bound is reached.
func (b *Broker) awaitProofLocked(e *entry) {
	s := e.sess
	s.unproven++
	e.inUnproven = b.unproven.PushBack(e)
	b.heldBytes += e.payloadBytes()
	if s.unproven > maxUnprovenSession {
		b.forgetLocked(s.oldestUnproven())
	}
	for b.unproven.Len() > maxUnproven || b.heldBytes > maxUnprovenBytes {
		b.forgetLocked(b.unproven.Front().Value.(*entry))
	}
}

// oldestUnproven is the one that was settled first.
func (s *session) oldestUnproven() *entry {
	var oldest *entry
	for _, t := range s.turns {
		for _, e := range t.entries {
			if e.inUnproven != nil && (oldest == nil || e.SettledSeq < oldest.SettledSeq) {
				oldest = e
			}
		}
	}
	return oldest
}

// forgetLocked gives up waiting for proof of a settled request.
func (b *Broker) forgetLocked(e *entry) {
	if e.sess == nil {
		return
	}
	if e.inUnproven != nil {
		b.unproven.Remove(e.inUnproven)
		e.inUnproven = nil
		e.sess.unproven--
		b.heldBytes -= e.payloadBytes()
	}
	b.unlinkLocked(e)
	b.dropLocked(e)
}

// forgetOldLocked forgets what has waited too long for proof.
func (b *Broker) forgetOldLocked() {
	for {
		first := b.unproven.Front()
		if first == nil || time.Since(first.Value.(*entry).SettledAt) < maxUnprovenAge {
			return
		}
		b.forgetLocked(first.Value.(*entry))
	}
}

// updatedKey is the call key of the input an approver wrote, empty if none.
func (b *Broker) updatedKey(rec hook.Record) string {
	if b.cfg.CallKey == nil || rec.Decision == nil || len(rec.Decision.UpdatedInput) == 0 {
		return ""
	}
	b.mu.Lock()
	e := b.entries[rec.RequestID]
	tool := ""
	if e != nil {
		tool = e.ToolName
	}
	b.mu.Unlock()
	return b.cfg.CallKey(tool, rec.Decision.UpdatedInput)
}
