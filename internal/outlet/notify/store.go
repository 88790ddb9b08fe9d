package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	keyPrefix    = "push."
	vapidKey     = keyPrefix + "vapid"
	devicePrefix = keyPrefix + "device."
)

// record is what is kept of a device.
type record struct {
	Subscription *Subscription `json:"subscription,omitempty"`
	Settings     Settings      `json:"settings"`
}

// stored is a record in memory; guarded by Push.mu.
type stored struct {
	record
	rev uint64
}

// State is how a device stands (schema Push).
type State struct {
	// PublicKey is what the browser subscribes with: the applicationServerKey.
	PublicKey  string `json:"publicKey"`
	Subscribed bool   `json:"subscribed"`
	// Service is the host of the browser's push service.
	Service    string    `json:"service,omitempty"`
	Settings   Settings  `json:"settings"`
	LastSentAt time.Time `json:"lastSentAt,omitzero"`
	// Trouble says why the last message was not taken.
	Trouble string `json:"trouble,omitempty"`
}

// State returns how a device stands.
func (p *Push) State(device string) State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{PublicKey: p.keys.Public, Settings: DefaultSettings()}
	if e := p.devices[device]; e != nil {
		s.Settings = e.Settings
		if e.Subscription != nil {
			s.Subscribed = true
			s.Service = hostOf(e.Subscription.Endpoint)
		}
	}
	if st := p.status[deviceKey(device)]; st != nil {
		s.LastSentAt, s.Trouble = st.sentAt, st.trouble
	}
	return s
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// Put stores a device's subscription and settings; what is nil stays as it is. *hook.FieldError,
// ErrFull, ErrUnavailable.
func (p *Push) Put(ctx context.Context, device string, sub *Subscription, set *Settings) error {
	if sub != nil {
		if err := p.checkSubscription(sub); err != nil {
			return err
		}
	}
	if set != nil {
		if err := set.check(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	rec, rev := record{Settings: DefaultSettings()}, uint64(0)
	if e := p.devices[device]; e != nil {
		rec, rev = e.record, e.rev
	}
	full := sub != nil && rec.Subscription == nil && p.subscribedLocked() >= maxDevices
	p.mu.Unlock()
	if full {
		return ErrFull
	}
	if sub != nil {
		rec.Subscription = sub
		p.setStatus(deviceKey(device), func(s *sendStatus) { *s = sendStatus{testedAt: s.testedAt} })
	}
	if set != nil {
		rec.Settings = *set
	}
	return p.write(ctx, device, rec, rev)
}

func (p *Push) subscribedLocked() (n int) {
	for _, e := range p.devices {
		if e.Subscription != nil {
			n++
		}
	}
	return n
}

// write replaces revision rev of a device's record; 0 means that there is none.
func (p *Push) write(ctx context.Context, device string, rec record, rev uint64) error {
	value, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode push subscription: %w", err)
	}
	key := devicePrefix + device
	if rev == 0 {
		rev, err = p.cfg.KV.Create(ctx, key, value)
	} else {
		rev, err = p.cfg.KV.Update(ctx, key, value, rev)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p.kv.Offer(key, value, rev)
	return nil
}

// Remove forgets a device: its subscription and its settings.
func (p *Push) Remove(ctx context.Context, device string) error {
	p.mu.Lock()
	known := p.devices[device] != nil
	delete(p.status, deviceKey(device))
	p.mu.Unlock()
	if !known {
		return nil
	}
	rev, err := p.cfg.KV.Delete(ctx, devicePrefix+device)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p.kv.Offer(devicePrefix+device, nil, rev)
	return nil
}

// unsubscribe removes a subscription that its service does not know any more; the settings stay.
// A newer one of the device stays too.
func (p *Push) unsubscribe(ctx context.Context, device string, dead *Subscription) {
	p.mu.Lock()
	e := p.devices[device]
	if e == nil || e.Subscription == nil || e.Subscription.Endpoint != dead.Endpoint {
		p.mu.Unlock()
		return
	}
	rec, rev := e.record, e.rev
	p.mu.Unlock()
	rec.Subscription = nil
	// Another's write that came first is the better one; the store that is away is tried again
	// with the next message.
	_ = p.write(ctx, device, rec, rev)
}

func (p *Push) setStatus(key string, change func(*sendStatus)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status[key]
	if s == nil {
		s = &sendStatus{}
		p.status[key] = s
	}
	change(s)
}

// apply takes a change of one key of the store into memory, see kvmirror.Config.
func (p *Push) apply(key string, value []byte, rev uint64) (after func()) {
	if key == vapidKey {
		p.applyKeys(value)
		return nil
	}
	if strings.HasPrefix(key, toldPrefix) {
		p.applyTold(key, value, rev)
		return nil
	}
	device, ok := strings.CutPrefix(key, devicePrefix)
	if !ok {
		return nil
	}
	if value == nil {
		p.mu.Lock()
		delete(p.devices, device)
		p.mu.Unlock()
		return p.wake
	}
	var rec record
	if json.Unmarshal(value, &rec) != nil || rec.Settings.check() != nil {
		p.cfg.Logf("push: the subscription of device %q is unreadable and ignored", device)
		return nil
	}
	if rec.Subscription != nil && p.checkSubscription(rec.Subscription) != nil {
		rec.Subscription = nil // it came from a broker that allowed more than this one
	}
	p.mu.Lock()
	p.devices[device] = &stored{rec, rev}
	p.mu.Unlock()
	return p.wake
}
