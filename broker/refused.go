package broker

import (
	"context"
	"fmt"

	"assent/internal/hook"
)

// Refused says that the hook of a request did not print the allow that it was given, and why, in at most
// hook.MaxFailure bytes: the agent's own prompt decides. reattachSHA256 is the hash of the hook's secret, which is how
// we know that the hook says so. It is recorded in the background, once, and undoes nothing.
//
// It fails with ErrNotFound, and with ErrStranger for who is not that hook, or where nothing was allowed.
func (b *Broker) Refused(ctx context.Context, id, reattachSHA256, why string) error {
	b.mu.Lock()
	e := b.entries[id]
	if e == nil || e.AskedSeq == 0 {
		b.mu.Unlock()
		f, err := b.read(ctx, id)
		if err == nil {
			err = f.checkRefusal(reattachSHA256)
		}
		if err == nil {
			b.followUps.add(followUp{id: id, step: hook.StepRefused, failure: why})
		}
		return err
	}
	err := e.checkRefusal(reattachSHA256)
	due := err == nil && !e.refused && !b.closing
	if due {
		e.refused = true
		e.followUpsDue++
	}
	b.mu.Unlock()
	if due {
		b.followUps.add(followUp{id: id, entry: e, step: hook.StepRefused, failure: why})
	}
	return err
}

// checkRefusal says why the request's hook cannot have refused its answer; nil if it can.
func (f *folded) checkRefusal(reattachSHA256 string) error {
	if f.ReattachSHA256 == "" || !sameSecret(f.ReattachSHA256, reattachSHA256) || f.State != Ended || f.Outcome != hook.Allowed {
		return fmt.Errorf("request %s: %w", f.ID, ErrStranger)
	}
	return nil
}
