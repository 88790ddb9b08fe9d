package rabbit

import (
	"strconv"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := backoff{shortest: 200 * time.Millisecond, longest: 10 * time.Second}
	for round := range 2 {
		for i, whole := range []time.Duration{200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
			whole *= time.Millisecond
			if d := b.next(); d < whole/2 || d > whole {
				t.Errorf("round %d: pause %d is %v, want from %v to %v", round, i, d, whole/2, whole)
			}
		}
		b.reset()
	}
}

func TestIDRing(t *testing.T) {
	r := newIDRing(3)
	for i := range 10 {
		id := strconv.Itoa(i)
		if !r.add(id) || r.add(id) {
			t.Errorf("%s is not told apart", id)
		}
	}
	if r.add("7") || !r.add("6") {
		t.Error("it remembers not the last three")
	}
	if len(r.ids) != 3 {
		t.Errorf("it holds %d", len(r.ids))
	}
}
