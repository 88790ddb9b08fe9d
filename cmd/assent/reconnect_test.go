package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A connection is made again while the broker is away for up to a minute at a time, and lost is told once each time.
func TestReconnecting(t *testing.T) {
	t.Setenv("ASSENT_TOKEN", "")
	away, refused := errors.New("away"), &exitError{exitRefused, errors.New("refused")}
	synctest.Test(t, func(t *testing.T) {
		a := &app{url: "http://127.0.0.1:1", credential: "one"}
		c, err := a.broker()
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		lost, calls := 0, 0
		err = a.reconnecting(t.Context(), c, func(c *client, connected func()) error {
			switch calls++; {
			case calls == 100, calls == 200: // there for a moment, each time within the minute
				connected()
			case calls == 300: // another broker, with another credential
				a.credential = "two"
				return refused
			case calls > 300 && c.token == "two":
				return refused
			}
			return away
		}, func(error) { lost++ })
		if !errors.Is(err, refused) || calls != 301 || lost != 3 {
			t.Errorf("%v after %d calls, lost %d times", err, calls, lost)
		}
		if took := time.Since(begin); took != 300*300*time.Millisecond {
			t.Errorf("it took %v", took)
		}

		begin = time.Now()
		err = a.reconnecting(t.Context(), c, func(*client, func()) error { return away }, func(error) {})
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != exitNoBroker || !errors.Is(err, away) || time.Since(begin) < time.Minute || time.Since(begin) > time.Minute+time.Second {
			t.Errorf("of a broker that stays away: %v after %v", err, time.Since(begin))
		}

		ctx, cancel := context.WithCancel(t.Context())
		err = a.reconnecting(ctx, c, func(*client, func()) error { return away }, func(error) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("called off: %v", err)
		}
	})
}
