package stream

import (
	"testing"
	"testing/synctest"
	"time"
)

// A message's age is by the stream's own time, wherever that stands, and grows by this machine's
// monotonic clock.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, apart := range []time.Duration{0, time.Hour, -time.Hour} {
			var c clock
			if !c.stored(time.Now()).IsZero() {
				t.Error("a clock that was never read says something")
			}
			c.read(time.Now().Add(apart), time.Now().Add(-time.Second), time.Now().Add(time.Second))
			at := time.Now().Add(apart).Add(-5 * time.Second)
			time.Sleep(time.Minute)
			if age := time.Since(c.stored(at)); age != 65*time.Second {
				t.Errorf("%v apart: %v old, want 65s", apart, age)
			}
			// Another leader with a later clock: its messages are new, and those after them as old as they are.
			late := time.Now().Add(apart).Add(3 * time.Minute)
			if age := time.Since(c.stored(late)); age != 0 {
				t.Errorf("a message of a later clock is %v old", age)
			}
			time.Sleep(time.Second)
			if age := time.Since(c.stored(late)); age != time.Second {
				t.Errorf("a second later it is %v old", age)
			}
		}
	})
}

// now is the stream's time, also after this machine's clock was found to be another.
func TestClockNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		if got := c.now(); !got.Equal(time.Now()) {
			t.Errorf("of a stream that was not heard of: %v", got)
		}
		there := time.Now().Add(-10 * time.Minute)
		c.read(there, time.Now(), time.Now())
		time.Sleep(time.Minute)
		if got := c.now(); !got.Equal(there.Add(time.Minute)) {
			t.Errorf("%v", got)
		}
	})
}
