package intake

import (
	"context"
	"errors"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/text/show"
)

const (
	// lookupTimeout bounds a look at the record that an answer waits for.
	lookupTimeout = 2 * time.Second
	// maxRedeem is how often the rules are asked again because a grant was used up in between.
	maxRedeem = 5
)

var errNoGrants = errors.New("this broker keeps no grants")

// redeemGrants checks whether a verdict that rests on what approvers saved still may, and counts
// that use, in one step. If a grant is over by now, the rules are asked again, which know of it. It
// returns an ask if nothing is certain.
func (in *Intake) redeemGrants(req *hook.Request, v hook.Verdict) hook.Verdict {
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	for range maxRedeem {
		if v.Action != hook.ActionAllow || len(v.Saved) == 0 {
			return v
		}
		// One that comes back to an answer needs nothing any more.
		if had, err := in.cfg.Broker.Get(ctx, req.ID); err == nil && had.State == broker.Ended {
			return hook.Verdict{Action: hook.ActionAsk, Reason: "it was answered before"}
		}
		ok, err := in.cfg.Redeem(ctx, req.ID, v.Saved)
		if err != nil {
			in.cfg.Log.Warnw("a saved rule could not be looked up, so a person is asked", "id", req.ID, "error", show.Logged(err.Error()))
			break
		}
		if ok {
			return v
		}
		v = in.verdict(req)
	}
	return hook.Verdict{Action: hook.ActionAsk, Reason: "it is not certain that what was saved for it still holds", Timeout: v.Timeout, OnTimeout: v.OnTimeout}
}
