package notify

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"

	"assent/internal/hook"
)

// Subscription is a browser's, as PushSubscription.toJSON gives it (schema PushSubscription). Who
// has the endpoint can send to it, so it is never shown again.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"` // the browser's public key on P-256
		Auth   string `json:"auth"`   // a secret of 16 bytes
	} `json:"keys"`
}

const maxEndpoint = 2048

// ParseSubscription reads a subscription. Put checks it.
func ParseSubscription(doc []byte) (*Subscription, error) {
	var s struct {
		Subscription
		ExpirationTime json.RawMessage `json:"expirationTime"` // browsers add it; none uses it
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, hook.BadField("subscription", "want what PushSubscription.toJSON gives")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, hook.BadField("subscription", "want one object")
	}
	return &s.Subscription, nil
}

func (p *Push) checkSubscription(s *Subscription) error {
	if err := p.checkEndpoint(s.Endpoint); err != nil {
		return hook.BadField("subscription.endpoint", err.Error())
	}
	point, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Keys.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return hook.BadField("subscription.keys.p256dh", "want a point on P-256 in base64url")
	}
	if secret, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Keys.Auth, "=")); err != nil || len(secret) != 16 {
		return hook.BadField("subscription.keys.auth", "want 16 bytes in base64url")
	}
	return nil
}

// checkEndpoint refuses what can be seen to lead elsewhere than to a push service. Where its name
// leads is seen when it is dialed.
func (p *Push) checkEndpoint(text string) error {
	if len(text) > maxEndpoint {
		return fmt.Errorf("want at most %d bytes", maxEndpoint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return errors.New("want an https URL")
	}
	if p.allow[originOf(u)] {
		return nil
	}
	if u.Scheme != "https" {
		return errors.New("want an https URL")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil && !public(a) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return errors.New("want a public address; the broker allows others with --push-allow")
	}
	return nil
}

// originOf is scheme, host and port, the port always there.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// origins reads the origins of Config.Allow.
func origins(list []string) (map[string]bool, error) {
	m := map[string]bool{}
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("origin of a push service %q: want scheme and host, such as https://push.internal:8443", text)
		}
		m[originOf(u)] = true
	}
	return m, nil
}
