package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	webpush "github.com/SherClockHolmes/webpush-go"
)

// vapidKeys are the broker's (RFC 8292): with the private one it signs for every push service who
// it is, and browsers subscribe to the public one. Both are unpadded base64url. Lost keys mean that
// every device must subscribe again.
type vapidKeys struct {
	Public  string `json:"publicKey"`
	Private string `json:"privateKey"`
}

// makeKeys stores new keys unless there are some.
func (p *Push) makeKeys(ctx context.Context) error {
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return fmt.Errorf("make the key of push messages: %w", err)
	}
	value, err := json.Marshal(vapidKeys{public, private})
	if err != nil {
		return fmt.Errorf("encode the key of push messages: %w", err)
	}
	if p.cfg.Frozen {
		p.applyKeys(value) // for this run: no device is subscribed with them
		return nil
	}
	// What fails here may be that a replica was quicker; the watch tells, or ctx ends the wait.
	if rev, err := p.cfg.KV.Create(ctx, vapidKey, value); err == nil {
		p.kv.Offer(vapidKey, value, rev)
	}
	return nil
}

func (p *Push) applyKeys(value []byte) {
	var k vapidKeys
	if json.Unmarshal(value, &k) != nil || k.Public == "" || k.Private == "" {
		p.cfg.Logf("push: the key of push messages is unreadable and ignored")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == (vapidKeys{}) {
		close(p.haveKey)
	}
	p.keys = k
}

// contact is who answers for the messages, as push services want to know it.
func contact(given, page string) (string, error) {
	u, err := url.Parse(given)
	switch {
	case err != nil || len(given) > 200:
		return "", fmt.Errorf("contact for push services: %q is no URL; say https://… or mailto:…", given)
	case given == "" && strings.HasPrefix(page, "https://"):
		return page, nil
	case given == "":
		return "https://assent.example", nil // services want one; on this machine alone there is none to name
	case u.Scheme == "https" && u.Host != "":
		return given, nil
	case u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"):
		return u.Opaque, nil // the library puts mailto: before it
	}
	return "", fmt.Errorf("contact for push services: %q is neither https://… nor mailto:…", given)
}
