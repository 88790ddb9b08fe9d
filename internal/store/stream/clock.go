package stream

import (
	"sync"
	"time"
)

// clock follows the time of a stream on another machine: that of its leader, which stamps what it stores.
// It is read from answers that say when they were given, and runs on this machine's monotonic clock in
// between, so that nobody who sets a clock here moves it.
type clock struct {
	mu    sync.Mutex
	there time.Time // guarded by mu; the stream's time when this machine's was here
	here  time.Time // guarded by mu
}

// clockEvery is how often a clock is read anew: another leader may have another.
const clockEvery = 30 * time.Second

// read takes an answer that was given at there, and asked for and received at these times here.
func (c *clock) read(there, asked, received time.Time) {
	if there.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.here = there, asked.Add(received.Sub(asked)/2)
}

// stored is when a message was stored, by this machine's clock; zero if that cannot be said. No message was
// stored later than now: one that says so is of a leader with a later clock.
func (c *clock) stored(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here.IsZero() || at.IsZero() {
		return time.Time{}
	}
	now := time.Now()
	age := c.there.Add(now.Sub(c.here)).Sub(at)
	if age < 0 {
		c.there, c.here, age = at, now, 0
	}
	return now.Add(-age)
}

// now is the stream's time; this machine's while that is not known.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here.IsZero() {
		return time.Now()
	}
	return c.there.Add(time.Since(c.here))
}
