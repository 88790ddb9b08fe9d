package intake

import (
	"slices"
	"strings"

	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// SignedRules are the rules for all brokers that somebody signed. Where its members are nil, nobody did.
type SignedRules struct {
	// Now returns them and their signature, nil if nobody signed what is published.
	Now func() (text string, signature *hook.RulesSignature)
	// Of returns the signature if a rule in this file comes from them, else nil.
	Of func(file string) *hook.RulesSignature
	// Alone says why they, and no other rules, do not allow a request; nil if they do.
	Alone func(req *hook.Request, rules string) error
}

// now is Now.
func (s *SignedRules) now() (text string, signature *hook.RulesSignature) {
	if s.Now == nil {
		return "", nil
	}
	return s.Now()
}

// of is Of.
func (s *SignedRules) of(file string) *hook.RulesSignature {
	if s.Of == nil {
		return nil
	}
	return s.Of(file)
}

// refuse says why no rule may allow req, whose hook prints only what was signed; empty if the hook will find that signed rules
// allow it. Whether it does is for the hook: this only spares people an allow that would not be printed.
func (s *SignedRules) refuse(v *hook.Verdict, req *hook.Request) string {
	text, signature := s.now()
	switch {
	case signature == nil || text == "" || s.Alone == nil || req.RulesKeys == "":
		return "its hook takes a yes from a device that it trusts, and from no rule"
	case !slices.Contains(strings.Fields(req.RulesKeys), signed.Thumbprint(signature.PublicKey)):
		return "its hook does not trust the key that signed the rules"
	case v.Contain != "":
		return "it must run contained, which its hook takes from no rule"
	}
	if err := s.Alone(req, text); err != nil {
		return err.Error()
	}
	return ""
}
