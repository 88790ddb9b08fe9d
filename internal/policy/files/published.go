package files

import (
	"fmt"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
)

// Follows is which rules stand in the place of the person's file.
type Follows struct {
	// File is the person's own file, empty where there is none: then Published is the name of what is published
	// and in force; empty: nothing is.
	File      string
	Published string
	// Signed is who signed that, nil for nobody.
	Signed *hook.RulesSignature
	// Problem says why what is published now is not in force.
	Problem string
}

// Follows says which rules stand in the place of the person's file.
func (b *Book) Follows() Follows {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.follows
}

// published is what Config.Published says. Called with loading held.
func (b *Book) published() candidate {
	source, ok := b.cfg.Published()
	f := &b.shared
	f.layer = policy.User
	if ok {
		f.path = source.Name
		return candidate{file: f, data: source.Data, signed: source.Signed, fresh: true}
	}
	return candidate{file: f, fresh: true} // whatever was published before is not any more
}

// followed is what Follows says of the candidates. Called with loading held.
func (b *Book) followed(list []candidate, problems []hook.RuleProblem) (f Follows) {
	for i := range list {
		c := &list[i]
		switch {
		case c.layer != policy.User:
		case c.file != &b.shared:
			f.File, f.Signed = c.path, c.signed
		default:
			if c.data != nil {
				f.Published, f.Signed = c.name(), c.signed
			}
			for _, p := range problems {
				if p.File == c.path && f.Problem == "" {
					f.Problem = text(p)
				}
			}
		}
	}
	return f
}

// Check says what is wrong with rules that are to be published, as far as this broker can tell.
func (b *Book) Check(name, rules string) []hook.RuleProblem {
	leave, err := b.enter()
	if err != nil {
		return []hook.RuleProblem{{File: name, Message: err.Error()}}
	}
	defer leave()
	_, err = policy.Load([]policy.Source{{Name: name, Layer: policy.User, Data: []byte(rules)}}, b.options())
	if err == nil {
		return nil
	}
	var list []hook.RuleProblem
	for _, p := range policy.Problems(err) {
		list = append(list, problemOf(p))
	}
	if list == nil {
		list = []hook.RuleProblem{{File: name, Message: clip(err.Error())}}
	}
	return limited(list)
}

// Signed are the files of rules in force that somebody signed, as long as the signature counts. Whose key that is
// is for others to ask.
func (b *Book) Signed() []hook.SignedRules {
	b.mu.Lock()
	all := b.signed
	b.mu.Unlock()
	now := time.Now()
	var list []hook.SignedRules
	for i := range all {
		if !signed.RulesOver(&all[i].Signature, now) {
			list = append(list, all[i])
		}
	}
	return list
}

// signedIn are the sources that somebody signed.
func signedIn(sources []policy.Source) (list []hook.SignedRules) {
	for _, s := range sources {
		if s.Signed != nil {
			list = append(list, hook.SignedRules{Name: s.Name, Text: string(s.Data), Signature: *s.Signed})
		}
	}
	return list
}

// Alone says why these rules, and no others, do not allow a request, as its hook would find that evaluates them by itself;
// nil if they do.
func (b *Book) Alone(req *hook.Request, rules string) error {
	leave, err := b.enter()
	if err != nil {
		return err
	}
	defer leave()
	b.mu.Lock()
	set := b.alone.set
	if b.alone.text != rules {
		set = nil
	}
	b.mu.Unlock()
	if set == nil {
		if set, err = policy.LoadAlone([]byte(rules), b.options()); err != nil {
			return fmt.Errorf("its hook cannot evaluate the signed rules: %w", err)
		}
		b.mu.Lock()
		b.alone.text, b.alone.set = rules, set
		b.mu.Unlock()
	}
	call := b.call(req, req.ToolInput)
	// What the hook sees on its own machine may be hidden from here, and then it is for the hook to say.
	call.Elsewhere = false
	return set.Alone(call)
}
