package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// checkTime is how long the checker may think about one request.
const checkTime = 2 * time.Second

// judge compares what everybody was told with what stands in the record, and counts.
func (r *run) judge(ctx context.Context, res *Result) {
	h := r.h
	var read, judged atomic.Int64
	defer r.say(ctx, func() string {
		if n := judged.Load(); n > 0 {
			return fmt.Sprintf("checking: %d of %d requests, then the events", n, len(h.asked))
		}
		return fmt.Sprintf("reading what every broker has: %d of %d requests", read.Load(), len(h.asked))
	})()
	finals := r.finals(ctx, &read)
	for _, q := range h.asked {
		judged.Add(1)
		res.Requests++
		final, known := finals[q.id]
		r.judgeHook(q, final, known, res)
		r.judgeDecisions(q, final, known, res)
	}
	if r.o.NATS > 0 {
		r.judgeEvents(ctx, res)
	}
	res.Violations = append(res.Violations, h.violations...)
	if h.more > 0 {
		res.Violations = append(res.Violations, fmt.Sprintf("and %d more", h.more))
	}
	if len(res.Violations) > 0 {
		_ = os.WriteFile(filepath.Join(r.w.dir, "nemesis.txt"), []byte(strings.Join(h.notes, "\n")+"\n"), 0o600) // beside the logs
	}
}

// judgeHook looks at what one hook was told.
func (r *run) judgeHook(q *asked, final waiting, known bool, res *Result) {
	a := q.answer
	behavior := behaviorOf(a.Body)
	stands := value(final.Outcome, final.DecidedBy)
	switch {
	case !a.Answered && q.left:
		res.Hangups++
	case !a.Answered && a.Expired:
		res.Expired++
	case !a.Answered:
		res.Unanswered++
		if q.socket {
			res.OneBroker++
		}
		r.h.note("request %s was handed back: %s", q.id, a.Why)
	default:
		res.Answered++
	}
	switch {
	case !a.Answered:
	case behavior == "allow" && (!known || final.Outcome != hook.Allowed):
		r.h.violate("request %s: its hook was told to allow, and the record says %q", q.id, stands)
	case a.Outcome == hook.Expired && time.Duration(q.ended-q.at) < q.timeout-min(marginOf, q.timeout/10)-time.Second:
		r.h.violate("forgotten: request %s expired after %v of the %v that its hook waits", q.id, time.Duration(q.ended-q.at).Round(time.Millisecond), q.timeout)
	case behavior == "deny" && final.Outcome != hook.Denied && (final.Outcome != hook.Expired || q.onTimeout != hook.Deny):
		// An expired hook may be answered before the record takes it, and a decision come in between.
		if a.Outcome != hook.Expired || q.onTimeout != hook.Deny {
			r.h.violate("request %s: its hook was told to deny (%s), and the record says %q", q.id, a.Outcome, stands)
		}
	case behavior == "" && a.Outcome == hook.Withdrawn:
		r.h.violate("forgotten: request %s was withdrawn (%s) while its hook waited", q.id, final.Reason)
	}
	if behavior != "allow" {
		return
	}
	said := false
	for _, d := range r.h.decisions[q.id] {
		said = said || d.outcome == hook.Allowed && (d.result == won || d.result == unknown) && a.By != nil && d.by == a.By.Name
	}
	if !said {
		r.h.violate("request %s: its hook was told to allow by %v, who never said so", q.id, a.By)
	}
}

// marginOf is how much earlier than a hook gives up it may be answered.
const marginOf = 2 * time.Second

// behaviorOf is what an answer tells the agent; "" for nothing.
func behaviorOf(body []byte) string {
	var out struct {
		HookSpecificOutput struct {
			Decision struct {
				Behavior string `json:"behavior"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(body, &out) != nil {
		return ""
	}
	return out.HookSpecificOutput.Decision.Behavior
}

// op is what a client did with a register.
type op struct {
	write bool
	value string // written, or read
	sure  bool   // of a write: it is told to have won
}

// register is written once. A write of which nobody knows may take effect, or come too late, which is the same
// as after everything else.
var register = porcupine.Model{ // read-only
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(string), input.(op)
		switch {
		case !in.write:
			return s == in.value, s
		case in.sure:
			return s == "", in.value
		case s == "":
			return true, in.value
		}
		return true, s
	},
}

// judgeDecisions checks one request's history.
func (r *run) judgeDecisions(q *asked, final waiting, known bool, res *Result) {
	var ops []porcupine.Operation
	winners := 0
	add := func(o op, call, end int64) {
		ops = append(ops, porcupine.Operation{Input: o, Call: call, Return: end})
	}
	for _, d := range r.h.decisions[q.id] {
		res.Decisions++
		switch d.result {
		case won:
			res.Won++
			winners++
			add(op{true, d.value(), true}, d.call, d.returned)
		case lost:
			res.Lost++
			add(op{value: d.winner}, d.call, d.returned)
		case unknown:
			res.Unknown++
			add(op{true, d.value(), false}, d.call, math.MaxInt64)
		}
	}
	if winners > 1 {
		r.h.violate("request %s: %d approvers were told that they had decided it", q.id, winners)
	}
	if a := q.answer; a.Answered && a.By != nil && behaviorOf(a.Body) != "" {
		add(op{value: value(a.Outcome, a.By)}, q.at, q.ended)
	}
	stands := value(final.Outcome, final.DecidedBy)
	if known && final.State == "ended" {
		if final.DecidedBy == nil { // the brokers ended it at some time
			add(op{true, stands, false}, q.at, math.MaxInt64)
		}
		now := r.h.now()
		add(op{value: stands}, now, now)
	} else if winners > 0 {
		r.h.violate("request %s: an approver was told that it is decided, and it is not in the record", q.id)
	}
	switch porcupine.CheckOperationsTimeout(register, ops, checkTime) {
	case porcupine.Illegal:
		r.h.violate("request %s: not linearizable: %s; the record says %q", q.id, tell(r.h.decisions[q.id]), stands)
	case porcupine.Unknown:
		res.Unchecked++
	}
}

// tell is a history in words.
func tell(list []decision) string {
	var words []string
	for _, d := range list {
		what := map[result]string{won: "won", lost: "lost to " + d.winner, unknown: "unknown", unheard: "not tried"}[d.result]
		words = append(words, fmt.Sprintf("%s [%d,%d ms] %s", d.value(), d.call/1e6, d.returned/1e6, what))
	}
	return strings.Join(words, ", ")
}

// settleTime is how long after the last hook's answer a request may still wait: a broker that was started again
// gives hooks 30 s to come back to it.
const settleTime = 45 * time.Second

// finals are the requests as all brokers have them; read counts them meanwhile. Those that do not agree
// within a while are a violation.
func (r *run) finals(ctx context.Context, read *atomic.Int64) map[string]waiting {
	var mu sync.Mutex
	finals := map[string]waiting{}
	ids := make(chan *asked)
	end := time.Now().Add(settleTime)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for q := range ids {
				if final, ok := r.final(ctx, q.id, end); ok {
					mu.Lock()
					finals[q.id] = final
					mu.Unlock()
				}
				read.Add(1)
			}
		})
	}
	for _, q := range r.h.asked {
		ids <- q
	}
	close(ids)
	workers.Wait()
	return finals
}

// final is one request as every broker has it at the end; not ok if none has it.
func (r *run) final(ctx context.Context, id string, end time.Time) (final waiting, ok bool) {
	for {
		var seen []string
		have := 0
		for _, b := range r.w.brokers {
			var got waiting
			err := client(b.url, r.approve[0]).Call(ctx, "GET", "/v1/requests/"+id, nil, &got)
			if err == nil {
				have++
				final = got
				seen = append(seen, got.State+" "+value(got.Outcome, got.DecidedBy))
			} else {
				seen = append(seen, "not there")
			}
		}
		same := true
		for _, s := range seen {
			same = same && s == seen[0]
		}
		if same && (have == 0 || final.State == "ended") {
			return final, have > 0
		}
		if time.Now().After(end) || ctx.Err() != nil {
			if !same {
				r.h.violate("request %s: brokers do not agree: %q", id, seen)
			} else {
				r.h.violate("ghost: request %s still waits, and its hook is gone", id)
			}
			return final, have > 0
		}
		pause(ctx, 500*time.Millisecond)
	}
}

// judgeEvents reads the stream of events: those of a session stand there once, in their order.
func (r *run) judgeEvents(ctx context.Context, res *Result) {
	events, err := r.readEvents(ctx)
	if err != nil {
		r.h.violate("events: the stream cannot be read: %v", err)
		return
	}
	res.Events = len(events)
	last := map[string]int{}
	for _, e := range events {
		before, seen := last[e.session]
		if !seen {
			before = -1
		}
		if e.number != before+1 {
			r.h.violate("events: of session %s event %d follows event %d", e.session, e.number, before)
		}
		last[e.session] = e.number
	}
	for session, n := range r.h.sent {
		if got, seen := last[fmt.Sprintf("events-%d", session)]; n > 0 && (!seen || got != n-1) {
			r.h.violate("events: of session %d the last in the stream is %d of %d that were handed in", session, got, n-1)
		}
	}
}

// An event is one that a session told of, and its number in that session.
type event struct {
	session string
	number  int
}

// readEvents reads every event of the sessions that tell of events. Nodes have just been restarted, and
// the reader's consumer goes with its node, so it begins again from the start, for two minutes.
func (r *run) readEvents(ctx context.Context) (events []event, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for i := 0; ; i++ {
		events, err = r.readEventsAt(ctx, r.w.nodes[i%len(r.w.nodes)].url)
		if err == nil || ctx.Err() != nil {
			return events, err
		}
		pause(ctx, time.Second)
	}
}

// readEventsAt reads them once, at one node.
func (r *run) readEventsAt(ctx context.Context, url string) (events []event, err error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	c, err := js.OrderedConsumer(ctx, "EVENTS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"hooks.Notification"}})
	if err != nil {
		return nil, err
	}
	for {
		batch, err := c.Fetch(500, jetstream.FetchMaxWait(2*time.Second))
		if err != nil {
			return nil, err
		}
		n := 0
		for m := range batch.Messages() {
			n++
			var p struct {
				Session string `json:"session_id"`
				Message string `json:"message"`
			}
			i := 0
			if json.Unmarshal(m.Data(), &p) == nil && strings.HasPrefix(p.Session, "events-") {
				if _, err := fmt.Sscan(p.Message, &i); err == nil {
					events = append(events, event{p.Session, i})
				}
			}
		}
		if n == 0 {
			return events, batch.Error()
		}
	}
}
