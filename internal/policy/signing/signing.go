// Package signing signs files of rules, and reads the signatures beside them.
package signing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/host/regular"
	"assent/internal/policy"
	"assent/internal/text/show"
)

// Beside is where the signature of a file of rules stands unless somebody says otherwise.
func Beside(file string) string { return file + ".sig" }

// Sign signs a text of rules, if a hook can evaluate it. The signature counts from now on for valid, and
// always if that is 0.
func Sign(text []byte, k *devicekey.Key, now time.Time, valid time.Duration) (*hook.RulesSignature, error) {
	if err := Signable(text); err != nil {
		return nil, err
	}
	now = now.UTC()
	s := &hook.RulesSignature{SHA256: signed.Digest(text), SignedAt: now.Format(time.RFC3339Nano), PublicKey: k.JWK()}
	if valid > 0 {
		s.Until = now.Add(valid).Format(time.RFC3339)
	}
	var err error
	if s.Signature, err = k.Sign(signed.RulesText(s)); err != nil {
		return nil, err
	}
	return s, signed.RulesFit(string(text), s)
}

// Signable says why no signature would make hooks evaluate a text of rules; nil if one would.
func Signable(text []byte) error {
	if len(text) > signed.MaxRules {
		return fmt.Errorf("it has %d bytes, and 262144 can be published", len(text))
	}
	_, err := policy.LoadAlone(text, policy.LoadOptions{})
	return err
}

// Of reads the signature of the text of a file of rules: from the file that somebody named, from in if they
// named -, or else from beside the file; nil where there is none.
func Of(text, file, named string, in io.Reader) (*hook.RulesSignature, error) {
	from := named
	if from == "" {
		from = Beside(file)
	}
	var b []byte
	var err error
	if from == "-" {
		b, err = regular.All(in, signed.MaxRulesSignature)
	} else {
		var f *os.File
		if f, err = os.Open(from); errors.Is(err, fs.ErrNotExist) && named == "" {
			return nil, nil
		}
		if err == nil {
			b, err = regular.All(f, signed.MaxRulesSignature)
			_ = f.Close()
		}
	}
	if errors.Is(err, regular.ErrLarge) {
		err = fmt.Errorf("it is larger than %d bytes", signed.MaxRulesSignature)
	}
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	s, err := signed.ReadRules(b, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", show.Line(from), err)
	}
	return s, nil
}

// Words say who signed published rules.
func Words(text string, s *hook.RulesSignature) string {
	switch {
	case text == "":
		return ""
	case s == nil:
		return "Nobody signed it: assent-hook-strict takes no allow from it."
	case signed.RulesFit(text, s) != nil:
		return "ITS SIGNATURE DOES NOT FIT: no hook takes an allow from it. Publish it anew."
	}
	ends := ""
	if s.Until != "" {
		ends = ", until " + s.Until
	}
	return "Signed with device:" + signed.Thumbprint(s.PublicKey) + ", " + show.Line(s.SignedAt+ends) + "; the signature fits."
}
