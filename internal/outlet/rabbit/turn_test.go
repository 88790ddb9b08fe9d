package rabbit_test

import (
	"sync/atomic"
	"testing"

	"assent/internal/outlet/rabbit"
)

// Of two brokers on one stream the one whose turn it is publishes, and who takes over goes on where the other
// one ended. Nothing is lost, the order holds, and what comes twice has the same id.
func TestOneOfTwoPublishes(t *testing.T) {
	url := shareURL(t)
	s := newEvents()
	bind(t, url, "turns")
	var turn atomic.Int32
	var both [2]*publisher
	for i := range both {
		both[i] = publishWith(t, rabbit.Config{URL: url, Mine: func() bool { return int(turn.Load()) == i }}, s)
	}
	got := reader(t, url, "turns")
	for round := range 4 {
		for n := range 5 {
			s.write("s", 10*round+n, "x")
		}
		inOrder(t, got.take(5), "s", 10*round)
		turn.Store(-1) // the one is killed, as far as the other can tell
		for n := range 5 {
			s.write("s", 10*round+5+n, "x")
		}
		turn.Store(int32((round + 1) % 2))
		inOrder(t, got.take(5), "s", 10*round+5)
	}
	if one, other := both[0].metric("assent_amqp_published_total"), both[1].metric("assent_amqp_published_total"); one == 0 || other == 0 || one+other < 40 {
		t.Errorf("the one published %v, the other %v", one, other)
	}
}
