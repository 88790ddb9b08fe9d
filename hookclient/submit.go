package hookclient

import (
	"context"
	"errors"
	"os"
	"time"

	"assent/internal/hook"
)

// Answer is the result of a request that Submit handed over.
type Answer struct {
	// Answered says that the broker answered, with Body for the agent; an empty one means that it
	// leaves the decision to the agent.
	Answered bool
	Body     []byte
	// Outcome and By are how the request ended and who decided; empty where an older broker does
	// not say so.
	Outcome hook.Outcome
	By      *hook.Approver
	// Expired says that the time was up before an answer came.
	Expired bool
	// Why says in one line why there is no answer, and what to do. Where the time was up it is
	// what went wrong last, empty if nothing did.
	Why string
}

// Submit asks the broker of cfg about a PermissionRequest that came otherwise than on standard
// input, and blocks until it is answered, cfg.Timeout is over, or ctx is done. It retries as Run
// does, under the event's ID, prints nothing and decides nothing, and heeds no signals.
//
// An event without an ID happened here and now: it gets one, and the agent and time that Run would give
// it, and the origin unless it has one.
func Submit(ctx context.Context, cfg Config, e hook.Event) Answer {
	return SubmitWith(ctx, cfg, e, Transcript{})
}

// SubmitWith is Submit with what a hook sent beside the request. The text goes where a hook of cfg would
// send it, see Config.Transcript.
func SubmitWith(ctx context.Context, cfg Config, e hook.Event, t Transcript) Answer {
	c, err := newClient(cfg, e)
	if err != nil {
		return Answer{Why: err.Error()}
	}
	if c.tail = t; len(t.Text) > 0 && !c.sendsTranscript() {
		c.tail = Transcript{Why: hook.SaidOff}
	}
	waited, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	var lost reply // why the broker does not hold the request now
	r, end := persist(waited, len(c.targets), func(n int) reply {
		began := time.Now()
		r := c.put(waited, n)
		switch {
		case waited.Err() == nil && !errors.Is(r.err, os.ErrDeadlineExceeded): // which comes a little before
			lost = r
		case time.Since(began) >= awayPause: // held until the time was up
			lost = reply{}
		}
		return r
	})
	a := Answer{Answered: end == endAnswer, Expired: end == endExpired && ctx.Err() == nil}
	switch {
	case a.Answered:
		a.Body, a.Outcome = r.body, hook.Outcome(hook.UnescapeHeader(r.about.outcome))
		if r.about.byKind != "" {
			a.By = &hook.Approver{Kind: hook.UnescapeHeader(r.about.byKind), Name: hook.UnescapeHeader(r.about.byName), File: hook.UnescapeHeader(r.about.byFile)}
		}
	case ctx.Err() != nil:
		a.Why = "the agent went away"
	case !a.Expired:
		a.Why = c.failure(r)
	case lost.state != answered:
		a.Why = c.failure(lost)
	}
	return a
}

// Tell hands the broker of cfg an event that nobody waits for, once, and returns why it was not
// taken.
func Tell(ctx context.Context, cfg Config, e hook.Event) (why string) {
	c, err := newClient(cfg, e)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, plainTimeout)
	defer cancel()
	if r := c.attemptEach(ctx, &request{event: &c.event}); r.state != answered && r.state != conflict {
		return c.failure(r)
	}
	return ""
}

func newClient(cfg Config, e hook.Event) (*client, error) {
	cfg.fill()
	cfg.fallbacks()
	if e.Attempt == 0 {
		e.Attempt = 1
	}
	if e.ID == "" {
		e.ID, e.Agent, e.Time = newID(), cfg.Agent, time.Now()
		if e.Origin == (hook.Origin{}) {
			e.Origin = origin(cfg.Agent, cfg.Env)
		}
	}
	c := &client{cfg: cfg, event: e, deadline: time.Now().Add(cfg.Timeout), secret: newSecret()}
	if cfg.Fault != nil {
		return nil, cfg.Fault
	}
	if cfg.Require != "" {
		return nil, errors.New("require = signed: only a hook of Claude Code that checks signatures is answered on this machine")
	}
	if len(e.Raw) > MaxPayload {
		return nil, errors.New("the request is larger than the broker takes")
	}
	return c, c.aim()
}
