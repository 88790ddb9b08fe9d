package rabbit

import (
	"context"
	"errors"
	"time"
)

// Of brokers that share the cursor one publishes, see Config.Mine. It reads the cursor when its turn begins;
// where it saves it, the store refuses another one that does not know yet that its turn is over.

const (
	// turnEvery is how often is looked whose turn it is.
	turnEvery = 250 * time.Millisecond
	// cursorEvery is how often a broker that waits looks how far the other one is, for whoever watches it.
	cursorEvery = 5 * time.Second
)

var errNotMine = errors.New("another broker publishes")

// mine reports whether this broker is the one that publishes.
func (p *Publisher) mine() bool { return p.cfg.Mine == nil || p.cfg.Mine() }

// awaitTurn returns when this broker is the one that publishes, and knows from where on.
func (p *Publisher) awaitTurn(ctx context.Context) error {
	if p.cfg.Mine == nil {
		return nil
	}
	for looked := (time.Time{}); ; {
		mine := p.cfg.Mine()
		if mine && p.held {
			return nil
		}
		p.held = false
		if now := time.Now(); mine || now.Sub(looked) >= cursorEvery {
			looked = now
			if at, ok, err := p.cfg.Load(ctx); err == nil && ok { // else it is tried again
				p.at, p.saved = at, at
				p.cursor.Store(at.Seq)
				p.held = mine
			}
		}
		if p.held {
			continue // if it is still ours
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(turnEvery):
		}
	}
}

// turn is done when this broker is not the one that publishes any more.
func (p *Publisher) turn(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if p.cfg.Mine == nil {
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(turnEvery)
		defer tick.Stop()
		for p.cfg.Mine() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}
