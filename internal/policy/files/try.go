package files

import (
	"errors"
	"fmt"

	"assent/internal/hook"
	"assent/internal/policy"
)

// Trial is the rules in force for one repository, with further ones among them that are not.
type Trial struct {
	b   *Book
	set *policy.Set
}

// Try returns the rules for requests from where req is from, and more. An error says why no rule
// may allow anything there.
func (b *Book) Try(req *hook.Request, more ...policy.Source) (*Trial, error) {
	leave, err := b.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if _, doubt := b.setFor(req); doubt != "" {
		return nil, errors.New(doubt)
	}
	b.mu.Lock()
	sources := b.sources[:len(b.sources):len(b.sources)]
	b.mu.Unlock()
	for _, root := range []string{req.Repo.Root, b.around(req)} {
		if root == "" || !b.here(req) {
			continue
		}
		if own, there, err := ReadRepository(root); err != nil {
			return nil, fmt.Errorf("read the repository's rules: %w", err)
		} else if there {
			sources = append(sources, own)
		}
	}
	o := b.options()
	o.SkipTests = true
	set, err := policy.Load(append(sources, more...), o)
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	return &Trial{b, set}, nil
}

// outstanding is the rules in force with those that hold for this request only, nil without any.
func (b *Book) outstanding(req *hook.Request) *Trial {
	if b.cfg.Outstanding == nil {
		return nil
	}
	more := b.cfg.Outstanding(req.ID)
	if more == nil {
		return nil
	}
	t, err := b.Try(req, more...)
	if err != nil {
		b.cfg.Logf("request %s: what it was granted cannot be used: %v", req.ID, err)
		return nil
	}
	return t
}

// Explain says what the rules make of a request, part by part, and why.
func (t *Trial) Explain(req *hook.Request) (x policy.Explanation) {
	leave, err := t.b.enter()
	if err != nil {
		return unanswered("busy", err.Error())
	}
	defer leave()
	defer func() {
		if recover() != nil {
			x = unanswered("failed", "The rules failed on this request.")
		}
	}()
	return t.set.Explain(t.b.call(req, req.ToolInput))
}

// unanswered is what is said of a request that the rules did not get to answer.
func unanswered(code, why string) policy.Explanation {
	return policy.Explanation{Verdict: hook.Verdict{Action: hook.ActionAsk}, Refused: []policy.Refusal{{Code: code, Why: why}}}
}

// Eval says what the rules make of a request, with the time when it came.
func (t *Trial) Eval(req *hook.Request) (v hook.Verdict) {
	leave, err := t.b.enter()
	if err != nil {
		return hook.Verdict{Action: hook.ActionAsk}
	}
	defer leave()
	defer func() {
		if recover() != nil {
			v = hook.Verdict{Action: hook.ActionAsk}
		}
	}()
	c := t.b.call(req, req.ToolInput)
	c.Time = req.CreatedAt
	return t.set.Eval(c)
}

// Call is the request as the rules see it.
func (b *Book) Call(req *hook.Request) policy.Call { return b.call(req, req.ToolInput) }
