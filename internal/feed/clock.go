package feed

import "time"

// Times come from the hosts the hooks ran on, and may be wrong.
const (
	// lateAfter is how much older than its predecessors an event from a spool file may be:
	// hooks that ran at once are published in any order.
	lateAfter = 2000
	// farBack and farAhead, in milliseconds: no honest clock goes back so far, and no session
	// rests so long.
	farBack  = 60 * 60 * 1000
	farAhead = 90 * 24 * 60 * 60 * 1000
	// before and after which no hook ran.
	firstTime = 1577836800000 // 2020
	lastTime  = 7258118400000 // 2200
)

// clock is what is known of the session's time, in milliseconds since 1970.
type clock struct {
	Last    int64 `json:"last,omitempty"`    // the time of the newest event
	Suspect int64 `json:"suspect,omitempty"` // a time that was far off; a second near it is believed
}

// read says what to show as the time of an event, what to reckon with, and what is odd. drives
// is false for a late event: the session has gone on since, and it changes no state.
func (c *clock) read(t time.Time, spooled bool) (shown, reckoned int64, drives bool, mark Mark) {
	if t.IsZero() {
		return c.Last, c.Last, true, MarkClock
	}
	ms := t.UnixMilli()
	plausible := firstTime <= ms && ms < lastTime
	if spooled && plausible && ms < c.Last-lateAfter {
		return ms, ms, false, MarkLate
	}
	if plausible && (c.Last == 0 || c.Last-farBack <= ms && ms <= c.Last+farAhead) {
		c.Suspect = 0
		c.Last = max(c.Last, ms)
		return ms, ms, true, ""
	}
	if plausible && c.Suspect != 0 && c.Suspect-farBack <= ms && ms <= c.Suspect+farBack {
		c.Last, c.Suspect = ms, 0 // the clock was set
		return ms, ms, true, MarkClock
	}
	if plausible {
		c.Suspect = ms
	}
	return ms, c.Last, true, MarkClock
}
