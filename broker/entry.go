package broker

import (
	"container/list"
	"time"

	"assent/internal/hook"
)

// entry is one request in memory, from Ask or its asked record until nothing can happen to it
// any more. Its states are listed in the package's documentation. All fields, the id too, are guarded
// by Broker.mu. Records are folded into it by apply alone. Of the folded part, Ask and HandBack fill in
// Request before the record is there; hooks, duplicates and timers write Detached, HeldElsewhere,
// Deadline and CreatedAt, and Ask a Submitter that the record lacks.
type entry struct {
	folded
	b *Broker

	// The hooks that wait.
	waiters  []*Waiting
	first    [1]*Waiting // the memory of waiters, as long as there is one
	answered int         // hooks that were given the recorded answer

	// The duplicate that shares the answer, see duplicate.go.
	duplicateID       string    // empty: there is none
	duplicateSecret   string    // its Request.ReattachSHA256
	duplicateDeadline time.Time // when its agent gives up

	// askedAt is the sequence of asked as Append returned it; the tail may be a little later.
	askedAt uint64

	announced bool // the other brokers were told that its hook waits here

	// States of a pending request, beside View.Detached and View.HeldElsewhere.
	handingBack        bool // too large, paused, or nobody there: an end is about to be recorded
	awaitingRule       bool // a rule is about to answer
	resumed            bool // recorded by another run or broker, and its hook did not come here yet
	lapsed             bool // its time was over then by a clock that may have been set; only its hook can tell
	expiring           bool // the deadline has passed
	answeredUnrecorded bool // its hooks were answered although the log took no end

	endsAt, endsFor time.Time // see ends: the deadline with a monotonic reading, and the Deadline that it is of

	// Of a resumed request, its deadline as far as its record says, and its whole time.
	due  time.Time
	span time.Duration

	// What shall happen to a pending request, and when; zero times are never. One timer
	// serves them all.
	timer              *time.Timer
	withdrawAt         time.Time // because no hook came back
	answerUnrecordedAt time.Time // because the log takes no end
	retryAt            time.Time // try again to record end
	publishAt          time.Time // no rule has answered after all: show it

	// The end that is to be recorded; nil: none.
	end         *ending
	endQueued   bool // the entry stands in Broker.ends, or an ender has it
	endRecorded bool // the log has a settling record, ours or another's
	attempts    int

	// Proof. Index membership: sess and turn are nil when forgotten.
	sess       *session
	turn       *turn
	usedBy     uint64        // EVENTS sequence of the tool's end that was taken as proof here
	toolFailed bool          // that event said that the tool failed
	failure    string        // and why
	ranAsAsked bool          // the tool ran with the input that an approver had edited
	turnOver   uint64        // EVENTS sequence of the end of the turn, while it waited
	updatedKey string        // CallKey of the input the approver wrote
	inUnproven *list.Element // its element of Broker.unproven

	// Follow-ups on the way: a forgotten entry stays until they have come back by the tail.
	followUpsDue int
	followUpSeq  uint64
	delivered    bool // Delivered was called
	refused      bool // Refused was called, by its hook

	// moved is closed when the request is settled or delivered; nil while nobody watches.
	moved chan struct{}
}

// ending is an end that somebody wants recorded.
type ending struct {
	outcome  hook.Outcome
	reason   string
	eventSeq uint64
}

// visible reports whether the request is in the queue that approvers see.
func (e *entry) visible() bool {
	return e.AskedSeq > 0 && e.State == Pending && !e.handingBack && !e.awaitingRule && !e.lapsed
}

// open reports whether the request is not settled, as far as the tail knows; it may not even
// be recorded yet.
func (e *entry) open() bool { return e.State != Ended }

// comesBack reports whether the request's hook may lose its connection and reattach. The hook
// of a form does not: it ends, and the agent shows the form itself.
func (e *entry) comesBack() bool { return e.Event != hook.EventElicitation }

// asked is the sequence of the asked record, 0 while it is unknown.
func (e *entry) asked() uint64 { return max(e.AskedSeq, e.askedAt) }

// expiry is when this broker ends the request, by its own clock, see byOurClock.
func (e *entry) expiry() time.Time {
	switch {
	case e.HeldElsewhere && hook.Mutant("expires-others"):
		return e.CreatedAt.Add(time.Second)
	case e.HeldElsewhere:
		return e.ends().Add(e.b.cfg.ElsewhereExpiry)
	case e.lapsed: // its hook has so long to come back
		return e.withdrawAt
	}
	return e.ends()
}

// ends is the deadline on this machine's monotonic clock, from when it was first asked for: setting the clock
// moves it no more than the hook's own patience. Deadline itself is a time of day, for people.
func (e *entry) ends() time.Time {
	if !e.endsFor.Equal(e.Deadline) {
		now := time.Now()
		e.endsAt, e.endsFor = now.Add(e.Deadline.Sub(now)), e.Deadline
	}
	return e.endsAt
}

// endsInLocked is for a request that has just come: how much time it has is known by the times that came with it,
// whatever the clock says since. mostIntake is more than it can have been on its way to the broker.
func (e *entry) endsInLocked() {
	const mostIntake = time.Minute
	now := time.Now()
	left, age := e.Deadline.Sub(e.CreatedAt), now.Sub(e.CreatedAt)
	if age > 0 && age < mostIntake {
		left -= age
	}
	e.endsAt, e.endsFor = now.Add(left), e.Deadline
}

// othersLocked is for a request that another broker recorded. How old it is only the log says, by the clock of
// the server that leads it, which after a change of leader may be minutes behind. So until its hook comes here and
// says better it has all its time from now on; ending it in time is for the broker that holds its hook.
func (e *entry) othersLocked() {
	e.resumed = true
	e.due, e.span = e.Deadline, e.Deadline.Sub(e.CreatedAt)
	e.endsAt, e.endsFor = time.Now().Add(e.span), e.Deadline
	if e.endsAt.After(e.mayWaitUntil) {
		e.mayWaitUntil = e.endsAt
	}
}

// resumeLocked takes the time that the hook of a resumed request has left, by its own clock, for the
// truth, if it says otherwise than the record: a clock was set in between, of this machine or, where brokers
// share the record, of the server that leads its log. r is what the hook sent now. The request is as old as
// it was, so what is shown of it moves with the clock.
func (e *entry) resumeLocked(r *hook.Request) {
	if !e.resumed {
		return
	}
	e.resumed = false
	left := e.leftOf(r)
	set := e.dueIn(left)
	if set != 0 {
		e.b.cfg.Logf("request %s: its hook has %v left, %v from what the record says: a clock was set, of this machine or of the server that keeps the record; the hook counts",
			e.ID, left.Round(time.Second), set.Round(time.Second))
	}
	if e.lapsed || set != 0 {
		e.lapsed = false
		e.b.showLocked(e)
	}
}

// duplicateResumesLocked is for a resumed request whose duplicate comes back before its own hook: what the
// duplicate has left says how long that one waits, and no more. Only where the request's time is over by the
// clock it counts until the hook says better, so that the duplicate does not wait unseen.
func (e *entry) duplicateResumesLocked(r *hook.Request) {
	if !e.lapsed || !e.open() {
		return
	}
	e.dueIn(e.leftOf(r))
	e.lapsed = false
	e.b.showLocked(e)
}

// leftOf is how much time r's hook has, at most all that the request had.
func (e *entry) leftOf(r *hook.Request) time.Duration {
	return min(r.Deadline.Sub(r.CreatedAt), e.span)
}

// dueIn sets the deadline of a resumed request, and returns by how much the clock was set if its hook
// has left.
func (e *entry) dueIn(left time.Duration) (set time.Duration) {
	now := time.Now()
	e.endsFor = time.Time{}
	e.Deadline = now.Add(e.due.Sub(now)) // from here on no setting of the clock moves it
	if set = now.Add(left).Sub(e.due); set.Abs() < clockSlack {
		set = 0
	} else {
		e.Deadline = now.Add(left)
		e.CreatedAt = e.Deadline.Add(-e.span)
	}
	e.shortenLocked()
	return set
}

// clockSlack is how far a hook's remaining time and the recorded deadline may be apart without the
// clock having been set.
const clockSlack = 3 * time.Second

// expiryTimeout is how long to try to record the expiry before the hook is answered without.
// The broker's deadline lies min(2 s, 10 %) before the agent's: half of that.
func expiryTimeout(r *hook.Request) time.Duration {
	return min(time.Second, max(20*time.Millisecond, r.Deadline.Sub(r.CreatedAt)/18))
}

// armLocked sets the timer to whatever comes first.
func (e *entry) armLocked() {
	if !e.open() || e.b.closing {
		e.disarmLocked()
		return
	}
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if !e.expiring {
		sooner(e.expiry())
	}
	sooner(e.withdrawAt)
	sooner(e.answerUnrecordedAt)
	sooner(e.retryAt)
	sooner(e.publishAt)
	switch {
	case next.IsZero():
		e.disarmLocked()
	case e.timer == nil:
		e.timer = time.AfterFunc(time.Until(next), e.fire)
	default:
		e.timer.Reset(time.Until(next))
	}
}

func (e *entry) disarmLocked() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// fire does what is due. It runs on the timer's goroutine and does not block.
func (e *entry) fire() {
	b := e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing || !e.open() || b.entries[e.ID] != e {
		return
	}
	now := time.Now()
	due := func(t time.Time) bool { return !t.IsZero() && !t.After(now) }
	if !e.expiring && due(e.expiry()) {
		e.expiring = true
		e.boundWaitLocked()
		b.endLocked(e, ending{outcome: hook.Expired, reason: hook.ReasonDeadline})
	}
	if due(e.withdrawAt) {
		e.withdrawAt = time.Time{} // which attaching does too
		b.endLocked(e, ending{outcome: hook.Withdrawn, reason: hook.ReasonDetached})
	}
	if due(e.publishAt) {
		b.publishLocked(e)
	}
	if due(e.answerUnrecordedAt) {
		e.answerUnrecordedAt = time.Time{}
		b.answerUnrecordedLocked(e)
	}
	if due(e.retryAt) {
		e.retryAt = time.Time{}
		b.queueEndLocked(e)
	}
	e.armLocked()
}

// boundWaitLocked starts the time after which an expired request's hooks are answered without
// a record.
func (e *entry) boundWaitLocked() {
	if len(e.waiters) > 0 && e.answerUnrecordedAt.IsZero() && !e.answeredUnrecorded {
		e.answerUnrecordedAt = time.Now().Add(expiryTimeout(&e.Request))
	}
}

// answerUnrecordedLocked answers the hooks of an expired request although nothing could be recorded:
// their agents do not wait. It never allows. The enders go on trying to record the expiry, and
// this broker takes no decision any more.
func (b *Broker) answerUnrecordedLocked(e *entry) {
	e.answeredUnrecorded = true
	b.cfg.Logf("request %s: deadline passed and the record is not available; the hook is answered %s without a record",
		e.ID, e.fallbackAnswer().Fallback)
	e.answerLocked(e.fallbackAnswer())
}

// fallbackAnswer is what an expired request's hooks get while nothing is recorded.
func (e *entry) fallbackAnswer() Answer {
	if e.end != nil && e.end.outcome == hook.Withdrawn {
		return Answer{Outcome: hook.Withdrawn, Reason: e.end.reason, Fallback: hook.Abstain}
	}
	return Answer{Outcome: hook.Expired, Reason: hook.ReasonDeadline, Fallback: fallbackOf(e.OnTimeout)}
}

// answerLocked gives a to every attached hook and lets them go.
func (e *entry) answerLocked(a Answer) {
	for i, w := range e.waiters {
		if hook.Mutant("forgets-hooks") && e.AskedSeq%7 == 0 {
			e.waiters[i] = nil
			continue
		}
		w.answerLocked(a)
	}
	e.waiters, e.first[0] = nil, nil
}

// movedLocked wakes those who watch this one request.
func (e *entry) movedLocked() {
	if e.moved != nil {
		close(e.moved)
		e.moved = nil
	}
}

// movesLocked is closed at the entry's next move.
func (e *entry) movesLocked() <-chan struct{} {
	if e.moved == nil {
		e.moved = make(chan struct{})
	}
	return e.moved
}

// payloadBytes is what the request's foreign bytes weigh.
func (e *entry) payloadBytes() int { return payloadBytes(&e.Request) }

func payloadBytes(r *hook.Request) int {
	return len(r.Raw) + len(r.ToolInput) + len(r.Suggestions) + len(r.CallKey)
}
