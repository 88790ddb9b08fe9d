package broker

import "assent/internal/hook"

// StateOf is the state of a request in the words of the package's documentation.
func (b *Broker) StateOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateLocked(b.entries[id])
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
