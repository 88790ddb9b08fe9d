package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"
)

// verdict is what became of one attempt to send.
type verdict struct {
	trouble    string // for people; empty: it was taken
	dead       bool   // the subscription is no more
	revoked    bool   // the device is no more
	elsewhere  bool   // another broker tells by now
	retryAfter time.Duration
}

// toDevice sends d to a device's browser.
func (p *Push) toDevice(ctx context.Context, device string, sub *Subscription, d *delivery) verdict {
	if !p.cfg.May(device) {
		return verdict{trouble: "the device is not paired any more", revoked: true}
	}
	body, err := json.Marshal(d.Message)
	if err != nil { // texts and numbers
		return verdict{trouble: "the message cannot be written"}
	}
	p.mu.Lock()
	keys := p.keys
	p.mu.Unlock()
	urgency := webpush.UrgencyNormal
	if d.Type != typeSettled {
		urgency = webpush.UrgencyHigh
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	res, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{
		Endpoint: sub.Endpoint,
		Keys:     webpush.Keys{P256dh: sub.Keys.P256dh, Auth: sub.Keys.Auth},
	}, &webpush.Options{
		HTTPClient: p.client, Subscriber: p.cfg.Contact, Topic: d.topic(), TTL: d.ttl(), Urgency: urgency,
		VAPIDPublicKey: keys.Public, VAPIDPrivateKey: keys.Private,
	})
	if err != nil {
		return verdict{trouble: "the push service " + unreached(err)}
	}
	v := answered(res)
	if v.trouble != "" {
		v.trouble = "the push service " + v.trouble
	}
	if v.dead = res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone; v.dead {
		v.trouble = "the browser's subscription has ended; turn notifications on again"
	}
	return v
}

// answered reads what a service answered, as little of it as is needed, and closes it.
func answered(res *http.Response) verdict {
	// A short answer is read to its end so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return verdict{}
	}
	v := verdict{trouble: fmt.Sprintf("answered %d", res.StatusCode)}
	text := res.Header.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil && s > 0 {
		v.retryAfter = time.Duration(min(s, 3600)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		v.retryAfter = time.Until(at)
	}
	return v
}

// unreached says why there was no answer, without the URL that Go's errors hold.
func unreached(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, errAddress):
		return "has no public address"
	case errors.As(err, &dns):
		return "is not known by that name here"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "did not answer in time"
	}
	return "cannot be reached"
}

// Test sends a test message to a device's browser, now. ErrNotSubscribed, ErrBusy, *SendError.
func (p *Push) Test(ctx context.Context, device string) error {
	now := time.Now()
	busy := false
	p.setStatus(deviceKey(device), func(s *sendStatus) {
		if busy = now.Sub(s.testedAt) < testPause; !busy {
			s.testedAt = now
		}
	})
	if busy {
		return ErrBusy
	}
	p.mu.Lock()
	e := p.devices[device]
	var sub *Subscription
	if e != nil {
		sub = e.Subscription
	}
	p.mu.Unlock()
	if sub == nil {
		return ErrNotSubscribed
	}
	v := p.toDevice(ctx, device, sub, &delivery{made: now, Message: Message{Type: typeTest}})
	p.counts.sent(true, v.trouble == "")
	p.setStatus(deviceKey(device), func(s *sendStatus) {
		if s.trouble = v.trouble; v.trouble == "" {
			s.sentAt = time.Now().UTC()
		}
	})
	if v.dead {
		p.unsubscribe(ctx, device, sub)
	}
	if v.trouble != "" {
		return &SendError{v.trouble}
	}
	return nil
}
