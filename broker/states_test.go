package broker_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// A documented row of the package's table of states.
type stateRow struct{ shown, decision string }

// documentedStates is the table and the transitions of the package's documentation, those of several
// states taken apart.
var documentedStates = sync.OnceValues(func() (map[string]stateRow, []string) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		panic(err)
	}
	rows, ways := map[string]stateRow{}, []string{}
	var asked []string // the states whose newest record may be asked
	columns := regexp.MustCompile(` {2,}`)
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		if !ok {
			continue
		}
		cells := columns.Split(line, -1)
		n := len(cells)
		switch from, to, arrow := strings.Cut(cells[0], " -> "); {
		case arrow:
			begins := strings.Split(from, ", ")
			if from == "any asked" {
				begins = asked
			}
			for _, from := range begins {
				for to := range strings.SplitSeq(to, ", ") {
					ways = append(ways, from+" -> "+to)
				}
			}
		case n >= 5 && cells[0] != "state":
			rows[cells[0]] = stateRow{cells[n-2], cells[n-1]}
			if strings.HasPrefix(cells[n-3], "asked") {
				asked = append(asked, cells[0])
			}
		}
	}
	return rows, ways
})

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

// another puts a record of q that is not this broker's into the log.
func (r *rig) another(q hook.Request, rec hook.Record) {
	recs, err := r.log.Records(context.Background(), q.ID)
	if err != nil {
		r.t.Error(err)
	}
	after := uint64(0)
	if len(recs) > 0 {
		after = recs[len(recs)-1].Seq
	}
	rec.ID, rec.RequestID, rec.Time = uuid.NewString(), q.ID, time.Now()
	if _, err := r.log.Append(context.Background(), rec, after); err != nil {
		r.t.Error(err)
	}
}

// turnsUp lets the record of q come, whose hook is not here.
func (r *rig) turnsUp(q hook.Request) { r.another(q, hook.Record{Step: hook.StepAsked, Request: &q}) }

// late lets the log take so long for the first record, whatever its caller's time, and then have that
// of q already, or of what came under its id. It refuses everything else.
func (r *rig) late(d time.Duration, q hook.Request) {
	r.t.Cleanup(func() { time.Sleep(d) }) // no goroutine outlives the bubble
	r.log.Inject(func(rec hook.Record) logtest.Fault {
		if rec.Step == hook.StepAsked {
			time.Sleep(d)
			r.no(hook.StepEnded) // before the broker sees what turns up: it records an end of that at once
			r.turnsUp(q)
			time.Sleep(time.Millisecond) // the tail is quicker than the answer
			return logtest.Fault{}
		}
		return logtest.Fault{Err: broker.ErrUnavailable}
	})
}

// handedBack is another request of the same id, which was handed back.
func handedBack(q hook.Request) hook.Request {
	q.Raw, q.PayloadSHA256 = nil, "another payload"
	return q
}

// duplicate asks about the call of q, which has the id "t1", in the other way.
func (r *rig) duplicate(left time.Duration) *waiting {
	return r.ask(comesBack(r.request("x", mcp, call("t1")), left))
}

// TestStates takes every documented transition, and looks at each state whether approvers see it and
// what becomes of a decision, as the table says. That no test takes another one is what rig.took sees to.
func TestStates(t *testing.T) {
	rows, documented := documentedStates()
	all := slices.Concat(transitions, settlements())
	var taken []string
	for _, tr := range all {
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
	for _, tr := range all {
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
				r.wantTook(q, tr.way)
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

// wantTook fails unless q took that way from one state to the next, without another in between.
func (r *rig) wantTook(q hook.Request, way string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.ways, q.ID+": "+way) {
		r.t.Errorf("it took %q", r.ways)
	}
}

// wantRow holds the state that q is in against its row.
func (r *rig) wantRow(q hook.Request, row stateRow) {
	r.t.Helper()
	shown := "no"
	if slices.Contains(r.pendingIDs(), q.ID) {
		shown = "yes"
	}
	wantShown := row.shown
	if r.steps(q) == "" || q.Verdict.Decides() && r.b.StateOf(q.ID) == "answered unrecorded" {
		wantShown = "no" // whatever the row says
	}
	if shown != wantShown {
		r.t.Errorf("shown: %s, want %s", shown, wantShown)
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
