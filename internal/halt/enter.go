package halt

import (
	"context"
	"sync"
	"time"
)

// Enter is called before a rule or a grant allows anything. Without ok it must not; else leave is
// to be called, once or more often, when the answer is with its hook, or will not be given.
func (s *Store) Enter(ctx context.Context) (leave func(), ok bool) {
	if !s.enter() {
		return nil, false
	}
	leave = sync.OnceFunc(s.leave)
	if s.cfg.Shared && !s.fresh(ctx) {
		leave()
		return nil, false
	}
	return leave, true
}

func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping > 0 || s.stateStoppedLocked() {
		return false
	}
	s.inside++
	return true
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside--; s.inside == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// fresh reads the state and reports whether rules may allow. They may not if it cannot be read.
func (s *Store) fresh(ctx context.Context) bool {
	value, rev, err := s.cfg.KV.Get(ctx, key)
	if err != nil {
		s.cfg.Logf("what is stopped cannot be read, so people are asked: %v", err)
		return false
	}
	s.kv.Offer(key, value, rev)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping == 0 && !s.stateStoppedLocked()
}

// drain waits until every answer by a rule that had been begun is with its hook.
func (s *Store) drain(ctx context.Context) error {
	s.mu.Lock()
	if s.inside == 0 {
		s.mu.Unlock()
		return s.others(ctx)
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty := s.empty
	s.mu.Unlock()
	select {
	case <-empty:
		return s.others(ctx)
	case <-ctx.Done():
		return ErrBusy
	}
}

// others waits for the brokers that share the state.
func (s *Store) others(ctx context.Context) error {
	if !s.cfg.Shared {
		return nil
	}
	select {
	case <-time.After(shareGrace):
		return nil
	case <-ctx.Done():
		return ErrBusy
	}
}
