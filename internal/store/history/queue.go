package history

import (
	"context"
	"sync"
)

// queue hands items from the goroutine that reads a stream to the one that folds. It holds at
// most maxItems and, if it holds more than one, maxBytes; then put waits.
type queue[T any] struct {
	size  func(T) int
	wake  chan struct{} // something was put; holds one
	freed chan struct{} // something was taken; holds one

	mu    sync.Mutex
	items []T // guarded by mu
	bytes int // guarded by mu
}

const (
	maxItems = 1024
	maxBytes = 8 << 20
)

func newQueue[T any](size func(T) int) *queue[T] {
	return &queue[T]{size: size, wake: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// put adds x when there is room. One goroutine puts.
func (q *queue[T]) put(ctx context.Context, x T) {
	size := q.size(x)
	for {
		q.mu.Lock()
		if len(q.items) == 0 || len(q.items) < maxItems && q.bytes+size <= maxBytes {
			q.items = append(q.items, x)
			q.bytes += size
			q.mu.Unlock()
			poke(q.wake)
			return
		}
		q.mu.Unlock()
		select {
		case <-q.freed:
		case <-ctx.Done():
			return
		}
	}
}

// first returns the oldest item without taking it, and last the newest.
func (q *queue[T]) first() (x T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return x, false
	}
	return q.items[0], true
}

func (q *queue[T]) last() (x T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return x, false
	}
	return q.items[len(q.items)-1], true
}

// drop takes the oldest item away.
func (q *queue[T]) drop() {
	q.mu.Lock()
	q.bytes -= q.size(q.items[0])
	var none T
	q.items[0] = none
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil // let a long queue's memory go
	}
	q.mu.Unlock()
	poke(q.freed)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
