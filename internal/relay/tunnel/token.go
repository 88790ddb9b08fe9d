package tunnel

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"assent/internal/text/digest"
)

// tokenPrefix begins every token, as it does those of a broker. What follows is the name, which holds no
// underscore, and the secret.
const tokenPrefix = "assent_relay_"

// secretBytes is how many random bytes a token has; they are written as 43 characters of base64url.
const secretBytes = 32

// MaxToken is how long a token may be, in bytes.
const MaxToken = len(tokenPrefix) + maxLabel + 1 + 43

// maxLabel is how long a label of a DNS name may be, in bytes (RFC 1035, 2.3.4).
const maxLabel = 63

// Token is what a broker shows to a relay. It is bound to one name: it cannot be used for another one.
type Token struct {
	Name string // a label of a DNS name, in lower case
	text string
}

// NewToken makes a token for a name.
func NewToken(name string) (Token, error) {
	if err := CheckName(name); err != nil {
		return Token{}, err
	}
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand ends the process instead
	return Token{Name: name, text: tokenPrefix + name + "_" + base64.RawURLEncoding.EncodeToString(secret[:])}, nil
}

// ParseToken reads a token as it was given out, to the byte.
func ParseToken(text string) (Token, error) {
	malformed := errors.New("this is not a token of a relay: want assent_relay_NAME_…, as assent relay token NAME prints it")
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(text) > MaxToken {
		return Token{}, malformed
	}
	name, secret, ok := strings.Cut(rest, "_")
	if !ok || CheckName(name) != nil {
		return Token{}, malformed
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	if err != nil || len(raw) != secretBytes || base64.RawURLEncoding.EncodeToString(raw) != secret {
		return Token{}, malformed // the decoder skips line breaks
	}
	return Token{Name: name, text: text}, nil
}

// Text is the token itself, for the one who is to have it.
func (t Token) Text() string { return t.text }

// String keeps the secret out of logs.
func (t Token) String() string { return tokenPrefix + t.Name + "_…" }

// GoString is String.
func (t Token) GoString() string { return t.String() }

// Hash is what a relay keeps of a token: SHA-256 in lower-case hex.
func (t Token) Hash() string { return digest.Of([]byte(t.text)) }

// CheckName says what keeps a name from being a label of a DNS name: letters in lower case, digits and
// hyphens, which stand neither first nor last. Labels that begin with "xn--" are refused: they are shown as
// other letters than they are.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty; want a label of a DNS name, such as box")
	case len(name) > maxLabel:
		return fmt.Errorf("the name has %d characters; a label of a DNS name has %d at most", len(name), maxLabel)
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "", name[0] == '-', name[len(name)-1] == '-', strings.HasPrefix(name, "xn--"):
		return fmt.Errorf("the name %q: want letters in lower case, digits and hyphens between them, such as box", name)
	}
	return nil
}

// CheckDomain says what keeps a text from being a domain: labels as of CheckName, at least two of them, with
// a dot between them, and short enough for a name below it.
func CheckDomain(domain string) error {
	labels := strings.Split(domain, ".")
	if len(labels) < 2 || len(domain)+1+maxLabel > 253 {
		return fmt.Errorf("the domain %q: want a name with a dot, such as relay.example.org", domain)
	}
	for _, l := range labels {
		if err := CheckName(l); err != nil {
			return fmt.Errorf("the domain %q: %w", domain, err)
		}
	}
	return nil
}
