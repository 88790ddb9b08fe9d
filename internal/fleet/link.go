package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assent/internal/api"
)

// Link is a host's connection to this broker.
type Link struct {
	r    *Registry
	host string
	end  func()
}

// Connect takes note that a host is here. An earlier connection of it is ended: end is called then, which
// must not block.
func (r *Registry) Connect(host string, end func()) *Link {
	l := &Link{r, host, end}
	r.mu.Lock()
	h := r.hosts[host]
	if h == nil {
		h = &hostEntry{offered: offered{ID: host}}
		r.hosts[host] = h
	}
	before := h.link
	h.link, h.seen = l, time.Now()
	r.mu.Unlock()
	if before != nil {
		before.end()
	}
	select {
	case r.came <- struct{}{}: // others hear of it at once
	default:
	}
	r.tell()
	return l
}

// Alive says that the host was heard of.
func (l *Link) Alive() {
	l.r.mu.Lock()
	if h := l.r.hosts[l.host]; h != nil && h.link == l {
		h.seen = time.Now()
	}
	l.r.mu.Unlock()
}

// Close says that the connection is over. The host's agents are offline once its lease is, unless it comes
// again: that is told of then.
func (l *Link) Close() {
	l.r.mu.Lock()
	h := l.r.hosts[l.host]
	mine := h != nil && h.link == l
	left := time.Duration(0)
	if mine {
		h.link, left = nil, time.Until(h.seen.Add(Lease))
	}
	l.r.mu.Unlock()
	if mine {
		time.AfterFunc(left, l.r.tell)
	}
}

// Offer takes in what a host offers. What of it is left out, problems says. An error is ErrUnavailable, and
// nothing changed then.
func (l *Link) Offer(ctx context.Context, hostname, version string, agents []api.Agent) (problems []string, err error) {
	r := l.r
	now := time.Now().UTC()
	o := offered{ID: l.host, Host: clipBytes(hostname, maxWords), Version: clipBytes(version, maxWords), At: now, Agents: []api.Agent{}}
	r.mu.Lock()
	h := r.hosts[l.host]
	if h == nil || h.link != l {
		r.mu.Unlock()
		return nil, nil // another connection speaks for the host
	}
	rev, was := h.rev, h.offered
	if hostname == "" {
		o.Host, o.Version = was.Host, was.Version
	}
	for _, other := range r.hosts { // what a host is called is its own word
		if other != h && r.cfg.Known(other.ID) && other.Host == o.Host {
			o.Host = clipBytes(o.Host, maxWords-12) + " (" + clipBytes(l.host, 8) + ")"
			break
		}
	}
	if rev == 0 && len(r.hosts) > maxHosts {
		r.mu.Unlock()
		return []string{fmt.Sprintf("this broker knows %d hosts, its most; revoke the tokens of those that are no more", maxHosts)}, nil
	}
	for _, a := range agents {
		why := checkAgent(&a)
		for _, other := range r.hosts {
			// Also one that is away: who sends to a name means the host that has it, and no other that waits for its chance.
			if why == "" && other != h && r.cfg.Known(other.ID) && slices.ContainsFunc(other.Agents, func(b api.Agent) bool { return a.Name == b.Name }) {
				why = "the host " + other.Host + " has an agent of this name; choose another, or revoke that host's token if it is no more (assent token list)"
			}
		}
		switch {
		case len(o.Agents) == maxAgents:
			why = fmt.Sprintf("a host offers %d agents at most", maxAgents)
		case why == "" && slices.ContainsFunc(o.Agents, func(b api.Agent) bool { return a.Name == b.Name }):
			why = "its name stands here twice"
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("agent %q: %s", clip(a.Name, 63), why))
			if len(problems) == maxAgents {
				break
			}
			continue
		}
		o.Agents = append(o.Agents, a)
	}
	r.mu.Unlock()
	same := was.Host == o.Host && was.Version == o.Version && equal(was.Agents, o.Agents)
	if same && rev > 0 {
		return problems, nil
	}
	value, err := json.Marshal(o)
	if err != nil {
		return []string{"what is offered cannot be written as JSON"}, nil
	}
	key := hostsPrefix + l.host
	if rev == 0 {
		rev, err = r.cfg.KV.Create(ctx, key, value)
	} else {
		rev, err = r.cfg.KV.Update(ctx, key, value, rev)
	}
	if err != nil {
		if have, haveRev, getErr := r.cfg.KV.Get(context.WithoutCancel(ctx), key); getErr == nil {
			r.kv.Offer(key, have, haveRev)
		}
		return problems, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.kv.Offer(key, value, rev)
	return problems, nil
}

func equal(a, b []api.Agent) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
