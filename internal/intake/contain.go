package intake

import (
	"context"

	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/text/show"
)

// Contain is what an Intake needs to answer that a command runs contained. The zero value: none does.
type Contain struct {
	// Rewrite returns the input by which the command of a request runs contained, or why it cannot: a
	// sentence for a person. v says which programs the command runs, and what they may have besides the
	// project. It must change nothing.
	Rewrite func(req *hook.Request, v *hook.Verdict) (input hook.JSON, why string)
	// First notes that a request has a session run a command contained, and reports whether the session
	// did that for no other request before.
	First func(ctx context.Context, session, command, requestID string) (bool, error)
}

// rewrite puts into an allow that holds only contained what then runs. Where that cannot be had, it is
// an ask.
func (in *Intake) rewrite(req *hook.Request, v hook.Verdict) hook.Verdict {
	if v.Action != hook.ActionAllow || v.Contain == "" {
		return v
	}
	c := &in.cfg.Contain
	if v.Contain != hook.ContainRead || c.Rewrite == nil || c.First == nil {
		return askFor(v, "it could run contained, but not here")
	}
	input, why := c.Rewrite(req, &v)
	if why != "" || len(input) == 0 {
		return askFor(v, why)
	}
	v.UpdatedInput = input
	return v
}

// contain is the last step of an allow that holds only contained: a session has it once for each command,
// for what failed contained would fail again.
func (in *Intake) contain(req *hook.Request, v hook.Verdict) hook.Verdict {
	if v.Action != hook.ActionAllow || v.Contain == "" {
		return v
	}
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	command, ok := contained.TextOf(req.ToolInput)
	if !ok {
		return askFor(v, "its command cannot be read")
	}
	first, err := in.cfg.Contain.First(ctx, req.SessionID, command, req.ID)
	switch {
	case err != nil:
		in.cfg.Log.Warnw("it is not known whether a command ran contained before, so a person is asked", "id", req.ID, "error", show.Logged(err.Error()))
		return askFor(v, "it could run contained, but nobody knows whether it has already")
	case !first:
		return askFor(v, "it was allowed contained already, and is asked for again")
	}
	return v
}

// askFor is an allow that is not given.
func askFor(v hook.Verdict, why string) hook.Verdict {
	return hook.Verdict{Action: hook.ActionAsk, Reason: why, Shadow: v.Shadow, Timeout: v.Timeout, OnTimeout: v.OnTimeout}
}
