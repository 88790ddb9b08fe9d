package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// reconnecting calls listen, which says when it is connected, again and again, while the broker is away for up to a minute at
// a time. lost is told when the connection is lost. It ends with ctx, and when it is refused for good: unless another broker
// has taken over with other credentials.
func (a *app) reconnecting(ctx context.Context, c *client, listen func(c *client, connected func()) error, lost func(error)) error {
	var away time.Time
	for {
		err := listen(c, func() { away = time.Time{} })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e := (*exitError)(nil); errors.As(err, &e) {
			if b, berr := a.broker(); berr == nil && b.info == c.info && b.token == c.token {
				return err
			}
		}
		if away.IsZero() {
			away = time.Now()
			lost(err)
		}
		if time.Since(away) > time.Minute {
			return noBroker(fmt.Errorf("the broker stayed away (%w)", err))
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if b, err := a.broker(); err == nil { // a restarted broker has a new port and token
			c = b
		}
	}
}
