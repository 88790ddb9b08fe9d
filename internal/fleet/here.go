package fleet

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"assent/internal/store/kvmirror"
	"assent/internal/text/show"
)

// Brokers of one KV tell each other which hosts are connected to them: each keeps a key for each of its hosts, which it
// writes anew three times in a lease. What another broker's host says, and what is sent to it, goes through the KV as it
// is; only that it is here does not.
const (
	herePrefix = "hosthere." // the host's id follows
	beat       = Lease / 3
	beatTime   = 5 * time.Second // of what is written for one host
	maxBroker  = 200             // bytes of a broker's name
)

// here is what such a key holds.
type here struct {
	Host string `json:"host"`
	Run  string `json:"run"` // of the registry that the host is connected to
	// Broker is what people call the broker of that registry.
	Broker string    `json:"broker,omitempty"`
	At     time.Time `json:"at"`
}

// heard is what another broker said last of a host.
type heard struct {
	at    time.Time // on this machine's clock
	where string    // the broker's name, of foreign text
	lapse *time.Timer
}

// applyHere takes that a host was heard of at another broker. That counts from when it is read, so that no two clocks
// are compared; only what was written before this broker began counts from then.
func (r *Registry) applyHere(key string, value []byte, _ uint64) func() {
	var x here
	id := strings.TrimPrefix(key, herePrefix)
	if value != nil && (json.Unmarshal(value, &x) != nil || x.Host != id) {
		r.cfg.Logf("where a host is connected is unreadable in the store, and left alone: %s", id)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.heard[id]
	switch {
	case r.closed || x.Run == r.run:
		return nil
	case e == nil:
		e = &heard{}
		r.heard[id] = e
	case e.lapse != nil:
		e.lapse.Stop()
	}
	if value == nil {
		delete(r.heard, id)
		return r.tell
	}
	e.at, e.where = time.Now(), show.Short(x.Broker, maxBroker)
	if !r.opened && x.At.Before(e.at) {
		e.at = x.At
	}
	e.lapse = time.AfterFunc(max(0, time.Until(e.at.Add(Lease))), r.tell)
	return r.tell
}

// beats writes which hosts are here, until ctx is done.
func (r *Registry) beats(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.came:
		}
		now := time.Now()
		r.mu.Lock()
		var hosts []string
		for id, h := range r.hosts {
			if h.link != nil && now.Sub(h.seen) < Lease {
				hosts = append(hosts, id)
			}
		}
		r.mu.Unlock()
		for _, id := range hosts {
			if err := r.beat(ctx, id); err != nil && ctx.Err() == nil {
				r.cfg.Logf("other brokers could not be told that a host is here, and are in %v: %v", beat, err)
			}
		}
	}
}

func (r *Registry) beat(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	value, err := json.Marshal(here{Host: host, Run: r.run, Broker: r.cfg.Name, At: time.Now().UTC()})
	if err != nil {
		return err
	}
	key := herePrefix + host
	rev, err := r.cfg.KV.Create(ctx, key, value)
	if err != nil { // it stands there already
		if _, rev, err = r.cfg.KV.Get(ctx, key); err == nil {
			rev, err = r.cfg.KV.Update(ctx, key, value, rev)
		}
	}
	if err == nil {
		r.here.Offer(key, value, rev)
	}
	return err
}

// Here reports whether the host of an agent is connected to this broker.
func (r *Registry) Here(agent string) bool {
	_, id, err := r.Agent(agent)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[id]
	return h != nil && h.link != nil
}

// Where is the name of the other broker to which a host is connected, "" if it is not known to be at one.
func (r *Registry) Where(host string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.heard[host]; e != nil && time.Since(e.at) < Lease {
		return e.where
	}
	return ""
}

// openHere begins to follow what other brokers say.
func (r *Registry) openHere(ctx context.Context) (err error) {
	r.here, err = kvmirror.Open(ctx, kvmirror.Config{KV: r.cfg.KV, Prefix: herePrefix, Apply: r.applyHere, What: "where hosts are connected", Logf: r.cfg.Logf})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.opened = true
	r.mu.Unlock()
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.beating.Go(func() { r.beats(ctx) })
	return nil
}

// closeHere ends it.
func (r *Registry) closeHere() {
	if r.here == nil {
		return
	}
	r.stop()
	r.beating.Wait()
	r.here.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, e := range r.heard {
		if e.lapse != nil {
			e.lapse.Stop()
		}
	}
}
