package hookclient

import (
	"context"
	"errors"
	"time"

	"assent/internal/hook"
)

// drainTime is how long one run may go on with posting spooled events.
const drainTime = 20 * time.Millisecond

// deliver hands over an event that needs no answer, and spools it if the broker does not take it
// in time. It returns what the broker wants printed, usually nothing.
func (c *client) deliver(w *agentWatch) []byte {
	return c.deliverWithin(w, plainTimeout, 0)
}

// elicit hands over an MCP server's form and returns its answer, if somebody gives one while the
// broker holds it. The agent shows the form in its own terminal only when we have exited without
// one. So there is one attempt, and whatever goes wrong the form goes back to the agent: nothing
// denies it.
func (c *client) elicit(w *agentWatch) []byte {
	w.signals()
	w.hangup()
	limit := max(min(time.Until(c.deadline), hook.ElicitationWait), time.Millisecond)
	c.deadline = time.Now().Add(limit)
	return c.deliverWithin(w, limit, limit)
}

// deliverWithin is deliver with a time limit. remaining, if not 0, is sent to the broker as the time
// it has.
func (c *client) deliverWithin(w *agentWatch, limit, remaining time.Duration) []byte {
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	s := spool{dir: c.cfg.Spool}
	// Behind events of the same session that wait in the spool, this one waits too.
	if queued, err := s.appendTo(c.session, c.record(), false); queued {
		c.drainSpool(ctx, &s)
		return nil
	} else if err != nil {
		c.cfg.Warn("spool: " + err.Error())
	}
	r := c.attemptEach(ctx, &request{event: &c.event, remaining: remaining, secret: c.secret})
	switch r.state {
	case answered:
		c.drainSpool(ctx, &s)
		return r.body
	case conflict: // the broker has this event already
		return nil
	case refused:
		if permanent(r.status) {
			c.cfg.Warn(c.failure(r) + "; the event is dropped")
			return nil
		}
	}
	if c.cfg.Spool == "" {
		c.cfg.Warn(c.failure(r) + "; no spool directory (set HOME), the event is lost")
		return nil
	}
	if _, err := s.appendTo(c.session, c.record(), true); err != nil {
		c.cfg.Warn(c.failure(r) + "; the event is lost, spool: " + err.Error())
	}
	return nil
}

// attemptEach sends an event that is not waited for once, and where a broker surely did not take it, or is not to be
// spoken to, to the next one. Of those that did not take it, it returns the answer with the most hope in it.
func (c *client) attemptEach(ctx context.Context, q *request) (r reply) {
	for n := range c.targets {
		if n > 0 {
			c.turn()
		}
		q.to = c.to
		now := c.attempt(ctx, q)
		if now.lost() || now.state == answered || now.state == conflict {
			return now
		}
		if n == 0 || now.hope() >= r.hope() {
			r = now
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r
}

// permanent reports whether a broker that answered so would answer the same event so again.
func permanent(status int) bool {
	switch status {
	case 400, 411, 413, 414, 415, 422, 431:
		return true
	}
	return false
}

func (c *client) record() *SpoolRecord {
	return &SpoolRecord{Target: c.targets[0].name, Event: c.event} // brokers of one record are one target
}

var errEnough = errors.New("the time for draining is over")

// drainSpool posts spooled events to a broker that does not drain the spool itself: it is on
// another host, or runs as another user or in a container and cannot read it. A broker that
// drains the spool holds its lock, and then this run does nothing. Where one does not take them the next
// is asked, and an event that one refuses for good is dropped unless another one may still take it.
func (c *client) drainSpool(ctx context.Context, s *spool) {
	hope := 0 // in those that were asked
	for n := 0; n < len(c.targets) && !s.empty() && ctx.Err() == nil; n++ {
		if n > 0 {
			c.turn()
		}
		r := c.drainTo(ctx, s, hope == 0)
		if r.state == answered {
			return
		}
		hope = max(hope, r.hope())
	}
}

// drainTo posts spooled events to one broker, and returns what kept it from taking all that it was given time for.
// The time starts when the connection is there, and the first event may take longer, so that every run gets at
// least one away.
func (c *client) drainTo(ctx context.Context, s *spool, drops bool) (r reply) {
	nc, err := c.to.dial(ctx)
	if err != nil {
		return reply{state: dialState(c.to, err), err: err}
	}
	defer nc.Close()
	defer interruptible(ctx, nc)()
	link, end, posted := newConn(nc), time.Now().Add(drainTime), false
	_, _ = s.drain(c.targets[0].name, 0, func(rec SpoolRecord) error { // the next run goes on
		if link == nil || posted && time.Now().After(end) {
			return errEnough
		}
		if rec.Event.Type == hook.EventPermissionRequest {
			return nil // never spooled by us; nobody waits for it any more
		}
		rep, again := link.post(&request{to: c.to, event: &rec.Event, keep: true})
		posted = true
		if !again {
			link = nil
		}
		switch {
		case rep.state == answered, rep.state == conflict:
			return nil
		case rep.state == refused && permanent(rep.status) && drops:
			c.cfg.Warn(c.failure(rep) + "; a spooled event is dropped")
			return nil
		}
		r = rep
		return errEnough
	})
	return r
}

// post is exchange for a connection that goes on.
func (c *conn) post(q *request) (rep reply, again bool) {
	if err := c.send(q); err != nil {
		return reply{state: unreachable, err: err}, false
	}
	r, err := c.receive()
	if err != nil {
		return reply{state: broken, err: err}, false
	}
	return sortAnswer(r), r.again
}
