package auth

import (
	"crypto/sha256"
	"time"
)

// ttlMap holds short-lived values under the hash of a random secret: at most max of them, each for
// life. When it is full the oldest is dropped. The owner's mutex guards it.
type ttlMap[V any] struct {
	max  int
	life time.Duration
	m    map[secretHash]expiring[V]
}

type expiring[V any] struct {
	value   V
	expires time.Time
}

func newTTLMap[V any](max int, life time.Duration) *ttlMap[V] {
	return &ttlMap[V]{max: max, life: life, m: map[secretHash]expiring[V]{}}
}

// put stores v under the secret's hash and says when it expires.
func (t *ttlMap[V]) put(secret string, v V, now time.Time) time.Time {
	if len(t.m) >= t.max {
		t.dropOldest(now)
	}
	expires := now.Add(t.life)
	t.m[sha256.Sum256([]byte(secret))] = expiring[V]{v, expires}
	return expires
}

func (t *ttlMap[V]) dropOldest(now time.Time) {
	var oldest secretHash
	var when time.Time
	for h, e := range t.m {
		if !now.Before(e.expires) {
			delete(t.m, h)
		} else if when.IsZero() || e.expires.Before(when) {
			oldest, when = h, e.expires
		}
	}
	if len(t.m) >= t.max {
		delete(t.m, oldest)
	}
}

func (t *ttlMap[V]) get(h secretHash, now time.Time) (v V, ok bool) {
	e, ok := t.m[h]
	if !ok || !now.Before(e.expires) {
		return v, false
	}
	return e.value, true
}

// take is get, and removes the value: it may be used once.
func (t *ttlMap[V]) take(secret string, now time.Time) (v V, ok bool) {
	h := sha256.Sum256([]byte(secret))
	v, ok = t.get(h, now)
	delete(t.m, h)
	return v, ok
}

// drop removes the values for which match is true.
func (t *ttlMap[V]) drop(match func(V) bool) {
	for h, e := range t.m {
		if match(e.value) {
			delete(t.m, h)
		}
	}
}

// count returns how many live values match.
func (t *ttlMap[V]) count(now time.Time, match func(V) bool) (n int) {
	for _, e := range t.m {
		if now.Before(e.expires) && match(e.value) {
			n++
		}
	}
	return n
}
