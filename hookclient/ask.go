package hookclient

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"

	"assent/internal/hook"
)

const (
	// newRetry is how long a request that no broker holds yet is tried, and how long one
	// attempt to connect may take.
	newRetry = 3 * time.Second
	// otherRetry is how long an attempt to connect may take where there is another broker to ask.
	otherRetry = time.Second
	// electionPause is the shortest pause for a broker whose cluster cannot record now: it chooses a leader,
	// which takes seconds.
	electionPause = 500 * time.Millisecond
	// proxyPatience is more than proxies try to reach a broker before they answer 502: after that it had held the
	// request. Brokers say so themselves, but not all proxies pass that on.
	proxyPatience = 20 * time.Second
	// Pauses between attempts double from the first to the longest; a broker that has been
	// away for longAway is asked for less often.
	firstPause = 20 * time.Millisecond
	maxPause   = 200 * time.Millisecond
	longAway   = time.Minute
	awayPause  = time.Second
	// lastReadTimeout bounds the wait for an answer after a send failed.
	lastReadTimeout = 500 * time.Millisecond
)

// state is how one attempt ended.
type state int

const (
	answered    state = iota // 200 or 204; the body is the answer
	absent                   // there is no socket file
	unreachable              // nobody accepted, or the connection broke while we sent; or a proxy says so, by 502
	broken                   // the connection broke after we had sent all: the broker may hold it
	unavailable              // the broker is there and cannot record requests now
	gatewayLate              // a proxy timed out: the broker behind it held the request
	conflict                 // 409: the id is taken
	refused                  // any other answer
)

// reply is what one attempt brought.
type reply struct {
	from   string // the broker's name, see target
	state  state
	status int
	body   []byte
	about  about
	retry  bool // the broker says that the same request is to be sent again, see hook.HeaderRetry: until the deadline
	soon   bool // likewise, for as long as it says so
	err    error
}

// attempt sends the event once and waits for its answer until ctx is done.
func (c *client) attempt(ctx context.Context, q *request) (r reply) {
	defer func() { r.from = c.to.name }()
	nc, err := c.to.dial(ctx)
	if err != nil {
		return reply{state: dialState(c.to, err), err: err}
	}
	defer nc.Close()
	defer interruptible(ctx, nc)()
	if q.remaining > 0 { // connecting may have taken seconds of it
		q.remaining = max(time.Until(c.deadline), time.Millisecond)
	}
	return newConn(nc).exchange(q)
}

// interruptible makes every wait on nc end when ctx does.
func interruptible(ctx context.Context, nc net.Conn) (stop func() bool) {
	if t, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(t) // a closed connection says so at the next use
	}
	return context.AfterFunc(ctx, func() { nc.Close() })
}

// exchange sends one request and sorts the answer.
func (c *conn) exchange(q *request) reply {
	if err := c.send(q); err != nil {
		// A server that wants no more of a large event answers before it closes.
		_ = c.SetReadDeadline(time.Now().Add(lastReadTimeout)) // see interruptible
		if r, err := c.receive(); err == nil && r.status >= 400 {
			return sortAnswer(r)
		}
		return reply{state: unreachable, err: err}
	}
	r, err := c.receive()
	switch {
	case errors.Is(err, errMalformed):
		return reply{state: refused, status: r.status, err: err}
	case err != nil:
		return reply{state: broken, err: err}
	}
	return sortAnswer(r)
}

func sortAnswer(r response) reply {
	switch r.status {
	case 204:
		return reply{state: answered, status: 204, about: r.about}
	case 200:
		if len(r.body) > 0 && !looksLikeObject(r.body) {
			// Some other server: its page must not reach the agent.
			return reply{state: refused, status: 200, err: errMalformed}
		}
		return reply{state: answered, status: 200, body: r.body, about: r.about}
	case 409:
		return reply{state: conflict, status: 409}
	case 502, 503:
		switch {
		case r.held: // by a broker that a proxy has lost
			return reply{state: broken, status: r.status, err: errBehindProxy}
		case r.status == 502:
			return reply{state: unreachable, status: 502, err: errBehindProxy}
		}
		return reply{state: unavailable, status: r.status, retry: r.retry, soon: r.soon}
	case 429:
		return reply{state: unavailable, status: r.status, retry: r.retry, soon: r.soon}
	case 504, 524: // 524 is Cloudflare's
		return reply{state: gatewayLate, status: r.status}
	}
	return reply{state: refused, status: r.status}
}

// errBehindProxy is 502, which brokers do not answer with, and 503 where a broker had held the request before.
var errBehindProxy = errors.New("a proxy before it has lost it")

// looksLikeObject is a plausibility check, no more: answers are printed unparsed.
func looksLikeObject(b []byte) bool {
	last := len(b) - 1
	for last > 0 && (b[last] == '\n' || b[last] == ' ') {
		last--
	}
	return b[0] == '{' && b[last] == '}'
}

// dialState tells "no broker runs here", which no waiting fixes, from one that may be starting.
func dialState(t *target, err error) state {
	switch {
	case errors.Is(err, errNeedTLS):
		return refused
	case t.remote:
		return unreachable
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EINTR):
		return unreachable
	}
	return refused // no permission, no socket, a path that is too long
}

// ending is how the wait for an answer ended.
type ending int

const (
	endAnswer  ending = iota
	endExpired        // the deadline passed
	endGone           // the agent went away
	endFailed         // the broker could not be asked
	endAbstain        // the broker will not take this request: its id is taken
)

// ask waits for the answer to a PermissionRequest and returns what to print.
func (c *client) ask(w *agentWatch) []byte {
	w.signals()
	w.hangup()
	ctx, cancel := context.WithDeadline(w.ctx, c.deadline)
	defer cancel()
	r, end := persist(ctx, len(c.targets), func(n int) reply { return c.put(ctx, n) })
	if w.ctx.Err() != nil {
		end = endGone // an answer that came meanwhile has no reader any more
	}
	switch end {
	case endAnswer:
		if len(r.body) == 0 {
			return c.undecided(r.about.byKind != "")
		}
		if c.cfg.Require != "" {
			return c.verified(w.ctx, r.body)
		}
		return r.body
	case endExpired:
		c.cfg.Warn("no answer within " + c.cfg.Timeout.String())
		return c.fallback(c.cfg.OnTimeout, hook.TimeoutWords(c.cfg.Timeout))
	case endFailed:
		c.cfg.Warn(c.failure(r))
		return c.fallback(c.cfg.OnFailure, hook.FailureWords(c.cfg.because))
	case endAbstain:
		c.cfg.Warn(c.failure(r))
		return c.undecided(false)
	}
	return nil
}

// undecided is what is printed where the broker leaves a request to the agent: nothing, for its own prompt
// asks. An agent that has none would run the call, which only a person may leave to it.
func (c *client) undecided(byPerson bool) []byte {
	if byPerson || c.cfg.Agent != "droid" && c.cfg.because == "" {
		return nil
	}
	return c.fallback(c.cfg.OnFailure, hook.FailureWords(c.cfg.because))
}

// put sends the event for the nth time; ctx ends at the deadline. The end of the transcript goes with it
// by a route that older brokers, and proxies that know their routes, do not have: what they refuse is
// sent again at once, without. Not to a broker of this machine that has no room: it knows the route, would
// say the same again, and should not have to read a payload of megabytes twice to do so. (A proxy may say
// so of a route.) Later attempts go without, too. Each attempt but the first is at the next broker.
func (c *client) put(ctx context.Context, n int) reply {
	if n > 1 {
		c.turn()
	}
	c.event.Attempt = n
	q := request{to: c.to, event: &c.event,
		remaining: max(time.Until(c.deadline), time.Millisecond), onTimeout: c.cfg.OnTimeout, secret: c.secret, tail: c.tail}
	if !c.sendsTranscript() { // it was read for the broker on the socket
		q.tail = Transcript{Why: hook.SaidOff}
	}
	r := c.attempt(ctx, &q)
	no := r.status >= 400 && (r.state == refused || r.state == unavailable)
	if len(q.tail.Text) == 0 || !no || r.retry || r.soon || ctx.Err() != nil {
		return r
	}
	c.tail, q.tail = Transcript{}, Transcript{}
	if r.state == unavailable && !c.to.remote {
		return r
	}
	return c.attempt(ctx, &q)
}

// persist calls try, with the number of the attempt from 1 on, until there is an answer, the
// rules of a request give it up, or ctx is done. A request whose last byte was sent before the
// connection broke is waiting: the broker may hold it, a person may be deciding it, and so
// nothing but the deadline gives it up. Neither does anything else one that a broker wants to have again,
// because its cluster cannot record now (where it is the broker's disk, only while the broker says so); but when its time is over without a broker having taken it, that
// is a failure. One that is not waiting fails at once where no broker
// is or can take it, and after newRetry where one may be starting.
//
// There are so many brokers, and each attempt is at the next one. Only when all were tried, without a pause,
// the rules have the word, about the best that was heard in the round.
func persist(ctx context.Context, brokers int, try func(attempt int) reply) (reply, ending) {
	start, waiting, wanted := time.Now(), false, false
	lost := start // when the broker was last known to be there
	pause := firstPause
	var r reply // the round's best
	for n := 1; ctx.Err() == nil; n++ {
		began := time.Now()
		now := try(n)
		if now.state == answered {
			return now, endAnswer
		}
		if last := (n - 1) % brokers; last == 0 || now.hope() >= r.hope() || ctx.Err() != nil {
			r = now
		}
		if ctx.Err() != nil {
			break
		}
		switch now.state {
		case conflict:
			return now, endAbstain
		case broken, gatewayLate:
			waiting = true
			if time.Since(began) >= awayPause { // it held the request, and is not just breaking everything
				lost, pause = time.Now(), firstPause
			}
		case unavailable:
			wanted = wanted || now.retry
		case unreachable:
			waiting = waiting || now.status == 502 && time.Since(began) >= proxyPatience
		}
		if n%brokers > 0 {
			continue
		}
		switch r.state {
		case refused:
			return r, endFailed
		case absent, unavailable:
			if !waiting && !wanted && !r.soon {
				return r, endFailed
			}
		case unreachable:
			if !waiting && !wanted && time.Since(start) >= newRetry {
				return r, endFailed
			}
		}
		if r.retry {
			pause = max(pause, electionPause)
		}
		if (waiting || wanted) && time.Since(lost) > longAway {
			pause = awayPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause - rand.N(pause/4)): // not all hooks of a restarted broker at once
		}
		pause = max(pause, min(2*pause, maxPause))
	}
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return r, endGone
	case wanted && !waiting:
		return r, endFailed
	}
	return r, endExpired
}

// lost reports whether a broker may have taken what was sent, and did not say so.
func (r *reply) lost() bool { return r.state == broken || r.state == gatewayLate }

// hope orders what brokers answered by how much there is to be hoped for from another attempt.
func (r *reply) hope() int {
	switch {
	case r.lost():
		return 4
	case r.retry, r.soon:
		return 3
	case r.state == unreachable:
		return 2
	case r.state == absent, r.state == unavailable:
		return 1
	}
	return 0
}

// failure says in one line what went wrong and what to do.
func (c *client) failure(r reply) string {
	at := " at " + cmp.Or(r.from, c.to.name)
	switch r.state {
	case absent:
		return "no broker" + at + "; start one with `assent serve`"
	case unreachable, broken:
		return "the broker" + at + " does not answer: " + r.err.Error()
	case unavailable:
		return "the broker" + at + " cannot record now (HTTP " + strconv.Itoa(r.status) + "); see its log"
	case conflict:
		return "the broker" + at + " holds another request under the same id (HTTP 409)"
	}
	if r.err != nil {
		return "asking the broker" + at + ": " + r.err.Error()
	}
	switch r.status {
	case 401, 403:
		return "the broker" + at + " does not accept the token (HTTP " + strconv.Itoa(r.status) + "); it may have expired; make one with `assent token create --role submit`"
	}
	return "the broker" + at + " refused the event (HTTP " + strconv.Itoa(r.status) + ")"
}
