package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// group runs the parts of the daemon; the first that fails ends them all.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	errs   []error // guarded by mu
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

func (g *group) run(part string, f func(context.Context) error) {
	g.wg.Go(func() {
		err := f(g.ctx)
		if g.ctx.Err() == nil && err != nil && !errors.Is(err, http.ErrServerClosed) {
			g.mu.Lock()
			g.errs = append(g.errs, fmt.Errorf("%s: %w", part, err))
			g.mu.Unlock()
		}
		g.cancel()
	})
}

func (g *group) stop() { g.cancel() }

func (g *group) wait() error {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}
