package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	b := Backoff{First: time.Second, Most: 5 * time.Second}
	away, full := errors.New("away"), errors.New("full")
	for i, c := range []struct {
		err   error // nil: it succeeded
		pause time.Duration
		news  bool
	}{
		{away, time.Second, true}, {away, 2 * time.Second, false}, {full, 4 * time.Second, true}, {away, 5 * time.Second, true}, {away, 5 * time.Second, false},
		{nil, 0, false}, {away, time.Second, true}, {away, 2 * time.Second, false},
	} {
		if c.err == nil {
			b.Succeeded()
			continue
		}
		if pause, news := b.Failed(c.err); pause != c.pause || news != c.news {
			t.Errorf("%d: %s, %v, want %s, %v", i, pause, news, c.pause, c.news)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if !Wait(ctx, 2*time.Second) || Wait(ctx, 2*time.Second) {
			t.Error("it waited too long, or not long enough")
		}
	})
}

// TestLoop: when work is called, and what is said of its failures.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Second)
		defer cancel()
		away := errors.New("away")
		results := []struct {
			wait time.Duration
			err  error
		}{{0, away}, {0, away}, {time.Hour, away}, {10 * time.Second, nil}, {0, nil}, {0, away}, {0, nil}}
		wake := make(chan struct{})
		began := time.Now()
		var at []int
		said := 0
		go func() {
			time.Sleep(100 * time.Second)
			wake <- struct{}{} // the sixth
			time.Sleep(100 * time.Second)
			wake <- struct{}{} // it waits for nothing, and is called all the same
		}()
		Loop(ctx, wake, func(context.Context) (time.Duration, error) {
			at = append(at, int(time.Since(began).Seconds()))
			r := results[min(len(at), len(results))-1]
			return r.wait, r.err
		}, func(error) { said++ })
		if want := []int{0, 1, 3, 7, 17, 100, 101, 200}; !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v", at, want)
		}
		if said != 2 {
			t.Errorf("said %d times, want twice: the first of each row", said)
		}
		if ctx.Err() == nil {
			t.Error("it ended before its context")
		}
	})
}
