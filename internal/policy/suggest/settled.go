package suggest

import (
	"context"
	"fmt"

	"assent/internal/hook"
)

// Settled is a request that is over, for Smallest.
type Settled struct {
	*hook.Request
	Allowed bool // by a person, as it stood
	Refused bool // denied, or allowed with another input: no rule may allow it
}

// Settle is what a request that is over says about rules: how it ended, who decided (nil: nobody), and
// whether it was allowed with another input that a person gave it. False: it is no call of a tool.
func Settle(req *hook.Request, outcome hook.Outcome, by *hook.Approver, edited bool) (Settled, bool) {
	person := by != nil && by.Kind != hook.KindRule
	return Settled{
		Request: req,
		Allowed: outcome == hook.Allowed && !edited && person,
		Refused: outcome == hook.Denied || edited,
	}, req.Event == ""
}

// Past calls visit with what is over, the newest first, until it returns false.
type Past func(ctx context.Context, visit func(Settled) bool) error

// maxPastBytes bounds what newest keeps of inputs.
const maxPastBytes = 32 << 20

// newest returns as much of the past as Smallest looks at.
func (p Past) newest(ctx context.Context) ([]Settled, error) {
	var all []Settled
	size := 0
	err := p(ctx, func(s Settled) bool {
		size += len(s.ToolInput)
		if size > maxPastBytes {
			return false
		}
		// Of the rest, which may be much larger, nothing is needed.
		r := *s.Request
		r.Raw, r.Suggestions = nil, nil
		s.Request = &r
		all = append(all, s)
		return len(all) < maxSettled
	})
	if err != nil {
		return nil, fmt.Errorf("look at past requests: %w", err)
	}
	return all, nil
}
