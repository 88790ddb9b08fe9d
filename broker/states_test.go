package broker_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// A documented row of the package's table of states.
type stateRow struct{ shown, decision string }

// documentedStates reads the table and the transitions of the package's documentation.
func documentedStates(t *testing.T) (map[string]stateRow, []string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows, arrows := map[string]stateRow{}, []string{}
	columns := regexp.MustCompile(` {2,}`)
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		if !ok {
			continue
		}
		cells := columns.Split(line, -1)
		switch {
		case strings.Contains(cells[0], " -> "):
			arrows = append(arrows, cells[0])
		case len(cells) >= 5 && cells[0] != "state":
			rows[cells[0]] = stateRow{cells[len(cells)-2], cells[len(cells)-1]}
		}
	}
	return rows, arrows
}

// no lets the log refuse records of these steps from now on; none of them: it takes all.
func (r *rig) no(steps ...hook.Step) {
	r.log.Inject(func(rec hook.Record) logtest.Fault {
		if slices.Contains(steps, rec.Step) {
			return logtest.Fault{Err: broker.ErrUnavailable}
		}
		return logtest.Fault{}
	})
}

// slow lets the log take a second for these steps from now on.
func (r *rig) slow(steps ...hook.Step) {
	r.log.Inject(func(rec hook.Record) logtest.Fault {
		if slices.Contains(steps, rec.Step) {
			return logtest.Fault{Delay: time.Second}
		}
		return logtest.Fault{}
	})
}

// replicas makes the rig's broker one of several.
func (r *rig) replicas() {
	r.t.Helper()
	if err := r.b.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.SingleReplica = false
	r.b = r.open(r.cfg)
}

// elsewhere lets q wait at another replica.
func (r *rig) elsewhere(q hook.Request) *broker.Broker {
	r.t.Helper()
	r.replicas()
	other := r.open(r.cfg)
	r.t.Cleanup(func() { other.Close() })
	askOn(r.t, other, q)
	synctest.Wait()
	return other
}

// transition is one way from a state to another. ready brings q there, and returns what then leads
// on.
type transition struct {
	way   string
	with  []func(*hook.Request)
	ready func(r *rig, q hook.Request) (lead func())
}

var transitions = []transition{
	{"new -> recording", nil, func(r *rig, q hook.Request) func() {
		return func() { r.slow(hook.StepAsked); r.ask(q) }
	}},
	{"new -> held elsewhere", nil, func(r *rig, q hook.Request) func() {
		return func() { r.elsewhere(q) }
	}},
	{"new -> resumed", nil, func(r *rig, q hook.Request) func() {
		return func() { r.ask(q); r.kill() }
	}},
	{"new -> lapsed", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		return func() { r.lapse(q) }
	}},
	{"recording -> waiting", nil, func(r *rig, q hook.Request) func() {
		r.slow(hook.StepAsked)
		r.ask(q)
		return func() { time.Sleep(time.Second) }
	}},
	{"recording -> awaiting a rule", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		r.slow(hook.StepAsked)
		r.ask(q)
		return func() { time.Sleep(time.Second) }
	}},
	{"recording -> handing back", nil, func(r *rig, q hook.Request) func() {
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			if rec.Step == hook.StepAsked {
				return logtest.Fault{Delay: time.Second}
			}
			return logtest.Fault{Err: broker.ErrUnavailable}
		})
		q.Raw = nil
		go r.b.HandBack(r.t.Context(), q, hook.ReasonTooLarge)
		synctest.Wait()
		return func() { time.Sleep(time.Second) }
	}},
	{"recording -> gone", nil, func(r *rig, q hook.Request) func() {
		r.log.Inject(func(hook.Record) logtest.Fault {
			return logtest.Fault{Delay: time.Second, Err: broker.ErrUnavailable}
		})
		r.ask(q)
		return func() { time.Sleep(time.Second) }
	}},
	{"awaiting a rule -> settled", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		x := r.waitingFor(q)
		return func() {
			if err := x.AnswerByRule(allow(q), ruleA); err != nil {
				r.t.Error(err)
			}
		}
	}},
	{"awaiting a rule -> waiting", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		r.waitingFor(q)
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"waiting -> settled", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		return func() { r.decide(q, allow(q)) }
	}},
	{"waiting -> detached", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		return w.hangUp
	}},
	{"waiting -> held elsewhere", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		r.replicas()
		w := r.ask(q)
		return w.hangUp
	}},
	{"waiting -> withdrawing", nil, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		r.no(hook.StepEnded)
		return w.hangUp
	}},
	{"waiting -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.slow(hook.StepEnded)
		return func() { time.Sleep(time.Minute) }
	}},
	{"detached -> waiting", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		r.ask(q).hangUp()
		synctest.Wait()
		return func() { r.ask(q) }
	}},
	{"detached -> withdrawing", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		r.ask(q).hangUp()
		synctest.Wait()
		r.no(hook.StepEnded)
		return func() { time.Sleep(15 * time.Second) }
	}},
	{"held elsewhere -> waiting", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		r.elsewhere(q)
		return func() { r.ask(q) }
	}},
	{"held elsewhere -> settled", nil, func(r *rig, q hook.Request) func() {
		other := r.elsewhere(q)
		return func() {
			if _, err := other.Decide(r.t.Context(), q.ID, allow(q), phone); err != nil {
				r.t.Error(err)
			}
		}
	}},
	{"held elsewhere -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.elsewhere(q)
		r.no(hook.StepEnded)
		return func() { time.Sleep(time.Minute + 5*time.Second) }
	}},
	{"resumed -> waiting", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.kill()
		return func() { r.ask(q) }
	}},
	{"resumed -> withdrawing", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.kill()
		r.no(hook.StepEnded)
		return func() { time.Sleep(30 * time.Second) }
	}},
	{"lapsed -> waiting", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		return func() { r.ask(comesBack(q, 30*time.Second)) }
	}},
	{"lapsed -> settled", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		return func() { time.Sleep(30 * time.Second) }
	}},
	{"expiring -> answered unrecorded", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.no(hook.StepEnded)
		time.Sleep(time.Minute)
		synctest.Wait()
		return func() { time.Sleep(time.Second) }
	}},
	{"expiring -> settled", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.log.Inject(func(hook.Record) logtest.Fault { return logtest.Fault{Delay: 100 * time.Millisecond} })
		time.Sleep(time.Minute)
		synctest.Wait()
		return func() { time.Sleep(100 * time.Millisecond) }
	}},
	{"answered unrecorded -> settled", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.no(hook.StepEnded)
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		return func() { r.no(); time.Sleep(10 * time.Second) }
	}},
	{"withdrawing -> waiting", nil, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		r.no(hook.StepEnded)
		w.hangUp()
		synctest.Wait()
		return func() { r.ask(q) }
	}},
	{"withdrawing -> gone", nil, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		r.no(hook.StepEnded)
		w.hangUp()
		synctest.Wait()
		return func() { r.no(); time.Sleep(10 * time.Second) }
	}},
	{"handing back -> settled", nil, func(r *rig, q hook.Request) func() {
		r.no(hook.StepEnded)
		q.Raw = nil
		if err := r.b.HandBack(r.t.Context(), q, hook.ReasonTooLarge); err != nil {
			r.t.Error(err)
		}
		synctest.Wait()
		return func() { r.no(); time.Sleep(10 * time.Second) }
	}},
	{"settled -> forgotten", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.decide(q, allow(q))
		return func() { r.forget(q) }
	}},
	{"settled -> gone", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.decide(q, allow(q))
		return func() { r.observe("Stop", q) }
	}},
	{"forgotten -> gone", nil, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.decide(q, allow(q))
		r.forget(q)
		return func() { r.no(); time.Sleep(time.Minute) }
	}},
}

// waitingFor asks and returns what production has of it.
func (r *rig) waitingFor(q hook.Request) *broker.Waiting {
	r.t.Helper()
	x, err := r.b.Ask(q)
	if err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return x
}

// lapse stops the broker until the time of q, which waits, is over.
func (r *rig) lapse(q hook.Request) {
	r.t.Helper()
	r.ask(q)
	if err := r.b.Close(); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
	r.b = r.open(r.cfg)
}

// forget lets the turn of q, which is settled, end while its delivery cannot be recorded.
func (r *rig) forget(q hook.Request) {
	r.no(hook.StepDelivered)
	r.b.Delivered(q.ID)
	r.observe("Stop", q)
}

// TestStates takes every documented transition, and looks at each state whether approvers see it and
// what becomes of a decision, as the table says.
func TestStates(t *testing.T) {
	rows, documented := documentedStates(t)
	var taken []string
	for _, tr := range transitions {
		taken = append(taken, tr.way)
	}
	for _, way := range documented {
		if !slices.Contains(taken, way) {
			t.Errorf("%q is documented and not taken", way)
		}
		for _, state := range strings.Split(way, " -> ") {
			if _, ok := rows[state]; !ok && state != "new" && state != "gone" {
				t.Errorf("%q: the table has no %q", way, state)
			}
		}
	}
	arrived := map[string]bool{}
	for _, tr := range transitions {
		if !slices.Contains(documented, tr.way) {
			t.Errorf("%q is taken and not documented", tr.way)
		}
		from, to, _ := strings.Cut(tr.way, " -> ")
		arrived[to] = true
		t.Run(tr.way, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x", tr.with...)
				lead := tr.ready(r, q)
				synctest.Wait()
				if got := r.b.StateOf(q.ID); got != from && !(from == "new" && got == "gone") {
					t.Fatalf("begins %s", got)
				}
				lead()
				synctest.Wait()
				if got := r.b.StateOf(q.ID); got != to {
					t.Fatalf("ends %s", got)
				}
				if row, ok := rows[to]; ok {
					r.wantRow(q, row)
				}
			})
		})
	}
	for state := range rows {
		if !arrived[state] {
			t.Errorf("nothing leads to %q", state)
		}
	}
}

// wantRow holds the state that q is in against its row.
func (r *rig) wantRow(q hook.Request, row stateRow) {
	r.t.Helper()
	shown := "no"
	if slices.Contains(r.pendingIDs(), q.ID) {
		shown = "yes"
	}
	if shown != row.shown {
		r.t.Errorf("shown: %s, want %s", shown, row.shown)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel() // nobody waits for the delivery
	_, err := r.b.Decide(ctx, q.ID, deny(q, "no"), phone)
	want := map[string]error{
		"is recorded": nil, "ErrSettled": broker.ErrSettled, "ErrUnavailable": broker.ErrUnavailable, "ErrNotFound": broker.ErrNotFound,
	}
	if is, ok := want[row.decision]; !ok || !errors.Is(err, is) {
		r.t.Errorf("a decision: %v, want %s", err, row.decision)
	}
}
