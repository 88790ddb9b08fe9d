package broker

import "assent/internal/hook"

// An agent may ask about one call in two ways at the same moment: by its hook and by its
// permission prompt tool, each with an id and a payload of its own. It takes the first answer it
// gets. The two are twins: one request, which approvers see once and rules count once, and one
// answer for both. The first that comes is the request; the other waits for its answer.
//
// Twins come in pairs, and only where it is certain that they are about the same call. In doubt
// there are two requests, which is a nuisance and no more: each is answered by itself.

// Twin reports whether r, which is not known yet, would share the answer of another request.
func (b *Broker) Twin(r *hook.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[r.ID] == nil && b.twinLocked(r) != nil
}

// twinLocked finds the request that r shares the answer of. Where both know the agent's name of
// the call it must be the same, and the answer may be there already; else the session, the tool and
// the very bytes of the input must be, and it must be the only such request that waits.
func (b *Broker) twinLocked(r *hook.Request) *entry {
	s := b.sessions[r.SessionID]
	if s == nil || r.Event != "" || r.Alone || r.Uninspectable != "" || r.Verdict.Decides() {
		return nil
	}
	var found *entry
	for _, t := range s.turns {
		for _, e := range t.entries {
			if !e.sameCall(r) || e.tooLate() {
				continue
			}
			switch {
			case e.twin == r.ID: // it comes back, if it is the one
				if !sameSecret(e.twinHash, r.ReattachSHA256) {
					return nil
				}
				return e
			case e.twin != "" || e.gaveUp || e.hidden:
			case e.ToolUseID != "" && r.ToolUseID != "":
				if e.ToolUseID == r.ToolUseID {
					return e
				}
			case !e.open():
			case found != nil:
				return nil
			default:
				found = e
			}
		}
	}
	return found
}

// sameCall reports whether e may be about the call that r is about, asked in the other way.
func (e *entry) sameCall(r *hook.Request) bool {
	named := e.ToolUseID != "" && r.ToolUseID != ""
	return e.Via != r.Via && e.Event == r.Event && !e.Alone && e.Uninspectable == "" && e.Agent == r.Agent &&
		e.ToolName == r.ToolName && e.InputSHA256 == r.InputSHA256 && e.samePlace(r) &&
		(e.AgentID == r.AgentID || named && (e.AgentID == "" && e.Via != "" || r.AgentID == "" && r.Via != ""))
}

// samePlace reports whether approvers and rules would see both in the same surroundings. Whoever
// can ask can also ask in another's name: an answer for one place must never be used in another.
func (e *entry) samePlace(r *hook.Request) bool {
	here, there := e.Origin, r.Origin
	here.PID, there.PID = 0, 0 // one is the tool's
	return e.Submitter == r.Submitter && e.CWD == r.CWD && here == there &&
		(e.PermissionMode == r.PermissionMode || e.PermissionMode == "" && e.Via != "" || r.PermissionMode == "" && r.Via != "")
}

// Join lets r wait for the answer of another request, if it is a twin; nil if it is not. Then
// nothing has happened, and r is to be judged and entered like any other.
func (b *Broker) Join(r hook.Request) (*Waiting, error) {
	if err := complete(&r); err != nil {
		return nil, err
	}
	channel := r.Channel
	w := &waiter{answer: make(chan Answer, 1)}
	b.mu.Lock()
	var e *entry
	var err error
	switch {
	case b.closing: // the next broker may know of one
		err = ErrStopping
	case b.entries[r.ID] == nil:
		e = b.twinLocked(&r)
	}
	if e == nil {
		b.mu.Unlock()
		return nil, err
	}
	b.joinLocked(e, &r)
	b.attachLocked(e, w)
	recorded := e.asked() > 0
	b.mu.Unlock()
	if !recorded {
		if err := b.recordAsked(e, w, &r); err != nil {
			return nil, err
		}
	}
	return &Waiting{r.ID, e, w, channel}, nil
}

// joinLocked makes r the twin of e: from here on r is e's request, with e's id. The agent takes the
// first answer, so what r's side says when its time is up ends the request for both.
func (b *Broker) joinLocked(e *entry, r *hook.Request) {
	e.twin, e.twinHash = r.ID, r.ReattachSHA256
	if e.until.IsZero() || r.Deadline.Before(e.until) {
		e.until = r.Deadline
	}
	e.twinResumesLocked(r)
	if e.shortenLocked() {
		b.showLocked(e)
	}
	*r = e.Request
}

// shortenLocked lets a pending request end when the first of its agents gives up, and reports whether
// that is news.
func (e *entry) shortenLocked() bool {
	if !e.open() || e.until.IsZero() || !e.until.Before(e.Deadline) {
		return false
	}
	e.Deadline = e.until
	return true
}
