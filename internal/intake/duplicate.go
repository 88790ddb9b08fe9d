package intake

import (
	"assent/internal/hook"
)

// attach lets req wait for the answer to another request, if the agent asks about its call already
// in the other way, and rules were applied to that one. Without one it returns nil, and nothing has
// happened.
func (in *Intake) attach(req *hook.Request) (*Pending, error) {
	if !in.mayAttach(req) {
		return nil, nil
	}
	w, err := in.cfg.Broker.Attach(*req)
	if w == nil || err != nil {
		return nil, err
	}
	return in.wait(req, w)
}

// mayAttach reports whether req may have the answer to another request. A hook tells more of its
// call than a permission prompt tool does, its mode for one; so what the rules deny of it they may
// not have seen in the tool's.
func (in *Intake) mayAttach(req *hook.Request) bool {
	return in.cfg.Broker.HasDuplicate(req) &&
		(req.Source != "" || in.cfg.Rules == nil || in.cfg.Rules(req, req.ToolInput).Action != hook.ActionDeny)
}
