package intake

import (
	"testing"
	"time"
)

// A hook is answered before its own time is up, but not much, and what it waited can be told from
// the deadline.
func TestDeadline(t *testing.T) {
	at := time.Now()
	for _, timeout := range []time.Duration{0, time.Millisecond, time.Second, 10 * time.Second, 20 * time.Second, 590 * time.Second, 366 * 24 * time.Hour} {
		ahead := deadline(at, timeout).Sub(at)
		if margin := timeout - ahead; margin < 0 || margin > maxMargin || margin > timeout/10 {
			t.Errorf("%v is answered %v before", timeout, margin)
		}
		if got := timeoutOf(ahead); (got - timeout).Abs() > 2 {
			t.Errorf("%v is told as %v", timeout, got)
		}
	}
}
