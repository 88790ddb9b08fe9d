package broker

import (
	"time"

	"assent/internal/hook"
)

// folded is the state of one request as its records tell it: the only way in which records
// become state, for the tail and for reads alike.
type folded struct {
	View
	settledBy string // id of the record that settled the request
	// heldBy is the run of the broker that holds its hook, as far as is known; "" where nobody says so.
	heldBy string
	// clockApart is how far the clock of the broker that asked is from ours, 0 where it is near.
	clockApart time.Duration
	// mayWaitUntil is the latest that its hook may wait if the log takes the request for older than it is, see
	// othersLocked; zero where the broker that recorded it is this one.
	mayWaitUntil time.Time
	// handBack is why the request was to be handed back when it was recorded; "" where it was not, or nobody says so.
	handBack string
}

// fold adds rec and reports whether it changed anything. Records that were folded before, that
// come before asked, or that try to settle a settled request change nothing.
func (f *folded) fold(rec hook.Record) bool {
	if hook.Mutant("tail-skips") && rec.Seq%50 == 0 {
		return false
	}
	if rec.Seq <= f.LastSeq || (f.AskedSeq == 0) != (rec.Step == hook.StepAsked) {
		return false
	}
	switch rec.Step {
	case hook.StepAsked:
		if rec.Request == nil {
			return false
		}
		f.Request = *rec.Request
		f.CreatedAt, f.Deadline, f.clockApart = byOurClock(&rec)
		if !rec.Stored.IsZero() {
			f.mayWaitUntil = f.Deadline.Add(f.Deadline.Sub(f.CreatedAt))
		}
		f.heldBy, f.handBack = rec.Broker, rec.Reason
		f.State = Pending
		f.AskedSeq = rec.Seq
	case hook.StepDecided, hook.StepEnded:
		if f.State != Pending {
			return false
		}
		f.State = Ended
		f.Outcome, f.Reason = rec.Outcome, rec.Reason
		f.DecidedBy, f.Decision = rec.By, rec.Decision
		if !rec.Sound() {
			f.Outcome, f.Reason, f.Decision = hook.HandedBack, reasonUnsound, nil
		}
		f.SettledAt, f.settledBy, f.SettledSeq = rec.Time, rec.ID, rec.Seq
		if f.Decision != nil {
			f.Delivery = Recorded
		}
	case hook.StepDelivered:
		if f.Delivery == "" || f.Delivery == Recorded {
			f.Delivery = Delivered
		}
	case hook.StepRefused:
		f.Delivery, f.Reason, f.Failure = Refused, hook.ReasonRefused, rec.Failure
	case hook.StepConfirmed:
		f.Delivery = Confirmed
		if rec.Reason == hook.ReasonFailed {
			f.Reason = rec.Reason
		}
		f.Failure = rec.Failure
	case hook.StepOverruled:
		f.Delivery, f.Reason, f.Failure = Overruled, ReasonOverruled, rec.Failure
	}
	f.LastSeq = rec.Seq
	return true
}

// reasonUnsound is the reason of a request whose settling record contradicts itself, which no
// broker writes: a damaged record must not become a decision.
const reasonUnsound = "unreadable_record"

func foldAll(recs []hook.Record) folded {
	var f folded
	for _, rec := range recs {
		f.fold(rec)
	}
	return f
}

// unproven reports whether a later event may still prove something about the settled request.
func (f *folded) unproven() bool {
	return f.State == Ended && f.Outcome != hook.Withdrawn &&
		f.Delivery != Confirmed && f.Delivery != Overruled && f.Delivery != Refused
}

// denies reports whether the hook of the settled request was told no.
func (f *folded) denies() bool {
	return f.Outcome == hook.Denied || f.Outcome == hook.Expired && f.OnTimeout == hook.Deny
}

// answer is what a hook that waits for the settled request gets. Only a recorded decision to
// allow makes it Allowed.
func (f *folded) answer() Answer {
	a := Answer{Outcome: f.Outcome, Reason: f.Reason, Fallback: hook.Abstain, SettledAt: f.SettledAt}
	switch f.Outcome {
	case hook.Allowed, hook.Denied:
		a.Decision, a.By = f.Decision, f.DecidedBy
		if hook.Mutant("deny-is-allow") && f.Outcome == hook.Denied {
			d := *f.Decision
			d.Behavior, a.Decision, a.Outcome = hook.BehaviorAllow, &d, hook.Allowed
		}
	case hook.Expired:
		a.Fallback = fallbackOf(f.OnTimeout)
	}
	return a
}

func (f *folded) settledError() error {
	return &SettledError{Outcome: f.Outcome, Reason: f.Reason, By: f.DecidedBy}
}

func fallbackOf(f hook.Fallback) hook.Fallback {
	if f == hook.Deny {
		return hook.Deny
	}
	return hook.Abstain
}
