package signed

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"assent/internal/hook"
)

// MaxRules bounds a signed file of rules, in bytes.
const MaxRules = 256 << 10

// RulesText is what is signed for a file of rules: its digest, when, and until when. The names and versions of packs
// stand in the file, and the packs themselves in the program that reads it.
func RulesText(s *hook.RulesSignature) []byte {
	return []byte(strings.Join([]string{"assent rules v1", s.SHA256, s.SignedAt, s.Until}, "\n"))
}

// Errors of RulesFit.
var (
	errRulesSize   = errors.New("the rules are larger than 256 KiB")
	errRulesOther  = errors.New("the signature is of another text of rules: sign this one, with assent rules sign")
	errRulesTimes  = errors.New("the signature does not say when it was made, or until when it counts, in UTC as RFC 3339 has it")
	errRulesForged = errors.New("the signature does not fit its key: sign the rules again, with assent rules sign")
)

// RulesTimes are when rules were signed, and until when that counts: zero for always.
func RulesTimes(s *hook.RulesSignature) (at, until time.Time, err error) {
	if at, err = time.Parse(time.RFC3339, s.SignedAt); err != nil {
		return at, until, errRulesTimes
	}
	if s.Until == "" {
		return at, until, nil
	}
	if until, err = time.Parse(time.RFC3339, s.Until); err != nil || !until.After(at) {
		return at, until, errRulesTimes
	}
	return at, until, nil
}

// RulesOver reports whether a signature of rules counts no more at a time.
func RulesOver(s *hook.RulesSignature, at time.Time) bool {
	_, until, err := RulesTimes(s)
	return err != nil || !until.IsZero() && !at.Before(until)
}

// MaxRulesSignature bounds the file of a signature of rules, in bytes.
const MaxRulesSignature = 4 << 10

var errRulesFile = errors.New("it holds no signature of rules: make one, with assent rules sign")

// ReadRules reads the file of a signature, FILE.sig beside FILE, as assent rules sign writes it. An error says why it is none
// of this text. Whose key that is it does not say, nor whether it counts now.
func ReadRules(file []byte, text string) (*hook.RulesSignature, error) {
	var s hook.RulesSignature
	if len(file) > MaxRulesSignature || json.Unmarshal(file, &s) != nil {
		return nil, errRulesFile
	}
	if err := RulesFit(text, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// VerifyRules checks that a signature fits its key. Whose key that is, and what text it is about, it does not say.
func VerifyRules(s *hook.RulesSignature) bool {
	pub, err := Key(s.PublicKey)
	return err == nil && len(s.SHA256) == 64 && Verify(pub, RulesText(s), s.Signature)
}

// RulesFit says why a signature is none of this text; nil if it is. Whose key that is it does not say, nor whether it counts now.
func RulesFit(text string, s *hook.RulesSignature) error {
	switch {
	case len(text) > MaxRules:
		return errRulesSize
	case text == "" || Digest([]byte(text)) != s.SHA256:
		return errRulesOther
	}
	if _, _, err := RulesTimes(s); err != nil {
		return err
	}
	if !VerifyRules(s) {
		return errRulesForged
	}
	return nil
}
