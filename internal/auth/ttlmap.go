package auth

import (
	"crypto/sha256"
	"time"
)

// slips are short-lived values under a random secret: at most max of them, each for life.
// When it is full the oldest gives way. The owner's mutex guards it.
type slips[V any] struct {
	max  int
	life time.Duration
	m    map[digest]slip[V]
}

type slip[V any] struct {
	value   V
	expires time.Time
}

func newSlips[V any](max int, life time.Duration) *slips[V] {
	return &slips[V]{max: max, life: life, m: map[digest]slip[V]{}}
}

// put stores v under the secret's hash and says when it expires.
func (s *slips[V]) put(secret string, v V, now time.Time) time.Time {
	if len(s.m) >= s.max {
		s.makeRoom(now)
	}
	expires := now.Add(s.life)
	s.m[sha256.Sum256([]byte(secret))] = slip[V]{v, expires}
	return expires
}

func (s *slips[V]) makeRoom(now time.Time) {
	var oldest digest
	var when time.Time
	for h, sl := range s.m {
		if !now.Before(sl.expires) {
			delete(s.m, h)
		} else if when.IsZero() || sl.expires.Before(when) {
			oldest, when = h, sl.expires
		}
	}
	if len(s.m) >= s.max {
		delete(s.m, oldest)
	}
}

func (s *slips[V]) get(h digest, now time.Time) (v V, ok bool) {
	sl, ok := s.m[h]
	if !ok || !now.Before(sl.expires) {
		return v, false
	}
	return sl.value, true
}

// take is get for what may be used once.
func (s *slips[V]) take(secret string, now time.Time) (v V, ok bool) {
	h := sha256.Sum256([]byte(secret))
	v, ok = s.get(h, now)
	delete(s.m, h)
	return v, ok
}

// drop removes what match says.
func (s *slips[V]) drop(match func(V) bool) {
	for h, sl := range s.m {
		if match(sl.value) {
			delete(s.m, h)
		}
	}
}

// count says how many live values match.
func (s *slips[V]) count(now time.Time, match func(V) bool) (n int) {
	for _, sl := range s.m {
		if now.Before(sl.expires) && match(sl.value) {
			n++
		}
	}
	return n
}
