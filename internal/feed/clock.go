package feed

import "time"

// Times come from the hosts the hooks ran on, and may be wrong.
const (
	// lateAfter is how much older than its predecessors an event from a spool file may be that
	// came with others from there: hooks that ran at once wrote in any order.
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
	Live    int64 `json:"live,omitempty"`    // of the newest that did not wait in a spool file
	Suspect int64 `json:"suspect,omitempty"` // a time that was far off; a second near it is believed
}

// read says what to show as the time of an event, what to reckon with, and what is odd. drives
// is false for an event from a spool file that may be older than what came before it: the
// session has gone on since, and it changes no state.
func (c *clock) read(t time.Time, spooled bool) (shown, reckoned int64, drives bool, mark Mark) {
	if t.IsZero() {
		return c.Last, c.Last, !spooled, MarkClock
	}
	ms := t.UnixMilli()
	if ms < firstTime || ms >= lastTime {
		return ms, c.Last, !spooled, MarkClock
	}
	if spooled && (ms < c.Live || ms < c.Last-lateAfter) {
		return ms, ms, false, MarkLate
	}
	switch {
	case c.Last == 0, c.Last-farBack <= ms && ms <= c.Last+farAhead:
		c.Last, c.Suspect = max(c.Last, ms), 0
	case c.Suspect != 0 && c.Suspect-farBack <= ms && ms <= c.Suspect+farBack:
		c.Last, c.Live, c.Suspect = ms, 0, 0 // the clock was set
		mark = MarkClock
	default:
		c.Suspect = ms
		return ms, c.Last, !spooled, MarkClock
	}
	if !spooled {
		c.Live = max(c.Live, ms)
	}
	return ms, ms, true, mark
}
