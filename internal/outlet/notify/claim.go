package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// Brokers that share the store all hear of what is no request: a turn that ended, a stop. The first that
// wants to tell a device of it, or a notice that others have in their files, too, claims that. A claim
// stands in one of a few slots, until another needs the slot: so nothing has to be cleared away, and what
// is told twice at worst was told by two brokers minutes apart. One that ends before it has sent what it
// claimed takes it along.
const (
	claimPrefix = keyPrefix + "claim."
	claimSlots  = 64
	// claimTime bounds a claim; without an answer the message is sent.
	claimTime = 2 * time.Second
	// claimTries bounds how often a slot is tried against other brokers.
	claimTries = 4
)

// id is the same at every broker that hears of n.
func (n *news) id() string {
	return digestOf(n.kind, n.halt, n.session, strconv.FormatInt(n.at.UnixNano(), 10))
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// slotOf is the key of the slot in which what is claimed.
func slotOf(what string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(what))
	return claimPrefix + strconv.Itoa(int(h.Sum32()%claimSlots))
}

// claim reports whether this broker is to send res, which tells of news.
func (p *Push) claim(ctx context.Context, res *result) bool {
	if !p.cfg.Shared {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	to := res.t.key()
	if res.notice != nil {
		to = res.notice.URL // its name is one broker's
	}
	what := digestOf(to, res.d.news.id())
	key, mine := slotOf(what), []byte(what+" "+p.self)
	for range claimTries {
		value, rev, err := p.cfg.KV.Get(ctx, key)
		if err == nil {
			if owner, ok := strings.CutPrefix(string(value), what+" "); ok {
				return owner == p.self
			}
			_, err = p.cfg.KV.Update(ctx, key, mine, rev)
		} else { // nobody used the slot yet, or the store is away
			_, err = p.cfg.KV.Create(ctx, key, mine)
		}
		if err == nil {
			return true
		}
	}
	return true // rather twice than not at all
}
