package intake

import (
	"slices"
	"strings"

	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// SignedRules are the rules in force that somebody signed. Where its members are nil, nobody did.
type SignedRules struct {
	// Now returns them, without those whose signature counts no more.
	Now func() []hook.SignedRules
	// Alone says why a text of them, and no other rules, does not allow a request; nil if it does.
	Alone func(req *hook.Request, rules string) error
}

// now is Now.
func (s *SignedRules) now() []hook.SignedRules {
	if s.Now == nil {
		return nil
	}
	return s.Now()
}

// of returns the signature of the file with this name, nil of one that nobody signed.
func (s *SignedRules) of(name string) *hook.RulesSignature {
	for _, r := range s.now() {
		if r.Name == name {
			return &r.Signature
		}
	}
	return nil
}

// text is what a signature is of; empty if that is not in force any more.
func (s *SignedRules) text(by *hook.RulesSignature) string {
	for _, r := range s.now() {
		if by != nil && r.Signature == *by {
			return r.Text
		}
	}
	return ""
}

// refuse says why no rule may allow req, whose hook prints only what was signed; empty if the hook will find that rules allow it
// that were signed by this signature. Whether they do is for the hook: this only spares people an allow that would not be printed.
func (s *SignedRules) refuse(v *hook.Verdict, req *hook.Request) (why string, by *hook.RulesSignature) {
	why = "its hook takes a yes from a device that it trusts, and from no rule"
	list := s.now()
	if s.Alone == nil || req.RulesKeys == "" || len(list) == 0 {
		return why, nil
	}
	if v.Contain != "" {
		return "it must run contained, which its hook takes from no rule", nil
	}
	for _, r := range list {
		if !slices.Contains(strings.Fields(req.RulesKeys), signed.Thumbprint(r.Signature.PublicKey)) {
			why = "its hook does not trust the key that signed the rules"
			continue
		}
		err := s.Alone(req, r.Text)
		if err == nil {
			return "", &r.Signature
		}
		why = err.Error()
	}
	return why, nil
}
