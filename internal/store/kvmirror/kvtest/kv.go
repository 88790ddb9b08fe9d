// Package kvtest has a kvmirror.KV in memory, for tests.
//
// # Concurrency
//
// A KV may be used from any goroutine. It starts none and works inside a synctest bubble if it
// was made there.
package kvtest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"assent/internal/store/kvmirror"
)

// KV is a kvmirror.KV in memory. Make it with New. It outlives those who use it, as a disk
// does; several may share it, as replicas do.
type KV struct {
	mu   sync.Mutex
	log  []change          // guarded by mu; revision n stands at n-1
	last map[string]uint64 // guarded by mu; the live keys' revisions
	down error             // guarded by mu
	late int               // guarded by mu; how many of the last changes watchers have not seen
	wake chan struct{}     // guarded by mu; closed and replaced at every change

	renewed int // guarded by mu; how often it was made anew
}

type change struct {
	key   string
	value []byte // nil: deleted
}

// Renew makes the KV anew, as who deletes a bucket and starts a broker does: it is empty, and revisions
// begin anew. Watches end with kvmirror.ErrAnew.
func (k *KV) Renew() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log, k.last, k.late = nil, map[string]uint64{}, 0
	k.renewed++
	close(k.wake)
	k.wake = make(chan struct{})
}

// ErrRevision is the answer to a Create or Update that came too late.
var ErrRevision = errors.New("kvtest: wrong revision")

// New returns an empty KV.
func New() *KV {
	return &KV{last: map[string]uint64{}, wake: make(chan struct{})}
}

// SetDown lets every write fail with err until it is nil again.
func (k *KV) SetDown(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = err
}

// Delay keeps the last n changes, as of now, from the watchers; 0 shows them all.
func (k *KV) Delay(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late = n
	close(k.wake)
	k.wake = make(chan struct{})
}

// Values returns the live values, for a test to look for secrets in them.
func (k *KV) Values() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := map[string]string{}
	for key, rev := range k.last {
		m[key] = string(k.log[rev-1].value)
	}
	return m
}

// Ever are the values of all changes, those that were replaced included, for a test to look for secrets in them: the
// files of a server keep the bytes.
func (k *KV) Ever() (values []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.log {
		values = append(values, string(c.value))
	}
	return values
}

// Writes says how many changes there were.
func (k *KV) Writes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.log)
}

// ErrKey is the answer to a Get of what is not there.
var ErrKey = errors.New("kvtest: no such key")

// Get returns a key's value and revision.
func (k *KV) Get(_ context.Context, key string) ([]byte, uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rev := k.last[key]
	switch {
	case k.down != nil:
		return nil, 0, k.down
	case rev == 0:
		return nil, 0, ErrKey
	}
	return k.log[rev-1].value, rev, nil
}

// Create, Update, Delete and Watch are those of kvmirror.KV.
func (k *KV) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return k.write(key, value, 0)
}

func (k *KV) Update(_ context.Context, key string, value []byte, rev uint64) (uint64, error) {
	return k.write(key, value, rev)
}

func (k *KV) write(key string, value []byte, rev uint64) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down != nil {
		return 0, k.down
	}
	if k.last[key] != rev {
		return 0, ErrRevision
	}
	k.appendLocked(change{key, value})
	k.last[key] = uint64(len(k.log))
	return k.last[key], nil
}

func (k *KV) Delete(_ context.Context, key string) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down != nil {
		return 0, k.down
	}
	k.appendLocked(change{key, nil})
	delete(k.last, key)
	return uint64(len(k.log)), nil
}

func (k *KV) appendLocked(c change) {
	k.log = append(k.log, c)
	close(k.wake)
	k.wake = make(chan struct{})
}

func (k *KV) Watch(ctx context.Context, prefix string, fn func(key string, value []byte, rev uint64), caughtUp func()) error {
	k.mu.Lock()
	began := k.renewed
	k.mu.Unlock()
	for next, caught := 0, false; ; {
		k.mu.Lock()
		if k.renewed != began {
			k.mu.Unlock()
			return kvmirror.ErrAnew
		}
		news, wake := k.log[next:max(next, len(k.log)-k.late)], k.wake
		k.mu.Unlock()
		for i, c := range news {
			if strings.HasPrefix(c.key, prefix) {
				fn(c.key, c.value, uint64(next+i+1))
			}
		}
		if !caught {
			caught = true
			caughtUp()
		}
		next += len(news)
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
