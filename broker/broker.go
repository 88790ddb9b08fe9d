package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assent/internal/hook"
)

// Config is what a Broker needs. Log is required; the zero value of the rest works.
type Config struct {
	Log Log
	// SingleReplica says that no other replica shares the record: then requests found open at the
	// start are this broker's to withdraw when their hooks do not come back.
	SingleReplica bool
	// DetachGrace is how long a remote hook may be away before a SingleReplica broker withdraws its request; 0
	// means 15 s. RestartGrace is the same after a start, for every hook; 0 means 30 s.
	DetachGrace, RestartGrace time.Duration
	// ElsewhereExpiry is how long after its deadline a request held by another replica is
	// expired by this one; 0 means 5 s.
	ElsewhereExpiry time.Duration
	// CallKey computes hook.Payload.CallKey for an input that an approver changed: the tool
	// then runs with that input. Nil means that only the request's own key is expected.
	CallKey func(tool string, input []byte) string
	// Encode turns a View into the JSON that watchers send, once a change; nil means none.
	Encode func(View) []byte
	// Replicas knows the other brokers that share the record. nil: nobody can tell whether a hook that is held
	// elsewhere still waits, so it counts as waiting. It means nothing with SingleReplica.
	Replicas Replicas
	// Races says whether an agent's own prompt is up while its request waits, so that its events tell how
	// that was answered. The requests of others end with their hooks, by a decision or by their time, and
	// by no event. nil: every agent's is.
	Races func(agent string) bool
	// Recorded is called with every step that is recorded from now on, and the state of its request
	// after that step. It is called under the broker's lock: it must not block or call the broker. It
	// may be nil.
	Recorded func(step hook.Step, v *View)
	// Logf reports what the operator should know; nil discards it. It is never given a payload.
	Logf func(format string, args ...any)
}

// Replicas are the runs of the brokers that share a record: see package internal/store/presence.
type Replicas interface {
	// Self names this run.
	Self() string
	// Gone reports whether a run is over, or silent for so long that it is taken for that. It does not block.
	Gone(run string) bool
	// Attached notes that a hook of the request waits here; Holder is the run that noted so last, "" if none
	// did; Settled forgets that.
	Attached(ctx context.Context, requestID string) error
	Holder(ctx context.Context, requestID string) (run string, err error)
	Settled(ctx context.Context, requestID string)
}

// View is a request and what is known about it now.
type View struct {
	hook.Request
	// AskedSeq is the sequence of the record asked, by which people call the request: every broker of
	// the record gives it the same number. 0 before it is recorded.
	AskedSeq uint64
	// State is Pending or Ended.
	State string
	// Detached says that no hook is connected at the moment; it may come back.
	Detached bool
	// HeldElsewhere says that another replica holds the hook, as far as we know.
	HeldElsewhere bool
	Outcome       hook.Outcome
	Reason        string // of an ended request; ReasonOverruled, hook.ReasonFailed
	DecidedBy     *hook.Approver
	Decision      *hook.Decision
	SettledAt     time.Time
	// SettledSeq is the sequence of the record that settled it: the cursor of Ended's pages.
	SettledSeq uint64
	// Delivery is how far the answer got: empty, Recorded, Delivered, Refused, Confirmed or Overruled.
	Delivery string
	// Failure is what the tool said when it ran and failed, as it came; empty when it said nothing. Of a refused
	// answer it is why.
	Failure string
	// LastSeq is the sequence of the newest record.
	LastSeq uint64
}

// The states of a View.
const (
	Pending = "pending"
	Ended   = "ended"
)

// The values of View.Delivery after "".
const (
	Recorded  = "recorded"  // the decision stands in the record
	Delivered = "delivered" // and was written to the waiting hook
	Refused   = "refused"   // the hook did not print the allow: the agent's own prompt decides
	Confirmed = "confirmed" // a later event proves that the allowed tool ran
	// Overruled: a later event proves that the denied tool ran, or that one which was allowed as
	// edited ran as it was asked for.
	Overruled = "overruled"
)

// ReasonOverruled is the View.Reason of an answer that the terminal, or the agent, overruled.
const ReasonOverruled = "overruled"

// Answer is what a waiting hook gets.
type Answer struct {
	Outcome  hook.Outcome
	Reason   string
	Decision *hook.Decision // set when Outcome is Allowed or Denied
	By       *hook.Approver // who decided; set with Decision
	// Fallback is what to answer when there is no decision.
	Fallback hook.Fallback
	// SettledAt is when it was settled; zero where no record says so.
	SettledAt time.Time
}

// Change is one step of the broker's visible state.
type Change struct {
	// Seq counts from 1 within one Epoch.
	Seq  uint64
	View View

	encode func(View) []byte
	once   sync.Once
	json   []byte // written by once
}

// JSON is Config.Encode of the View, made once for all watchers; nil without Encode.
func (c *Change) JSON() []byte {
	c.once.Do(func() {
		if c.encode != nil {
			c.json = c.encode(c.View)
		}
	})
	return c.json
}

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
		who = " by " + e.By.Who()
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
	ErrStranger = errors.New("the id is taken by a request that this hook cannot show to be its own")
	ErrStopping = errors.New("the broker is stopping")
)

// The bounds of what a broker keeps and how long it tries. Pending requests are bounded by the
// hooks that wait for them, which is the server's to limit.
const (
	maxUnproven        = 16_384   // settled requests that wait for proof, in all; oldest forgotten first
	maxUnprovenSession = 256      // the same in one session
	maxUnprovenBytes   = 64 << 20 // of their payloads together
	maxUnprovenAge     = time.Hour

	askTimeout    = time.Minute            // to record asked in a crowd, or on a slow disk; a log that does not work says so within a second
	decideTimeout = 10 * time.Second       // to record a decision, likewise
	endTimeout    = 10 * time.Second       // one attempt to record an end, likewise
	deliveryWait  = 500 * time.Millisecond // Decide waits so long for Delivered
	maxRetryPause = 5 * time.Second        // between attempts while the log is away
	closeTimeout  = time.Second            // Close waits so long for what is being written
)

func (c Config) withDefaults() Config {
	if c.DetachGrace == 0 {
		c.DetachGrace = 15 * time.Second
	}
	if c.RestartGrace == 0 {
		c.RestartGrace = 30 * time.Second
	}
	if c.ElsewhereExpiry == 0 {
		c.ElsewhereExpiry = 5 * time.Second
	}
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	return c
}

// retryPause is how long to wait after the nth failed attempt, counting from 1.
func retryPause(n int) time.Duration {
	return min(maxRetryPause, 250*time.Millisecond<<min(n-1, 5))
}
