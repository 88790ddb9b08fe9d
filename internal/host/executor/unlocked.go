package executor

import (
	"context"
	"slices"
	"time"

	"assent/internal/hook"
)

// unlocked does what may take long, such as reading a file, without the lock. Only the goroutine of Run, and Open, calls
// it: no other one makes, starts or removes a session, or closes its files.
func (h *Host) unlocked(f func()) {
	h.mu.Unlock()
	defer h.mu.Lock()
	f()
}

// meanwhile does what may take minutes, as git does where an agent makes it wait, and gives up the lock for that. What
// others of the sessions do is followed meanwhile, and all can be cancelled; nothing is started or made.
func (h *Host) meanwhile(ctx context.Context, session string, do func()) {
	done := make(chan struct{})
	h.beside.Go(func() {
		defer close(done)
		do()
	})
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for over := false; !over; {
		h.unlocked(func() {
			select {
			case <-done:
				over = true
			case <-tick.C:
			}
		})
		if over {
			return
		}
		for id, s := range h.sessions {
			if id == session {
				continue
			}
			s.poll(time.Now())
			if s.broken == nil {
				s.advanceWordless(time.Now())
			}
		}
		for _, o := range slices.Clone(h.offers) {
			if o.Kind == hook.MessageCancel && (o.Session != session || h.sessions[session] != nil) {
				h.consider(ctx, o)
			}
		}
	}
}
