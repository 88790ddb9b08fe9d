// Package broker holds permission requests until somebody or something answers them.
//
// One request waits in its session's queue from Ask until exactly one of these is recorded: a
// decision, its deadline, or the agent's own settlement. The record (see Log) is the arbiter;
// the broker's memory follows it.
//
// # Concurrency
//
// One goroutine, started by New and ended by Close, tails the record and is the only writer of
// requests' states. Ask, Decide, Observe and Watch may be called from any goroutine.
package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assent/internal/hook"
)

// Config is what a Broker needs. Log is required; the zero value of the rest works.
type Config struct {
	Log Log
	// Sole says that no other replica shares the record: then requests found open at the
	// start are this broker's to withdraw when their hooks do not come back.
	Sole bool
	// DetachGrace is how long a remote hook may be away before its request is withdrawn; 0
	// means 15 s. RestartGrace is the same after a start, for every hook; 0 means 30 s.
	DetachGrace, RestartGrace time.Duration
	// ForeignExpiry is how long after its deadline a request held by another replica is
	// expired by this one; 0 means 5 s.
	ForeignExpiry time.Duration
	// Encode turns a View into the JSON that watchers send, once a change; nil means none.
	Encode func(View) []byte
	// Logf hears of what the operator should know; nil discards it. It never gets a payload.
	Logf func(format string, args ...any)
}

// View is a request and what is known about it now.
type View struct {
	hook.Request
	// State is "pending" or "ended".
	State string
	// Detached says that no hook is connected at the moment; it may come back.
	Detached  bool
	Outcome   hook.Outcome
	Reason    string // of an ended request, and "overruled"
	DecidedBy *hook.Approver
	Decision  *hook.Decision
	SettledAt time.Time
	// Delivery is empty, "recorded", "delivered", "confirmed" or "overruled".
	Delivery string
	// LastSeq is the sequence of the newest record.
	LastSeq uint64
}

// Answer is what a waiting hook gets.
type Answer struct {
	Outcome  hook.Outcome
	Reason   string
	Decision *hook.Decision // set when Outcome is Allowed or Denied
	// Fallback is what to answer when there is no decision.
	Fallback hook.Fallback
}

// Change is one step of the broker's visible state.
type Change struct {
	// Seq counts from 1 within one Epoch.
	Seq  uint64
	View View
	json func() []byte
}

// JSON is Config.Encode of the View, made once for all watchers.
func (c *Change) JSON() []byte { return c.json() }

// Snapshot is the whole visible state: the pending requests, oldest first within a session.
type Snapshot struct {
	// Epoch names this run of the broker; sequence numbers of another mean nothing.
	Epoch   string
	Seq     uint64
	Pending []View
}

// SettledError is Decide's and Ask's answer for a request that is over. It matches
// ErrSettled.
type SettledError struct {
	Outcome hook.Outcome
	Reason  string
	By      *hook.Approver
}

func (e *SettledError) Error() string {
	who := ""
	if e.By != nil {
		who = " by " + e.By.Name
	}
	return fmt.Sprintf("already %s%s", e.Outcome, who)
}

// Is makes errors.Is(err, ErrSettled) true.
func (e *SettledError) Is(target error) bool { return target == ErrSettled }

// Errors of a Broker.
var (
	ErrSettled  = errors.New("the request is already settled")
	ErrNotFound = errors.New("no such request")
	ErrDigest   = errors.New("the decision is for another input than the request's")
	ErrReused   = errors.New("the id is taken by a request with another payload")
	ErrStopping = errors.New("the broker is stopping")
	ErrLagged   = errors.New("the watcher fell behind; take a new snapshot")
)

var _ = context.Canceled
