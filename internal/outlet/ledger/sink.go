package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Sink stores messages that a queue delivers, in the ledgers of this machine. It belongs to one
// goroutine. All fields are required.
type Sink struct {
	Host   string // this machine; what happened on others is passed over
	Decode func(body []byte) (hook.Mutation, error)
	Logf   func(format string, args ...any)

	wait   time.Duration      // for locks; 0: as long as Store does
	logged map[string]string  // by root, the last problem that was logged
	busy   map[string]backoff // by root; ledgers that were locked

	// Stored, Passed and Failed count messages: those in a ledger, those of other machines or of no
	// repository here, and those that are to be tried again.
	Stored, Passed, Failed int
}

// backoff is the time for which a locked ledger is left alone: to find out that it still is takes
// seconds, in which nothing else is stored.
type backoff struct {
	until time.Time
	delay time.Duration
	err   error
}

// The first and the longest delay of a backoff.
const (
	firstDelay   = 30 * time.Second
	longestDelay = 10 * time.Minute
)

// maxRoots bounds logged and busy. Beyond it they are emptied: a problem may be logged twice, and a
// locked ledger tried sooner.
const maxRoots = 1000

// Store stores what it can. It returns an error for each message that is to be tried again, and nil
// for each that is done with.
func (s *Sink) Store(ctx context.Context, bodies [][]byte) []error {
	errs := make([]error, len(bodies))
	list := make([]hook.Mutation, len(bodies)) // without a root where there is nothing to store
	for i, body := range bodies {
		m, err := s.Decode(body)
		switch {
		case err != nil:
			errs[i] = err
			s.Failed++
			s.log("", fmt.Sprintf("a message cannot be read: %v", err))
		case m.Repo.GitRoot == "" || m.Host != "" && m.Host != s.Host:
			s.Passed++
		case time.Now().Before(s.busy[m.Repo.GitRoot].until):
			errs[i] = s.busy[m.Repo.GitRoot].err
			s.Failed++
		default:
			list[i] = m
		}
	}
	failed := storeWithin(ctx, list, cmp.Or(s.wait, lockWait))
	for root, err := range failed {
		if errors.Is(err, ErrBusy) {
			s.backOff(root, err)
		}
	}
	for i, m := range list {
		root := m.Repo.GitRoot
		err := failed[root]
		switch {
		case root == "":
		case err == nil:
			s.Stored++
			delete(s.logged, root)
			delete(s.busy, root)
		case m.Host == "" && errors.Is(err, ErrGone): // of another machine, most likely
			s.Passed++
		default:
			errs[i] = err
			s.Failed++
			s.log(root, fmt.Sprintf("%v; it is tried again later", err))
		}
	}
	return errs
}

// backOff leaves a locked ledger alone, each time for longer.
func (s *Sink) backOff(root string, err error) {
	delay := min(max(firstDelay, 2*s.busy[root].delay), longestDelay)
	if len(s.busy) >= maxRoots || s.busy == nil {
		s.busy = map[string]backoff{}
	}
	s.busy[root] = backoff{time.Now().Add(delay), delay, err}
}

// log logs a problem with a root, unless it is the one that was logged last.
func (s *Sink) log(root, problem string) {
	if s.logged[root] == problem {
		return
	}
	if len(s.logged) >= maxRoots || s.logged == nil {
		s.logged = map[string]string{}
	}
	s.logged[root] = problem
	s.Logf("ledger: %s", show.Line(problem))
}
