package halt

import (
	"context"
	"time"
)

const (
	// The pause before a stop that could not be recorded is tried again, doubled at each failure in a row.
	firstPause   = time.Second
	longestPause = time.Minute
	// tryTime bounds one try: a lift has to wait for it.
	tryTime = 5 * time.Second
)

// recordOwed records, until ctx is done, the stop that could not be recorded when it was done.
func (s *Store) recordOwed(ctx context.Context) {
	pause := firstPause
	for {
		if s.owes() == nil {
			pause = firstPause
			select {
			case <-s.owed:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(pause):
			s.retry(ctx)
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return
		}
	}
}

// owes is the stop that is still to be recorded, or nil.
func (s *Store) owes() *ownStop {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil || s.own.unreadable {
		return nil
	}
	return s.own
}

// retry tries once to record what is owed. The failure was logged when it was done, and what is stopped
// is on every surface, so that another is no news.
func (s *Store) retry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return
	}
	owed := s.owes()
	if owed == nil || s.record(ctx, owed.act, nil) != nil {
		return
	}
	s.cfg.Logf("the stop that could not be recorded is recorded now")
}
