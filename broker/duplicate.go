package broker

import "assent/internal/hook"

// An agent may ask about one call in two ways at the same moment: by its hook and by its
// permission prompt tool, each with an id and a payload of its own. It takes the first answer it
// gets. The two are duplicates: one request, which approvers see once and rules count once, and one
// answer for both. The first that comes is the request; the other is attached to it and waits for its
// answer.
//
// Duplicates come in pairs, and only where it is certain that they are about the same call. In doubt
// there are two requests, which is a nuisance and no more: each is answered by itself.

// HasDuplicate reports whether r, which is not known yet, would share the answer of another request.
func (b *Broker) HasDuplicate(r *hook.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[r.ID] == nil && b.duplicateLocked(r) != nil
}

// Attach lets r wait for the answer of another request, if it is a duplicate of that; nil if it is
// not. Then nothing has happened, and r is to be judged and asked like any other.
func (b *Broker) Attach(r hook.Request) (*Waiting, error) {
	if err := complete(&r); err != nil {
		return nil, err
	}
	x, unrecorded, err := b.registerDuplicate(&r)
	if x == nil || err != nil {
		return nil, err
	}
	if unrecorded != nil {
		if err := b.recordAsked(x, unrecorded); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// registerDuplicate is register for a request that must be a duplicate; x is nil if it is not.
func (b *Broker) registerDuplicate(r *hook.Request) (x *Waiting, unrecorded *hook.Request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing { // the next broker may know of the other one
		return nil, nil, ErrStopping
	}
	if b.entries[r.ID] != nil {
		return nil, nil, nil
	}
	if e := b.duplicateLocked(r); e != nil {
		x, unrecorded = b.attachDuplicateLocked(e, r)
	}
	return x, unrecorded, nil
}

// duplicateLocked finds the request that r shares the answer of. Where both know the agent's name of
// the call it must be the same, and the answer may be there already; else the session, the tool and
// the very bytes of the input must be, and it must be the only such request that waits.
func (b *Broker) duplicateLocked(r *hook.Request) *entry {
	s := b.sessions[r.SessionID]
	if s == nil || r.Event != "" || r.NoDedup || r.Uninspectable != "" || r.Verdict.Decides() {
		return nil
	}
	var found *entry
	for _, t := range s.turns {
		for _, e := range t.entries {
			if !e.sameCall(r) || e.tooLate() {
				continue
			}
			switch {
			case e.duplicateID == r.ID: // it comes back, if it is the one
				if !sameSecret(e.duplicateSecret, r.ReattachSHA256) {
					return nil
				}
				return e
			case e.duplicateID != "" || e.answeredUnrecorded || e.handingBack:
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
	return e.Source != r.Source && e.Event == r.Event && !e.NoDedup && e.Uninspectable == "" && e.Agent == r.Agent &&
		e.ToolName == r.ToolName && e.InputSHA256 == r.InputSHA256 && e.sameContext(r) &&
		(e.AgentID == r.AgentID || named && (e.AgentID == "" && e.Source != "" || r.AgentID == "" && r.Source != ""))
}

// sameContext reports whether approvers and rules would see both in the same context. A submitter
// can also ask in another's name: an answer for one context must never be used in another.
func (e *entry) sameContext(r *hook.Request) bool {
	here, there := e.Origin, r.Origin
	here.PID, there.PID = 0, 0 // one is the tool's
	// Agents do not hand their environment on to the tool, so it may not know whose the session is. No approver or rule asks that.
	here.Hosted, there.Hosted = "", ""
	return e.Submitter == r.Submitter && e.CWD == r.CWD && here == there &&
		(e.PermissionMode == r.PermissionMode || e.PermissionMode == "" && e.Source != "" || r.PermissionMode == "" && r.Source != "")
}

// attachDuplicateLocked lets the hook of r wait for the answer to e. The agent takes the first answer,
// so what it says to r when r's time is up ends the request for both. unrecorded is e's request if it
// is not recorded yet.
func (b *Broker) attachDuplicateLocked(e *entry, r *hook.Request) (x *Waiting, unrecorded *hook.Request) {
	e.duplicateID, e.duplicateSecret = r.ID, r.ReattachSHA256
	if e.duplicateDeadline.IsZero() || r.Deadline.Before(e.duplicateDeadline) {
		e.duplicateDeadline = r.Deadline
	}
	e.duplicateResumesLocked(r)
	if e.shortenLocked() {
		b.showLocked(e)
	}
	x = b.attachLocked(e, r.Channel)
	if e.asked() == 0 {
		q := e.Request
		unrecorded = &q
	}
	return x, unrecorded
}

// shortenLocked lets a pending request end when the first of its agents gives up, and reports whether
// that is news.
func (e *entry) shortenLocked() bool {
	if !e.open() || e.duplicateDeadline.IsZero() || !e.duplicateDeadline.Before(e.Deadline) {
		return false
	}
	e.Deadline = e.duplicateDeadline
	return true
}
