// Package retry tries again what failed, ever more seldom, and says each trouble once.
package retry

import (
	"context"
	"time"
)

// Backoff is how long to wait before the next try, doubled at each failure, and whether its reason is news. It is for one
// goroutine.
type Backoff struct {
	First, Most time.Duration // the first pause and the longest

	next time.Duration
	said string
}

// Failed returns how long to wait after a failure, and whether its text is another than that of the last one.
func (b *Backoff) Failed(err error) (pause time.Duration, news bool) {
	pause = max(b.First, b.next)
	b.next = min(2*pause, b.Most)
	text := err.Error()
	news = text != b.said
	b.said = text
	return pause, news
}

// Succeeded has the next failure be the first again.
func (b *Backoff) Succeeded() { b.next, b.said = 0, "" }

// Wait waits after a failure. It reports false if ctx was done meanwhile.
func Wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// First and Longest are the pauses of Loop.
const (
	First   = time.Second
	Longest = time.Minute
)

// Loop calls work until ctx is done: at once, at each wake, and after the time that work returned, where that is not 0. What
// failed it tries again after a second, and ever more seldom, but at least once a minute. failed is told of each reason once.
func Loop(ctx context.Context, wake <-chan struct{}, work func(context.Context) (wait time.Duration, err error), failed func(error)) {
	b := Backoff{First: First, Most: Longest}
	for {
		wait, err := work(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			var news bool
			if wait, news = b.Failed(err); news {
				failed(err)
			}
		} else {
			b.Succeeded()
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-wake:
		}
	}
}
