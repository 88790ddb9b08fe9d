package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/text/digest"
)

const (
	// forgetPrefix begins the keys of what hosts are still to forget; the host's id and a digest of the session follow.
	forgetPrefix = "hostforget."
	// maxForgets bounds what one host is still to forget, maxForgetsTold what it is told of at once.
	maxForgets     = 10_000
	maxForgetsTold = 500
)

// toForget is what such a key holds.
type toForget struct {
	Host    string    `json:"host"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
}

func forgetKey(host, session string) string {
	return forgetPrefix + host + "." + digest.Of([]byte(session))
}

// applyForget takes a change of what hosts are still to forget.
func (r *Registry) applyForget(key string, value []byte, _ uint64) func() {
	var f toForget
	if value != nil && (json.Unmarshal(value, &f) != nil || forgetKey(f.Host, f.Session) != key) {
		r.cfg.Logf("what a host is to forget is unreadable in the store, and left alone: %s", key)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if value == nil {
		delete(r.forgets, key)
		return nil
	}
	r.forgets[key] = f
	return r.forgot
}

// NotifyForget has f called when hosts have more to forget.
func (r *Registry) NotifyForget(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgot = f
}

// Forget has every host forget what it keeps of a session: at once if it is connected, else when it comes. It
// returns once that is durable. An error is ErrUnavailable, and the same can be asked for again.
func (r *Registry) Forget(ctx context.Context, session string) error {
	r.mu.Lock()
	waiting := map[string]int{}
	var over []string // of hosts that are no more
	for key, f := range r.forgets {
		if waiting[f.Host]++; !r.cfg.Known(f.Host) {
			over = append(over, key)
		}
	}
	var hosts []string
	for id := range r.hosts {
		if r.cfg.Known(id) {
			hosts = append(hosts, id)
		}
	}
	r.mu.Unlock()
	for _, key := range over {
		if rev, err := r.cfg.KV.Delete(ctx, key); err == nil {
			r.toForget.Offer(key, nil, rev)
		}
	}
	for _, host := range hosts {
		if waiting[host] >= maxForgets {
			return fmt.Errorf("%w: a host that has been away has %d sessions to forget; if it is no more, revoke its token (assent token list)", ErrUnavailable, waiting[host])
		}
		value, err := json.Marshal(toForget{host, session, time.Now().UTC()})
		if err != nil {
			return err
		}
		key := forgetKey(host, session)
		rev, err := r.cfg.KV.Create(ctx, key, value)
		if err != nil { // it may stand there already
			if _, rev, err = r.cfg.KV.Get(ctx, key); err == nil {
				rev, err = r.cfg.KV.Update(ctx, key, value, rev)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
		}
		r.toForget.Offer(key, value, rev)
	}
	return nil
}

// ToForget are sessions that a host is still to forget, some of them where there are many.
func (r *Registry) ToForget(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sessions []string
	for _, f := range r.forgets {
		if f.Host == host {
			sessions = append(sessions, f.Session)
		}
	}
	slices.SortFunc(sessions, strings.Compare)
	return sessions[:min(len(sessions), maxForgetsTold)]
}

// ForgottenAt is when a session was forgotten that the host is still to forget, the zero time if it is not: what the
// host says of earlier is not kept.
func (r *Registry) ForgottenAt(host, session string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgets[forgetKey(host, session)].At
}

// Forgotten takes a host's word that it has forgotten sessions. An error is ErrUnavailable.
func (r *Registry) Forgotten(ctx context.Context, host string, sessions []string) error {
	for _, session := range sessions {
		key := forgetKey(host, session)
		r.mu.Lock()
		_, known := r.forgets[key]
		r.mu.Unlock()
		if !known {
			continue
		}
		rev, err := r.cfg.KV.Delete(ctx, key)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		r.toForget.Offer(key, nil, rev)
	}
	return nil
}
