// Package memo remembers what was worked out of the last requests. A request is shown whenever it moves, and what follows from
// its text alone need not be worked out each time.
package memo

import "sync"

// Memo remembers the values of the keys that were put last: at least Most of them, and twice as many at most. Its methods may
// be called from any goroutine.
type Memo[K comparable, V any] struct {
	Most int // 0: 1

	mu          sync.Mutex
	young, aged map[K]V // guarded by mu
}

// Get returns the value of k if it is remembered.
func (m *Memo[K, V]) Get(k K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.young[k]; !ok {
		v, ok = m.aged[k]
	}
	return v, ok
}

// Put remembers v. Who gets it shares it.
func (m *Memo[K, V]) Put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.young) >= max(m.Most, 1) {
		m.young, m.aged = nil, m.young
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[k] = v
}
