// Package intake is the journey of a hook's event through the broker's process, without HTTP: it
// reads the payload, makes the event durable, and answers those that ask for permission.
//
// Handle takes an event, and Pending.Wait gives the answer to one that asks. What happens in
// between stands in files named after the steps:
//
//	read.go       what the payload says, and whether it asks for anything
//	gate.go       a call about which the agent asks nobody: do the rules deny it, or want it asked?
//	publish.go    the event becomes durable
//	toolcall.go   which tool call is it about?
//	request.go    the request that approvers will see
//	hookasks.go   asks the agent's hook too, what its editor is asked?
//	duplicate.go  does the agent ask about this call already, in its other way?
//	judge.go      what do the rules say?
//	halt.go       everything is stopped, or paused
//	hold.go       may it wait, and for how long, where the agent shows no prompt meanwhile?
//	grants.go     what approvers saved is counted when it allows
//	contain.go    what is allowed only contained: what then runs, and whether it did before
//	context.go    what else should a person know? prompts.go, editcontext.go
//	record.go     the request becomes durable, and a rule's answer with it
//	pending.go    the wait
//	answer.go     the answer, in the agent's words
//
// Whatever goes wrong, the answer is nothing, which leaves the decision to the agent's own prompt, or
// the denial that the hook asked for in that case; nothing but a recorded decision allows.
//
// # Concurrency
//
// An Intake has no goroutine of its own. Its methods may be called from any goroutine, those of a
// Pending from one at a time.
package intake

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/reqcontext"
	"assent/internal/text/show"
)

// Config is what an Intake needs. Broker and Publish are required; the zero value of the rest
// works, but for MaxWaiting and MaxRemote.
type Config struct {
	Broker *broker.Broker
	// Publish makes an event durable and returns its EVENTS sequence.
	Publish func(context.Context, hook.Event) (uint64, error)
	// Rules says what the rules in force make of a request with this input. It must not block. nil
	// means that there are no rules.
	Rules func(req *hook.Request, input hook.JSON) hook.Verdict
	// Signed are the rules that somebody signed, for hooks that evaluate them by themselves.
	Signed SignedRules
	// Redeem says whether what approvers saved under these ids may allow the request, and counts
	// that, once for a request. false means that it no longer may, and that the rules in force
	// reflect that. nil redeems nothing.
	Redeem func(ctx context.Context, requestID string, grants []string) (bool, error)
	// Contain has what a rule allows only contained run that way.
	Contain Contain
	// Contexts keeps what a person should know beside a request that waits; nil keeps nothing.
	Contexts *reqcontext.Store
	// PastPrompts calls each with the events of type UserPromptSubmit of a session that began before this
	// broker did, newest first, until that returns false. It reports whether it knows the session; with
	// wait it waits until it has heard of all events so far. nil looks nothing up.
	PastPrompts func(ctx context.Context, session string, wait bool, each func(hook.Event) bool) (known bool)
	// Secret says of a file whether it may hold secrets, which then are not read. Self is the submitter
	// that the broker's own user is: files are shown to people for nobody else. Without both no file is
	// read for its text.
	Secret func(req *hook.Request, path string) bool
	Self   string
	// EnterAllow is called before rules or grants allow anything: without ok they must not, because
	// everything is stopped; leave is called when the answer is with its hook. nil: they always may.
	EnterAllow func(context.Context) (leave func(), ok bool)
	// Observed is told of each event of an agent's own hook once it is durable, with its payload; it must not
	// block. Forgotten is told when a session is to be forgotten. nil: nobody is.
	Observed  func(*hook.Event, *hook.Payload)
	Forgotten func(session string)
	// Reply is called with each event of an agent's own hook that asks for nothing, once it is durable, and
	// returns what the hook prints. nil, and what it usually returns: nothing.
	Reply func(context.Context, *hook.Event, *hook.Payload) []byte
	// Paused reports whether requests are left to the agents' own prompts now. nil: they are not.
	Paused func() bool
	// FormsSeen reports whether somebody who may decide would see the form of an MCP server now. nil
	// means that nobody would.
	FormsSeen func() bool
	// Reachable reports whether somebody who may decide can be told of a request now. Agents that show no
	// prompt of their own meanwhile wait for nobody else, and for Hold at most. nil: somebody always can.
	Reachable func() bool
	Hold      time.Duration // 0 means DefaultHold
	// MaxWaiting bounds the hooks that wait, MaxRemote those of them that did not come on the unix
	// socket.
	MaxWaiting, MaxRemote int
	// Log gets what the operator should know, and never a payload. nil discards it.
	Log Log
	// Count counts what passes.
	Count Count
}

// Log takes a message, and keys with their values. *zap.SugaredLogger is one.
type Log interface {
	Infow(msg string, keysAndValues ...any)
	Warnw(msg string, keysAndValues ...any)
	Errorw(msg string, keysAndValues ...any)
}

// DefaultHold is how long a request of an agent that shows no prompt meanwhile waits: whoever sits at
// its terminal can do nothing else until then.
const DefaultHold = 10 * time.Minute

// Count are functions that count; nil ones do not.
type Count struct {
	// Event counts an event by its type, which is foreign text.
	Event func(eventType string)
	// Unreadable counts a payload that could not be read, TooLarge a request that could not be held.
	Unreadable, TooLarge func()
	// Published is how long an event that asks nothing took until it was durable.
	Published func(time.Duration)
	// Decided counts a decision, by the kind of its approver.
	Decided func(kind string)
}

// Errors of Handle, beside those of broker.Ask.
var ErrTooMany = errors.New("too many hooks wait")

// PublishError says that an event could not be made durable.
type PublishError struct{ Err error }

func (e *PublishError) Error() string { return "publish the event: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PublishError) Unwrap() error { return e.Err }

// Intake takes hooks' events. Use New.
type Intake struct {
	cfg     Config
	ctx     context.Context // bounds the intake's own look-ups
	calls   toolCalls
	asks    hookAsks
	prompts prompts
	waiting atomic.Int64 // the Pendings that are not closed
	remote  atomic.Int64 // those of them that did not come on the unix socket
}

// New returns an intake. ctx bounds its own look-ups, which do not depend on a hook's connection.
func New(ctx context.Context, cfg Config) *Intake {
	if cfg.Log == nil {
		cfg.Log = noLog{}
	}
	if cfg.Redeem == nil {
		cfg.Redeem = func(context.Context, string, []string) (bool, error) { return false, errNoGrants }
	}
	if cfg.EnterAllow == nil {
		cfg.EnterAllow = func(context.Context) (func(), bool) { return func() {}, true }
	}
	if cfg.Observed == nil {
		cfg.Observed = func(*hook.Event, *hook.Payload) {}
	}
	if cfg.Forgotten == nil {
		cfg.Forgotten = func(string) {}
	}
	if cfg.Reply == nil {
		cfg.Reply = func(context.Context, *hook.Event, *hook.Payload) []byte { return nil }
	}
	if cfg.Paused == nil {
		cfg.Paused = func() bool { return false }
	}
	if cfg.Reachable == nil {
		cfg.Reachable = func() bool { return true }
	}
	cfg.Hold = cmp.Or(cfg.Hold, DefaultHold)
	if cfg.FormsSeen == nil {
		cfg.FormsSeen = func() bool { return false }
	}
	if cfg.Count.Event == nil {
		cfg.Count.Event = func(string) {}
	}
	if cfg.Count.Unreadable == nil {
		cfg.Count.Unreadable = func() {}
	}
	if cfg.Count.TooLarge == nil {
		cfg.Count.TooLarge = func() {}
	}
	if cfg.Count.Published == nil {
		cfg.Count.Published = func(time.Duration) {}
	}
	if cfg.Count.Decided == nil {
		cfg.Count.Decided = func(string) {}
	}
	return &Intake{ctx: ctx, cfg: cfg, prompts: prompts{looking: make(chan struct{}, 1)}}
}

// Waiting is how many hooks wait for their answer.
func (in *Intake) Waiting() int { return int(in.waiting.Load()) }

// Arrival is an event as a hook brought it, and what the hook says of its own wait.
type Arrival struct {
	// Event is what is known without reading the payload, with the payload in Raw. Type is what the
	// hook calls the event, which the payload may contradict.
	Event hook.Event
	// Machine is what whoever made the token of the hook's machine called it; "" for a hook without one.
	Machine string
	// Channel is how the hook reached the broker, At when: its timeout runs from there, however long
	// it took to read the payload.
	Channel hook.Channel
	At      time.Time
	// Timeout is how long the hook waits, OnTimeout what it is to be told after that.
	Timeout   time.Duration
	OnTimeout hook.Fallback
	// ReattachSHA256 is the digest of the hook's secret, see hook.Request.
	ReattachSHA256 string
	// Transcript is the end of the agent's transcript, in whole lines; where it is empty NoTranscript is
	// the hook's word on why, one of the values of hook.Context.SaidWhy. Neither is kept.
	Transcript   []byte
	NoTranscript string
	// Print is called with what the hook is to print for an event that asks for nothing, if that is
	// anything; nil: it prints nothing.
	Print func([]byte)
}

// Handle takes an event. It returns nil when there is nothing to wait for: the event is durable, and
// its hook prints what a.Print got, usually nothing. Otherwise the Pending must be waited for and closed.
//
// ctx is the hook's connection. A *PublishError says that the event is not durable, ErrTooMany that
// too many hooks wait; the others are those of broker.Ask.
func (in *Intake) Handle(ctx context.Context, a Arrival) (*Pending, error) {
	p := in.read(&a)
	goesBy := in.gate(&a, &p)
	e := a.Event // by now its type is known
	var err error
	if e.Source == "" {
		if e.Seq, err = in.publish(ctx, e, p.asks); err != nil {
			return nil, err
		}
		in.calls.observe(&e, &p.Payload)
		in.asks.observe(&e, p.SessionID)
		in.prompts.observe(&e, p.SessionID)
		in.cfg.Observed(&e, &p.Payload)
	}
	if !p.asks {
		if e.Source == "" && !p.isForm { // what a permission prompt tool brings is no event
			in.cfg.Count.Published(time.Since(a.At))
			if goesBy && a.Print != nil {
				a.Print([]byte(noDecision))
			}
			if e.Signed { // it would print nothing
				return nil, nil
			}
			if out := in.cfg.Reply(ctx, &e, &p.Payload); len(out) > 0 && a.Print != nil {
				a.Print(out)
			}
		}
		return nil, nil
	}
	if p.isForm { // no call of a tool: there is nothing to tell apart, and no rule answers it
		req, about := in.look(ctx, &a, newForm(&a, &e, p))
		return in.record(req, about, nil, time.Time{})
	}
	req := in.bounded(&a, newRequest(&a, &e, &p.Payload, in.calls.identify(ctx, &e, &p.Payload)))
	defer in.calls.recorded(req) // however this ends, the broker holds it by then, or will not
	if e.Source == "" {
		defer in.asks.add(req) // the broker holds it by then
	} else if in.asksByHook(ctx, req) {
		in.cfg.Log.Infow("left to the editor: the agent's own hook asks", "id", req.ID, "session", show.Logged(req.SessionID))
		return &Pending{in: in, req: req, answered: true}, nil
	}
	if pending, err := in.attach(req); pending != nil || err != nil {
		return pending, err
	}
	if e.Source != "" { // nobody else tells subscribers that the agent asks
		if e.Seq, err = in.publish(ctx, e, true); err != nil {
			return nil, err
		}
		req = withEvent(req, e.Seq)
	}
	if len(e.Raw) > hook.MaxRequest {
		return in.handBack(ctx, req, hook.ReasonTooLarge), nil
	}
	if in.pauses(ctx, req) {
		return in.handBack(ctx, req, hook.ReasonPaused), nil
	}
	looked := time.Now() // at what is stopped, or later
	req, allowed := in.judge(req)
	var about *hook.Context
	if !req.Verdict.Decides() { // somebody will look at it
		if in.unattended(ctx, req) {
			return in.handBack(ctx, req, hook.ReasonNobody), nil
		}
		req, about = in.look(ctx, &a, req)
	}
	return in.record(req, about, allowed, looked)
}

// noLog discards.
type noLog struct{}

func (noLog) Infow(string, ...any)  {}
func (noLog) Warnw(string, ...any)  {}
func (noLog) Errorw(string, ...any) {}
