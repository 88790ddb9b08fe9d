package hookclient

import (
	"context"
	"errors"
	"strings"
	"time"

	"assent/internal/hook"
)

// Trusted is a key by whose signature an allow is printed.
type Trusted struct {
	// Thumbprint is the SHA-256 of the key, as `assent device list` prints it behind "device:".
	Thumbprint string
	// Independent says that the code that signs with it does not come from the broker.
	Independent bool
}

// TrustedRules is a key by whose signature rules are evaluated by the hook itself.
type TrustedRules struct {
	Thumbprint string // as of Trusted
	// Since is when rules were signed at the earliest that count; zero: any time.
	Since time.Time
}

// MaxTrustedRules is how many such keys there may be: they travel with each request.
const MaxTrustedRules = 16

// Offer is what a broker sent, and the request as the hook itself knows it.
type Offer struct {
	ID              string // of the request, chosen here
	Event           string // its type by the flags; "" where the payload says it
	Raw             []byte // the payload
	Began, Deadline time.Time
	Body            []byte // of the broker: believed in nothing
	Trust           []Trusted
	TrustRules      []TrustedRules
	Origin          hook.Origin // as the hook found it out
}

// Thumbprints are those of the trusted keys.
func (o Offer) Thumbprints() []string {
	var all []string
	for _, t := range o.Trust {
		all = append(all, t.Thumbprint)
	}
	return all
}

// requires takes over what one layer says of signatures. Which keys are trusted is said by the layer that requires
// them, so that no other adds one.
func (c *Config) requires(s *settings) error {
	if s.require == "" {
		return nil
	}
	c.Require, c.Trust, c.TrustRules = hook.RequireSigned, nil, nil // also where another word was meant
	if s.require != hook.RequireSigned {
		return errors.New(s.from + "require " + quote(s.require) + ": want signed")
	}
	for line := range strings.Lines(s.trust) {
		t, err := readTrusted(line)
		if err != nil {
			return errors.New(s.from + "trust " + quote(strings.TrimSpace(line)) + ": " + err.Error())
		}
		c.Trust = append(c.Trust, t)
	}
	for line := range strings.Lines(s.trustRules) {
		t, err := ReadTrustedRules(line)
		if err == nil && len(c.TrustRules) == MaxTrustedRules {
			err = errors.New("there are more than 16 keys")
		}
		if err != nil {
			c.TrustRules = nil
			return errors.New(s.from + "trust-rules " + quote(strings.TrimSpace(line)) + ": " + err.Error())
		}
		c.TrustRules = append(c.TrustRules, t)
	}
	return nil
}

// rulesKeys is Config.TrustRules as a request carries them.
func (c *Config) rulesKeys() string {
	var all []string
	for _, t := range c.TrustRules {
		all = append(all, t.Thumbprint)
	}
	return strings.Join(all, " ")
}

// CheckTrust says what is wrong with the value of a trust line, such as "device:UOAy… independent".
func CheckTrust(value string) error {
	_, err := readTrusted(value)
	return err
}

var errTrustRules = errors.New("want a key as assent rules key prints it, such as device:UOAy…, and perhaps since and a time such as 2026-11-28T06:00:00Z: rules that were signed before it do not count")

// ReadTrustedRules reads the value of a trust-rules line, such as "device:UOAy… since 2026-11-28T06:00:00Z".
func ReadTrustedRules(line string) (TrustedRules, error) {
	words := strings.Fields(line)
	if len(words) != 1 && (len(words) != 3 || words[1] != "since") {
		return TrustedRules{}, errTrustRules
	}
	t, err := readTrusted(words[0])
	if err != nil {
		return TrustedRules{}, errTrustRules
	}
	r := TrustedRules{Thumbprint: t.Thumbprint}
	if len(words) == 3 {
		if r.Since, err = time.Parse(time.RFC3339, words[2]); err != nil {
			return TrustedRules{}, errTrustRules
		}
	}
	return r, nil
}

var errTrust = errors.New("want a key as assent device list prints it, such as device:UOAy…, and perhaps broker or independent: where the code comes from that signs with it")

// readTrusted reads THUMBPRINT [broker|independent].
func readTrusted(line string) (Trusted, error) {
	words := strings.Fields(line)
	if len(words) < 1 || len(words) > 2 {
		return Trusted{}, errTrust
	}
	t := Trusted{Thumbprint: strings.TrimPrefix(words[0], "device:")}
	if len(t.Thumbprint) != 43 {
		return Trusted{}, errTrust
	}
	for i := range len(t.Thumbprint) {
		switch c := t.Thumbprint[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return Trusted{}, errTrust
		}
	}
	if len(words) == 2 {
		if words[1] != "broker" && words[1] != "independent" {
			return Trusted{}, errTrust
		}
		t.Independent = words[1] == "independent"
	}
	return t, nil
}

// unverifiable says why what is required of answers cannot be had; nil if it can, or nothing is.
func (c *Config) unverifiable() error {
	switch {
	case c.Require == "":
		return nil
	case c.Verify == nil:
		return errors.New("require = signed, and this program checks no signatures; have the agent run assent-hook-strict or `assent hook` instead")
	case c.Agent != "claude":
		return errors.New("require = signed, and signatures are checked for Claude Code only, not for " + quote(c.Agent))
	}
	return nil
}

// verified is what is printed for an answer where signatures are required.
func (c *client) verified(ctx context.Context, body []byte) []byte {
	out, why := c.cfg.Verify(Offer{ID: c.event.ID, Event: c.cfg.Event, Raw: c.event.Raw, Began: c.event.Time, Deadline: c.deadline, Body: body, Trust: c.cfg.Trust, TrustRules: c.cfg.TrustRules, Origin: c.event.Origin})
	if why != "" {
		c.cfg.Warn("the answer is not printed, so the agent's own prompt decides: " + why)
		c.reportRefusal(ctx, why)
		return nil
	}
	return out
}

// reportRefusal tells the broker that gave the answer, once and for a second at most, for people who took it for done.
// One that does not know the route, or lies, needs no answer.
func (c *client) reportRefusal(ctx context.Context, why string) {
	ctx, cancel := context.WithTimeout(ctx, plainTimeout)
	defer cancel()
	e := c.event
	e.Raw, e.Origin = nil, hook.Origin{}
	if len(why) > hook.MaxFailure {
		why = strings.ToValidUTF8(why[:hook.MaxFailure], "")
	}
	_ = c.attempt(ctx, &request{to: c.to, event: &e, remaining: plainTimeout, secret: c.secret, refusal: why})
}
