package broker

import (
	"time"

	"assent/internal/hook"
)

// The clocks of brokers that share a record may be minutes apart, and none is compared with another's. A
// request's times are by the clock of the broker that recorded it. What of it holds everywhere is how long it
// waits, and its age, which the log knows by its own time: so every other broker counts from when the log
// took it. From there on a deadline runs on the monotonic clock, which nobody sets.

// clockWorry is how far clocks may be apart before the operator hears of it.
const clockWorry = 10 * time.Second

// clockWrong reports whether a clock that is so far behind the log's must be wrong. In a crowd a request stands in line
// before the log takes it, by anybody's clock; none is taken before it was made.
func clockWrong(apart time.Duration) bool {
	return apart < -clockWorry || apart > askTimeout+clockWorry
}

// byOurClock moves the times of the request of an asked record to this machine's clock. Where the log does
// not say when it took the record, no other broker shares it. What is within clockSlack of each other is
// the same: recording takes its time, too.
func byOurClock(rec *hook.Record) (created, deadline time.Time, apart time.Duration) {
	r := rec.Request
	if rec.Stored.IsZero() {
		return r.CreatedAt, r.Deadline, 0
	}
	now := time.Now()
	created, span := r.CreatedAt, r.Deadline.Sub(r.CreatedAt)
	if apart = rec.Stored.Sub(created); apart.Abs() < clockSlack {
		apart = 0
	}
	if apart != 0 {
		created = rec.Stored
	}
	deadline = created.Add(span)
	return created, now.Add(deadline.Sub(now)), apart
}
