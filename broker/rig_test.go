package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// rig is a broker on a log in memory, with its own line of events. It lives in a synctest
// bubble, so time is exact.
type rig struct {
	t   *testing.T
	log *logtest.Log
	cfg broker.Config
	b   *broker.Broker

	mu       sync.Mutex
	eventSeq uint64
	lines    []string // of the log for the operator
	asked    int
	ways     []string // the transitions that requests took, as "id: from -> to"
}

// inBubble runs f with a new rig inside a bubble and closes its broker afterwards.
func inBubble(t *testing.T, f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer func() { r.b.Close() }()
		f(t, r)
	})
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, log: logtest.New()}
	r.cfg = broker.Config{
		SingleReplica: true,
		Logf: func(f string, a ...any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lines = append(r.lines, fmt.Sprintf(f, a...))
		},
		CallKey: func(tool string, input []byte) string { return tool + " " + string(input) },
		Encode:  func(v broker.View) []byte { return []byte(v.ID + " " + v.State) },
	}
	r.b = r.open(r.cfg)
	return r
}

// took is called under the broker's lock: no test may take a transition that is not documented.
func (r *rig) took(id, from, to string) {
	way := from + " -> " + to
	if _, documented := documentedStates(); !slices.Contains(documented, way) {
		r.t.Errorf("request %s: %q is taken and not documented", id, way)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ways = append(r.ways, id+": "+way)
}

// open starts a broker on the rig's log.
func (r *rig) open(cfg broker.Config) *broker.Broker {
	r.t.Helper()
	cfg.Log = r.log
	b, err := broker.New(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatalf("New: %v", err)
	}
	b.OnTransition(r.took)
	return b
}

// restart closes the broker and starts the next one on the same log.
func (r *rig) restart() {
	r.t.Helper()
	if err := r.b.Close(); err != nil {
		r.t.Fatalf("Close: %v", err)
	}
	r.b = r.open(r.cfg)
}

// kill starts the next broker as after a kill -9: the log shows what it showed, and no
// checkpoint was saved.
func (r *rig) kill() {
	r.t.Helper()
	r.log.Down(true)
	r.b.Close()
	r.log.Down(false)
	r.b = r.open(r.cfg)
}

func (r *rig) operatorHeard(words string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if strings.Contains(l, words) {
			return true
		}
	}
	return false
}

func (r *rig) nextEvent() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.eventSeq++
	return r.eventSeq
}

// request is a new request for command, by the main thread of session "s", over the socket.
func (r *rig) request(command string, with ...func(*hook.Request)) hook.Request {
	r.mu.Lock()
	r.asked++
	id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", r.asked)
	r.mu.Unlock()
	q := newRequest(id, "s", command, r.nextEvent())
	for _, w := range with {
		w(&q)
	}
	return q
}

func newRequest(id, session, command string, eventSeq uint64) hook.Request {
	now := time.Now()
	return hook.Request{
		ID: id, SessionID: session, CWD: "/home/dev", ToolName: "Bash", ToolInput: hook.JSON(command),
		InputSHA256: "sha of " + command, Agent: "claude", PermissionMode: "default",
		CreatedAt: now, Deadline: now.Add(588 * time.Second), OnTimeout: hook.Abstain,
		Raw: []byte(`{"tool_input":` + command + `}`), PayloadSHA256: "payload " + id,
		EventSeq: eventSeq, EventTime: now, CallKey: "Bash " + command, Channel: hook.ChannelSocket,
	}
}

func remote(q *hook.Request)   { q.Channel = hook.ChannelRemote }
func plain(q *hook.Request)    { q.Channel = hook.ChannelPlain }
func denying(q *hook.Request)  { q.OnTimeout = hook.Deny }
func form(q *hook.Request)     { q.Event = hook.EventElicitation }
func subagent(q *hook.Request) { q.AgentID = "sub" }

func within(d time.Duration) func(*hook.Request) {
	return func(q *hook.Request) { q.Deadline = q.CreatedAt.Add(d) }
}

// waiting is a hook that waits.
type waiting struct {
	t      *testing.T
	hangUp context.CancelFunc
	done   chan struct{}
	answer broker.Answer
	err    error
	at     time.Time
}

// ask lets a hook wait for q, until everything has settled down.
func (r *rig) ask(q hook.Request) *waiting {
	w := askOn(r.t, r.b, q)
	synctest.Wait()
	return w
}

func askOn(t *testing.T, b *broker.Broker, q hook.Request) *waiting {
	return waitOn(t, func(ctx context.Context) (broker.Answer, error) { return askAndWait(ctx, b, q) })
}

// askAndWait is what a hook does.
func askAndWait(ctx context.Context, b *broker.Broker, q hook.Request) (broker.Answer, error) {
	w, err := b.Ask(q)
	if err != nil {
		return broker.Answer{}, err
	}
	return w.Wait(ctx)
}

// waitOn lets a hook wait by wait.
func waitOn(t *testing.T, wait func(context.Context) (broker.Answer, error)) *waiting {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{t: t, hangUp: cancel, done: make(chan struct{})}
	t.Cleanup(cancel)
	go func() {
		defer close(w.done)
		w.answer, w.err = wait(ctx)
		w.at = time.Now()
	}()
	return w
}

func (w *waiting) waits() bool {
	synctest.Wait()
	select {
	case <-w.done:
		return false
	default:
		return true
	}
}

// got is the answer, which must be there already.
func (w *waiting) got() broker.Answer {
	w.t.Helper()
	if w.waits() {
		w.t.Fatal("the hook still waits")
	}
	if w.err != nil {
		w.t.Fatalf("Ask: %v", w.err)
	}
	return w.answer
}

func (w *waiting) failed() error {
	w.t.Helper()
	if w.waits() {
		w.t.Fatal("the hook still waits")
	}
	if w.err == nil {
		w.t.Fatalf("Ask answered %+v, want an error", w.answer)
	}
	return w.err
}

var phone = hook.Approver{Kind: "device", ID: "d1", Name: "phone"}

func allow(q hook.Request) hook.Decision {
	return hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: q.InputSHA256}
}

func deny(q hook.Request, words string) hook.Decision {
	return hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: q.InputSHA256, Message: words}
}

func (r *rig) decide(q hook.Request, d hook.Decision) broker.View {
	r.t.Helper()
	v, err := r.b.Decide(r.t.Context(), q.ID, d, phone)
	if err != nil {
		r.t.Fatalf("Decide: %v", err)
	}
	synctest.Wait()
	return v
}

// refused is the SettledError of a decision that must lose.
func (r *rig) refused(q hook.Request, d hook.Decision) *broker.SettledError {
	r.t.Helper()
	_, err := r.b.Decide(r.t.Context(), q.ID, d, phone)
	var settled *broker.SettledError
	if !errors.As(err, &settled) || !errors.Is(err, broker.ErrSettled) {
		r.t.Fatalf("Decide: %v, want a SettledError", err)
	}
	return settled
}

// event is what the agent of q tells next.
func (r *rig) event(kind string, q hook.Request) (hook.Event, hook.Payload) {
	ev := hook.Event{Type: kind, Agent: "claude", Time: time.Now(), Seq: r.nextEvent()}
	p := hook.Payload{Type: kind, SessionID: q.SessionID, AgentID: q.AgentID}
	if kind == "PostToolUse" || kind == "PostToolUseFailure" || kind == "PreToolUse" {
		p.ToolName, p.CallKey = q.ToolName, q.CallKey
	}
	return ev, p
}

func (r *rig) observe(kind string, q hook.Request) uint64 {
	ev, p := r.event(kind, q)
	r.b.Observe(ev, p)
	synctest.Wait()
	return ev.Seq
}

func (r *rig) pendingIDs() []string {
	ids := []string{}
	for _, v := range r.b.Pending() {
		ids = append(ids, v.ID)
	}
	return ids
}

func (r *rig) get(q hook.Request) broker.View {
	r.t.Helper()
	v, err := r.b.Get(r.t.Context(), q.ID)
	if err != nil {
		r.t.Fatalf("Get: %v", err)
	}
	return v
}

// steps are the recorded steps of q, with outcome and reason.
func (r *rig) steps(q hook.Request) string {
	r.t.Helper()
	synctest.Wait()
	recs, err := r.log.Records(context.Background(), q.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, rec := range recs {
		s := string(rec.Step)
		if rec.Outcome != "" {
			s += ":" + string(rec.Outcome)
		}
		if rec.Reason != "" {
			s += "/" + rec.Reason
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func (r *rig) wantSteps(q hook.Request, want string) {
	r.t.Helper()
	if got := r.steps(q); got != want {
		r.t.Errorf("records of %s: %q, want %q", q.ToolInput, got, want)
	}
}

func (r *rig) wantPending(qs ...hook.Request) {
	r.t.Helper()
	synctest.Wait()
	want := []string{}
	for _, q := range qs {
		want = append(want, q.ID)
	}
	if got := r.pendingIDs(); strings.Join(got, " ") != strings.Join(want, " ") {
		r.t.Errorf("pending %v, want %v", got, want)
	}
}

// followUpsDone lets the background write what it has to write: it makes room for decisions for
// some milliseconds first.
func followUpsDone() {
	time.Sleep(100 * time.Millisecond) // fake time
	synctest.Wait()
}
