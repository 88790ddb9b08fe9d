package broker

import (
	"cmp"

	"assent/internal/hook"
)

// StateOf is the state of a request in the words of the package's documentation.
func (b *Broker) StateOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateLocked(b.entries[id])
}

// OnTransition has taken called, under the broker's lock, with each change of a request's state from
// now on, as it is when the lock is released. Those that are there already come from "new". Nothing
// counts while the broker closes, nor any more once it has more than a few requests: each call looks
// at all of them.
func (b *Broker) OnTransition(taken func(id, from, to string)) {
	const few = 64
	states := map[*entry]string{}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.releasing = func() {
		if b.closing || len(b.entries) > few {
			b.mu.releasing = nil
			return
		}
		for id, e := range b.entries {
			from, to := cmp.Or(states[e], "new"), b.stateLocked(e)
			if from != to {
				states[e] = to
				taken(id, from, to)
			}
		}
		for e, from := range states {
			if b.entries[e.ID] != e {
				delete(states, e)
				taken(e.ID, from, "gone")
			}
		}
	}
}

func (b *Broker) stateLocked(e *entry) string {
	switch { // in the order of the table, from below
	case e == nil:
		return "gone"
	case !e.open() && e.sess == nil:
		return "forgotten"
	case !e.open():
		return "settled"
	case e.handingBack:
		return "handing back"
	case e.answeredUnrecorded:
		return "answered unrecorded"
	case e.asked() == 0:
		return "recording"
	case e.lapsed:
		return "lapsed"
	case e.awaitingRule:
		return "awaiting a rule"
	case e.end != nil && e.end.outcome == hook.Withdrawn:
		return "withdrawing"
	case e.end != nil:
		return "expiring"
	case e.resumed:
		return "resumed"
	case e.HeldElsewhere:
		return "held elsewhere"
	case e.Detached:
		return "detached"
	}
	return "waiting"
}
