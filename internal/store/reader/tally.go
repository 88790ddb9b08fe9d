package reader

// tally notices messages that left the stream before a consumer without a filter got to them:
// each delivery counts the consumer's sequence up by one, and the stream's by one more than
// there are such messages. It is the sequences of the last delivery.
type tally struct{ consumer, stream uint64 }

// next takes a delivery. missed is how many messages before it are gone;
// others says how many deliveries before it went to another reader. If some of those were
// repeats, missed is too low by as many. A consumer that counts anew tells nothing.
func (t *tally) next(d tally) (missed, others uint64) {
	if d.consumer > t.consumer {
		others = d.consumer - t.consumer - 1
		if passed := d.stream - t.stream - 1; d.stream > t.stream && passed > others {
			missed = passed - others
		}
	}
	t.consumer, t.stream = d.consumer, max(t.stream, d.stream)
	return missed, others
}
