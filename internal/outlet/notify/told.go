package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Of brokers that share the store one tells, see Config.Mine. What it has told a target stands in one key of
// the store for each: the requests that still wait, and the last of what else there was. So who takes over
// tells the rest, and nothing twice. The key is written after a message arrived: of one that was killed in
// between the other tells once more, under the same id.
const (
	toldPrefix = keyPrefix + "told."
	// maxToldAsked and maxToldAside bound what is kept of a target. What is beyond may be told again by who
	// takes over.
	maxToldAsked = 1024
	maxToldAside = 64
	// toldTime bounds the writing, and toldTries how often it is tried against another broker.
	toldTime  = 2 * time.Second
	toldTries = 4
	// mineEvery is how often Run looks whether it is the one that tells.
	mineEvery = 250 * time.Millisecond
	// handover is for how long a broker that does not tell remembers what ended: about as long as it takes
	// until another takes over.
	handover = 10 * time.Second
	// maxRecent bounds that.
	maxRecent = 64
)

// told is what such a key holds: short digests.
type told struct {
	Asked []string `json:"asked,omitempty"`
	Aside []string `json:"aside,omitempty"`
}

// toldState is a told in memory.
type toldState struct {
	told
	rev uint64
}

// id is the same at every broker that hears of n.
func (n *news) id() string {
	return digestOf(n.kind, n.halt, n.session, strconv.FormatInt(n.at.UnixNano(), 10))
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// reminderID is that of the message that a request has waited for long.
func reminderID(request string) string { return digestOf("waits", request) }

// shortID is how a told names something: half a digest.
func shortID(parts ...string) string { return digestOf(parts...)[:16] }

// mine reports whether this broker is the one that tells.
func (p *Push) mine() bool { return p.cfg.Mine == nil || p.cfg.Mine() }

// toldKey is the key of what a target was told. A notice is known by its URL: its name is one broker's.
func toldKey(t *target, n *Notice) string {
	if n != nil {
		return toldPrefix + digestOf(n.URL)
	}
	return toldPrefix + digestOf(t.key())
}

// applyTold takes in a key of the store.
func (p *Push) applyTold(key string, value []byte, rev uint64) {
	var s toldState
	if json.Unmarshal(value, &s.told) != nil { // or it is gone
		s.told = told{}
	}
	s.rev = rev
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[key] = s
}

// keepTold writes what a target was told when res arrived. It is lost if the store is away.
func (p *Push) keepTold(ctx context.Context, res *result) {
	ctx, cancel := context.WithTimeout(ctx, toldTime)
	defer cancel()
	key := toldKey(res.t, res.notice)
	p.mu.Lock()
	s := p.told[key]
	p.mu.Unlock()
	asked := res.asked
	for range toldTries {
		now := told{Asked: asked, Aside: s.Aside}
		if id := res.d.asideID(); id != "" {
			now.Aside = append(slices.Clone(now.Aside), id[:16])
		}
		now.Asked = now.Asked[max(0, len(now.Asked)-maxToldAsked):]
		now.Aside = now.Aside[max(0, len(now.Aside)-maxToldAside):]
		value, err := json.Marshal(now)
		if err != nil {
			return
		}
		rev := s.rev
		if rev == 0 {
			rev, err = p.cfg.KV.Create(ctx, key, value)
		} else {
			rev, err = p.cfg.KV.Update(ctx, key, value, rev)
		}
		if err == nil {
			p.kv.Offer(key, value, rev)
			return
		}
		// Another broker tells by now: what it has told stays told.
		if value, s.rev, err = p.cfg.KV.Get(ctx, key); err != nil {
			return
		}
		s.told = told{}
		_ = json.Unmarshal(value, &s.told) // what cannot be read is nothing
		asked = slices.Clone(s.Asked)
		for _, id := range res.asked {
			if !slices.Contains(asked, id) {
				asked = append(asked, id)
			}
		}
	}
}

// asideID names a delivery that is about no request, or reminds of one; "" for others.
func (d *delivery) asideID() string {
	switch {
	case d.news != nil:
		return d.news.id()
	case d.waits != nil:
		return reminderID(d.waits.id)
	}
	return ""
}

// ended is a request that ended while another broker told of it.
type ended struct {
	it *item
	at time.Time
}

// look finds out whether this broker is the one that tells, and begins where the other one ended.
func (r *ring) look() {
	mine := r.p.mine()
	if mine == r.mine {
		return
	}
	r.mine = mine
	if r.p.cfg.Mine == nil || !mine {
		return
	}
	now := time.Now()
	for _, it := range r.items {
		it.notified = nil
	}
	for _, t := range r.targets {
		t.begin()
		for _, e := range r.recent {
			if now.Sub(e.at) < handover {
				t.overTold(e.it)
			}
		}
	}
	r.recent = nil
}

// begin takes over from another broker, which has told t what the store says.
func (t *target) begin() {
	if t.p.cfg.Mine == nil {
		return
	}
	t.p.mu.Lock()
	s := t.p.told[toldKey(t, t.notice)]
	t.p.mu.Unlock()
	t.told, t.toldAside = map[string]bool{}, map[string]bool{}
	for _, id := range s.Asked {
		t.told[id] = true
	}
	for _, id := range s.Aside {
		t.toldAside[id] = true
	}
	t.gone, t.ones, t.many = nil, 0, 0
	t.news = slices.DeleteFunc(t.news, func(n *news) bool { return t.toldAside[n.id()[:16]] || time.Since(n.at) > newsLife })
}

// askedNow are the requests of which t will have been told, and that still wait, once d has arrived.
func (t *target) askedNow(d *delivery) []string {
	list := make([]string, 0, len(t.told)+len(d.items))
	for id := range t.told {
		list = append(list, id)
	}
	for _, it := range d.items {
		list = append(list, it.short)
	}
	return list
}

// overElsewhere takes in that a request ended, while another broker tells.
func (r *ring) overElsewhere(it *item) {
	it.notified = nil
	r.recent = append(r.recent[max(0, len(r.recent)-maxRecent+1):], ended{it, time.Now()})
}

// overTold notes that an item does not wait any more of which another broker has told t.
func (t *target) overTold(it *item) {
	if t.told[it.short] && t.ones+len(t.gone) < maxOnes {
		t.addGone(Gone{it.id, it.outcome})
	}
	delete(t.told, it.short)
}
