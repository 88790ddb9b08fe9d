// Package ci runs an agent without a person (assent ci run). Run finds the agent in a command line,
// gives it settings with our hooks, hands on signals, and writes a report.
//
// A HookProxy stands between the hooks of the run and the broker they ask, and keeps what became of each
// permission request. It answers every request: with the broker's answer, or with a denial that says
// why there was none, and always before the hook's own timeout. It allows nothing by itself. Because
// it asks the broker, the agent needs no token.
//
// # Concurrency
//
// A run has three goroutines besides the agent's: one waits for an early signal, one serves the
// hooks, one waits for the agent's end. Run waits for all of them. A broker of our own is in a
// fourth, for which Broker.Stop waits.
//
// A HookProxy is an http.Handler and may serve any number of hooks at a time. Settled may be called at
// any time, End when the server is closed. Config.Ended is called by one goroutine at a time.
package ci

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"assent/hookclient"
	"assent/internal/agent/agents"
	"assent/internal/ci/report"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Config says whom to ask. Ask, Tell and Timeout are required.
type Config struct {
	// Ask puts a request, with what its hook sent beside it, to the broker and blocks for at most
	// timeout; Tell hands on any other event and returns why that failed.
	Ask  func(ctx context.Context, e hook.Event, t hookclient.Transcript, timeout time.Duration) hookclient.Answer
	Tell func(ctx context.Context, e hook.Event) (why string)
	// Timeout is how long a request may wait, as the user set it.
	Timeout time.Duration
	// Refuse, if not empty, is why every request is denied without asking.
	Refuse string
	// Propose returns rules that would have allowed a request, or why there are none; nil: none.
	Propose func(ctx context.Context, r *hook.Request) ([]report.Proposal, string)
	// Waits is called with a request that was not answered at once, Ended with each that is
	// settled. Both may be nil.
	Waits func(report.Request)
	Ended func(report.Request)
}

const (
	// maxKept bounds how many requests are kept; of more only the number.
	maxKept = 10_000
	// shownText and shownLine bound what is kept of a request's text, in bytes and characters.
	shownText = 8 << 10
	shownLine = 160
	// waitsAfter is when a request counts as one that waits for a person.
	waitsAfter = 2 * time.Second
	// safetyMargin is how much earlier than the hook's own timeout a request is answered, at most.
	safetyMargin = time.Second
	// notifyTime is what handing on a plain event may take. It is less than what its hook waits,
	// which would keep the event for a broker that never comes back.
	notifyTime = 600 * time.Millisecond
)

// HookProxy is an http.Handler for POST /v1/hooks and POST /v1/hooks/context. Make it with New.
type HookProxy struct {
	cfg Config

	mu      sync.Mutex
	events  int              // guarded by mu: hooks that came
	lost    string           // guarded by mu: why the last plain event was not taken
	settled []report.Request // guarded by mu
	omitted int              // guarded by mu
	ended   bool             // guarded by mu

	serving sync.WaitGroup // hooks; added to under mu, and not after ended
}

// New returns a HookProxy.
func New(cfg Config) *HookProxy { return &HookProxy{cfg: cfg} }

// Settled returns the requests that are over, how many more there were, how many hooks came in all,
// and why an event was not taken, if one was not.
func (r *HookProxy) Settled() (requests []report.Request, omitted, events int, lost string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]report.Request{}, r.settled...), r.omitted, r.events, r.lost
}

// End takes no more hooks and waits for those that are being served. Their connections must be
// closed, or about to be: then what still waited is settled as withdrawn.
func (r *HookProxy) End() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.serving.Wait()
}

// begin reports whether a hook is still served; then serving.Done is to be called.
func (r *HookProxy) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.serving.Add(1)
	}
	return !r.ended
}

func (r *HookProxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !r.begin() {
		http.Error(w, "the run is over", http.StatusServiceUnavailable)
		return
	}
	defer r.serving.Done()
	withTranscript := q.URL.Path == "/v1/hooks"+hook.ContextRoute
	if q.Method != http.MethodPost || q.URL.Path != "/v1/hooks" && !withTranscript {
		http.NotFound(w, q)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, q.Body, hookclient.MaxPayload+hook.MaxTranscript))
	t := hookclient.Transcript{Why: hook.UnescapeHeader(q.Header.Get(hook.HeaderContextWhy))}
	if err == nil && withTranscript {
		raw, t.Text, err = hook.SplitTranscript(raw, q.Header.Get(hook.HeaderContextLength))
	}
	if err != nil || len(raw) > hookclient.MaxPayload {
		http.Error(w, "the body ended early, is too large, or is not as its headers say", http.StatusBadRequest)
		return
	}
	e := eventOf(q.Header, raw)
	p, unreadable := agents.Reader(e.Agent).Decode(e.Type, raw)
	e.Type = p.Type
	r.mu.Lock()
	r.events++
	r.mu.Unlock()
	if e.Type != hook.EventPermissionRequest {
		if why := r.notify(q.Context(), e); why != "" {
			r.mu.Lock()
			r.lost = why
			r.mu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent) // nobody waits for it, and it is not to be spooled
		return
	}
	body := r.ask(q.Context(), e, p, unreadable, t, answerTimeout(q.Header, r.cfg.Timeout))
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an agent that is gone reads nothing
}

func (r *HookProxy) notify(ctx context.Context, e hook.Event) (why string) {
	if r.cfg.Refuse != "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	return r.cfg.Tell(ctx, e)
}

// ask settles a request and returns what its hook prints.
func (r *HookProxy) ask(ctx context.Context, e hook.Event, p hook.Payload, unreadable error, t hookclient.Transcript, timeout time.Duration) []byte {
	start := time.Now()
	rec := recordOf(e, p, start)
	if r.cfg.Waits != nil {
		waiting := rec
		late := time.AfterFunc(waitsAfter, func() { r.cfg.Waits(waiting) })
		defer late.Stop()
	}
	var a hookclient.Answer
	switch {
	case r.cfg.Refuse != "":
		a.Why = r.cfg.Refuse
	case unreadable != nil:
		a.Why = "the request could not be read: " + unreadable.Error()
	default:
		a = r.cfg.Ask(ctx, e, t, timeout)
		// A hook goes when its own time is up, and that may be seen before the end of ours, which is
		// earlier.
		a.Expired = a.Expired || !a.Answered && time.Since(start) >= timeout
	}
	body := r.settle(ctx, &rec, a, e.Agent)
	rec.LatencyMS = time.Since(start).Milliseconds()
	if rec.Verdict == report.Denied {
		rec.Proposals, rec.NoProposal = r.propose(e, p, &rec)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.settled) < maxKept {
		r.settled = append(r.settled, rec)
	} else {
		r.omitted++
	}
	if r.cfg.Ended != nil {
		r.cfg.Ended(rec)
	}
	return body
}

// settle says in rec what an answer means, and returns what the hook prints. Whatever is no clear
// answer is a denial.
func (r *HookProxy) settle(ctx context.Context, rec *report.Request, a hookclient.Answer, agent string) []byte {
	deny := func(kind, words string) []byte {
		rec.Verdict, rec.By, rec.Message = report.Denied, report.By{Kind: kind}, show.Text(words)
		body, err := agents.Deny(agent, words)
		if err != nil { // an agent that is not known: its hook was told to deny, and cannot either
			rec.Reason = show.Line(err.Error())
		}
		return body
	}
	failed := func(why string) []byte {
		rec.Reason = show.Line(why)
		return deny(report.Failure, hook.FailureWords(rec.Reason))
	}
	behavior, message := decisionOf(agents.Reader(agent).Facts().Flat, a)
	switch {
	case ctx.Err() != nil && !a.Expired, a.Answered && a.Outcome == hook.Withdrawn:
		rec.Verdict, rec.By = report.Withdrawn, report.By{Kind: report.Agent}
		return nil
	case a.Answered && a.Outcome == hook.Expired && behavior == hook.BehaviorDeny && hook.SaysTimeout(message):
		// They name the time that a rule of the broker gave, which may be less than ours.
		rec.Verdict, rec.By, rec.Message = report.Denied, report.By{Kind: report.Timeout}, show.Text(message)
		return a.Body
	case a.Expired, a.Answered && a.Outcome == hook.Expired:
		rec.Reason = show.Line(a.Why)
		return deny(report.Timeout, hook.TimeoutWords(r.cfg.Timeout))
	case !a.Answered:
		return failed(a.Why)
	case a.Outcome == hook.HandedBack:
		return failed("the broker left it to the agent, which has nobody to ask: it is too large to be shown, a person handed it back, or nobody could be told of it (assent serve --unattended hold keeps it)")
	case behavior == hook.BehaviorAllow:
		rec.Verdict, rec.By = report.Allowed, byOf(a.By)
		return a.Body
	case behavior == hook.BehaviorDeny:
		rec.Verdict, rec.By, rec.Message = report.Denied, byOf(a.By), show.Text(message)
		return a.Body
	case len(a.Body) == 0:
		return failed("the broker left the decision to the agent, which has nobody to ask")
	}
	return failed("what answered is no assent broker: its answer is no decision")
}

// propose asks for rules that would have allowed a request. One that a rule denied needs another
// change than one more rule.
func (r *HookProxy) propose(e hook.Event, p hook.Payload, rec *report.Request) ([]report.Proposal, string) {
	if rec.By.Kind == report.Rule {
		return nil, "a rule denies it, and no other rule can overrule that one"
	}
	if r.cfg.Propose == nil {
		return nil, ""
	}
	// The hook waits for its answer meanwhile: some milliseconds, but not for ever.
	ctx, cancel := context.WithTimeout(context.Background(), safetyMargin/2)
	defer cancel()
	return r.cfg.Propose(ctx, &hook.Request{
		ID: e.ID, SessionID: p.SessionID, CWD: p.CWD, ToolName: p.ToolName, ToolInput: p.ToolInput, InputSHA256: p.InputSHA256,
		Agent: e.Agent, AgentID: p.AgentID, AgentType: p.AgentType, Origin: e.Origin, CreatedAt: rec.CreatedAt,
		PermissionMode: p.PermissionMode, Uninspectable: p.Uninspectable, Raw: e.Raw, CallKey: p.CallKey,
	})
}

// recordOf is what is kept of a request.
func recordOf(e hook.Event, p hook.Payload, at time.Time) report.Request {
	rec := report.Request{ID: e.ID, SessionID: show.Line(p.SessionID), Tool: show.Short(p.ToolName, shownLine), CreatedAt: at.UTC()}
	verb, fields := agents.Describe(e.Agent, p.ToolName, p.ToolInput)
	rec.Summary = show.Short(verb, shownLine)
	for _, f := range fields {
		if f.Kind == show.KindWords {
			continue
		}
		rec.Text = clip(f.Text)
		// It is safe to look at already; only its lines are to be joined.
		rec.Summary = oneLine(f.Text)
		break
	}
	return rec
}

// clip cuts a safe text that is long, in between.
func clip(safe string) string {
	if len(safe) <= shownText {
		return safe
	}
	head, tail := strings.ToValidUTF8(safe[:shownText/2], ""), strings.ToValidUTF8(safe[len(safe)-shownText/2:], "")
	return head + "\n… " + strconv.Itoa(len(safe)-len(head)-len(tail)) + " bytes are left out here …\n" + tail
}

// oneLine is head and tail of a safe text on one line.
func oneLine(safe string) string {
	safe = strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\t", " ").Replace(clip(strings.TrimSpace(safe)))
	r := []rune(safe)
	if len(r) <= shownLine {
		return safe
	}
	return string(r[:shownLine*2/3]) + "…" + string(r[len(r)-shownLine/3:])
}

// byOf is an approver for the report. A broker that does not name one is an older one.
func byOf(a *hook.Approver) report.By {
	switch {
	case a == nil:
		return report.By{Kind: report.Person, Name: "the broker"}
	case a.Kind == hook.KindRule:
		return report.By{Kind: report.Rule, Name: show.Line(a.Name), File: show.Line(a.File)}
	case a.Kind == hook.KindOwner:
		return report.By{Kind: report.Person, Name: "somebody on the broker's machine"}
	}
	return report.By{Kind: report.Person, Name: show.Line(a.Who())}
}

// decisionOf reads the decision that an agent is to be given, in Claude Code's shape or flat; empty where
// there is none. Anybody's API might say "behavior" by itself, so a flat one counts only where the broker
// named the outcome, as every broker does that knows agents of this shape.
func decisionOf(flat bool, a hookclient.Answer) (behavior hook.Behavior, message string) {
	type decision struct {
		Behavior hook.Behavior `json:"behavior"`
		Message  string        `json:"message"`
	}
	if flat {
		var d decision
		if a.Outcome == "" || json.Unmarshal(a.Body, &d) != nil {
			return "", ""
		}
		return d.Behavior, d.Message
	}
	var out struct {
		Specific struct {
			Decision decision `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(a.Body, &out) != nil {
		return "", ""
	}
	return out.Specific.Decision.Behavior, out.Specific.Decision.Message
}

// eventOf reads the headers of a hook.
func eventOf(h http.Header, raw []byte) hook.Event {
	e := hook.EventFromHeaders(h.Get)
	e.Submitter, e.Raw = "", raw
	if _, err := uuid.Parse(e.ID); err != nil {
		e.ID = uuid.NewString()
	}
	if !hook.PlainToken(e.Agent) {
		e.Agent = "claude"
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	return e
}

// answerTimeout is how long the broker has for an answer, so that it still reaches the hook.
func answerTimeout(h http.Header, otherwise time.Duration) time.Duration {
	d := otherwise
	if ms, err := strconv.ParseInt(h.Get(hook.HeaderRemaining), 10, 64); err == nil && ms > 0 && ms < d.Milliseconds() {
		d = time.Duration(ms) * time.Millisecond
	}
	return d - min(safetyMargin, d/20)
}
