package reader

import (
	"testing"

	"pgregory.net/rapid"
)

// A consumer as nats-server runs one, over a stream that loses its oldest messages: what the
// tally counts is what was lost.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var consumer, delivered, last, first uint64
		consumer = rapid.Uint64Range(0, 1000).Draw(t, "deliveries before")
		first = 1 + rapid.Uint64Range(0, 1000).Draw(t, "evicted before")
		delivered = first - 1
		last = delivered
		tl := tally{consumer, delivered}
		var lost, counted uint64
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				last += rapid.Uint64Range(1, 20).Draw(t, "published")
			case 1:
				first = min(last+1, first+rapid.Uint64Range(1, 20).Draw(t, "evicted"))
			case 2: // the same again: its acknowledgement was lost
				if delivered >= first && counted == lost && tl.stream == delivered {
					consumer++
					missed, others := tl.next(tally{consumer, delivered})
					if missed != 0 || others != 0 {
						t.Fatalf("a repeat counts as %d missed, %d others", missed, others)
					}
				}
			case 3:
				if max(delivered+1, first) > last {
					continue
				}
				if first > delivered+1 {
					lost += first - delivered - 1
				}
				delivered = max(delivered+1, first)
				consumer++
				if rapid.Bool().Draw(t, "to another reader") {
					continue
				}
				missed, _ := tl.next(tally{consumer, delivered})
				counted += missed
				if counted != lost {
					t.Fatalf("counted %d, lost %d", counted, lost)
				}
			}
		}
	})
}

func TestTallyOfAConsumerThatCountsAnew(t *testing.T) {
	tl := tally{consumer: 70, stream: 100}
	if missed, others := tl.next(tally{3, 200}); missed != 0 || others != 0 {
		t.Errorf("%d missed, %d others: that cannot be known", missed, others)
	}
	if missed, others := tl.next(tally{4, 203}); missed != 2 || others != 0 {
		t.Errorf("%d missed, %d others, want 2 and none", missed, others)
	}
}
