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

// Offer is what a broker sent, and the request as the hook itself knows it.
type Offer struct {
	ID              string // of the request, chosen here
	Event           string // its type by the flags; "" where the payload says it
	Raw             []byte // the payload
	Began, Deadline time.Time
	Body            []byte // of the broker: believed in nothing
	Trust           []Trusted
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
	c.Require, c.Trust = hook.RequireSigned, nil // also where another word was meant
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
	return nil
}

// CheckTrust says what is wrong with the value of a trust line, such as "device:UOAy… independent".
func CheckTrust(value string) error {
	_, err := readTrusted(value)
	return err
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
	out, why := c.cfg.Verify(Offer{ID: c.event.ID, Event: c.cfg.Event, Raw: c.event.Raw, Began: c.event.Time, Deadline: c.deadline, Body: body, Trust: c.cfg.Trust})
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
