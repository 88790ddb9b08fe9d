package server

import (
	"context"
	"testing"
	"testing/synctest"
)

// A waker hears of each context that takes the place of another, and of none that was replaced.
func TestWakerFollowsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		wake := func() { woken++ }
		old, endOld := context.WithCancel(t.Context())
		same, endSame := context.WithCancel(t.Context())
		next, endNext := context.WithCancel(t.Context())
		var w waker
		w.on(wake, old, same)
		w.on(wake, next, same)
		for i, step := range []struct {
			end  func()
			want int
		}{{endOld, 0}, {endNext, 1}, {endSame, 2}} {
			step.end()
			synctest.Wait()
			if woken != step.want {
				t.Errorf("after step %d woken %d times, want %d", i, woken, step.want)
			}
		}
		late, endLate := context.WithCancel(t.Context())
		w.on(wake, late, same)
		w.stop()
		endLate()
		synctest.Wait()
		if woken != 2 {
			t.Errorf("woken %d times, the last after stop", woken)
		}
	})
}
