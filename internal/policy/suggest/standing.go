package suggest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/policy/files"
)

// Of suggestions that cannot be had.
var (
	// ErrSlow: looking took longer than anybody is to wait. assent rules suggest has no such bound.
	ErrSlow = errors.New("looking for suggestions took too long; try assent rules suggest")
	// ErrRefused: a request that the rule would allow was denied, or allowed with another input.
	ErrRefused = errors.New("a request that this rule would allow was denied or edited; look at the suggestions again")
	// ErrGone: the request has no such proposal now.
	ErrGone = errors.New("the request has no such proposal now; look at its proposals again")
)

// Bounds of Standing.
const (
	standFor    = 5 * time.Minute
	standTime   = 20 * time.Second // to look
	standLeast  = 2
	standMostOf = 12 // suggestions, those that answer most
)

// Standing keeps the suggestions that were found last, for those who ask often: looking takes seconds.
// It has turns of its own, so that nobody who asks for the proposals of a request waits for it. It may be
// used from any goroutine, and starts none: who asks first does the looking, and ends it by leaving.
type Standing struct {
	past  Past
	look  *Proposer
	check *Proposer

	mu    sync.Mutex
	found *Found // guarded by mu; nil: nothing, or the rules have changed since
	rules int    // guarded by mu; counts changes
}

// Found is what stands.
type Found struct {
	Set
	At time.Time // when it was looked
}

// NewStanding returns a Standing that tries its rules with those of the book. Call RulesChanged
// after these have changed.
func NewStanding(book *files.Book, past Past) *Standing {
	return &Standing{past: past, look: NewProposer(book, nil), check: NewProposer(book, nil)}
}

// RulesChanged says that what was found may be answered by now.
func (s *Standing) RulesChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
	s.rules++
}

// standing returns what is found and young enough, and a number that RulesChanged changes.
func (s *Standing) standing() (*Found, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil && time.Since(s.found.At) >= standFor {
		s.found = nil
	}
	return s.found, s.rules
}

// Suggest returns the suggestions, perhaps some minutes old. Errors: ErrSlow, ctx's, and those of
// reading the past.
func (s *Standing) Suggest(ctx context.Context) (Found, error) {
	if f, _ := s.standing(); f != nil {
		return *f, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, standTime, ErrSlow)
	defer cancel()
	done, err := s.look.wait(ctx)
	if err != nil {
		return Found{}, err
	}
	defer done()
	f, rules := s.standing() // somebody else may have looked meanwhile
	if f != nil {
		return *f, nil
	}
	past, err := s.past.newest(ctx)
	if err != nil {
		return Found{}, slowed(ctx, err)
	}
	set, err := s.look.smallest(ctx, past, standLeast)
	if err != nil {
		return Found{}, slowed(ctx, err)
	}
	set.Rules = set.Rules[:min(len(set.Rules), standMostOf)]
	f = &Found{set, time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == rules {
		s.found = f
	}
	return *f, nil
}

// slowed names what ended ctx, whatever the error made of it.
func slowed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("suggest rules: %w", context.Cause(ctx))
	}
	return err
}

// Find returns what is to be saved of a suggestion, made of req and named by its digest. What was
// refused since it was found counts. Errors: ErrGone, ErrRefused, ErrSlow, ctx's, and those of reading
// the past.
func (s *Standing) Find(ctx context.Context, req *hook.Request, proposal string) (hook.Saved, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, standTime, ErrSlow)
	defer cancel()
	done, err := s.check.wait(ctx)
	if err != nil {
		return hook.Saved{}, err
	}
	defer done()
	x, ok := s.check.find(req, proposal)
	if !ok {
		return hook.Saved{}, ErrGone
	}
	past, err := s.past.newest(ctx)
	if err != nil {
		return hook.Saved{}, slowed(ctx, err)
	}
	for i := range past {
		if ctx.Err() != nil {
			return hook.Saved{}, slowed(ctx, nil)
		}
		if past[i].Refused && x.allows(past[i].Request) {
			return hook.Saved{}, ErrRefused
		}
	}
	return x.saved, nil
}
