package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig"
)

// TestBrokerKilledFiftyTimes kills the broker under load, each time a little later after its
// start and at another point of somebody's journey: before a hook connects, between its event
// and its record, while it waits, between a decision's record and its delivery. Afterwards every
// hook must have printed one answer, which is the recorded one; every decision that an approver
// was told had won must be the recorded one; and every plain event must be in the stream once.
func TestBrokerKilledFiftyTimes(t *testing.T) {
	const kills, workers = 50, 4
	d := rig.Serve(t)
	load := newLoad(t, d)
	for range workers {
		load.run(load.hooks)
	}
	load.run(load.approve)

	for i := range kills {
		// 2 ms steps over the first 100 ms of each life, the time of a few whole journeys.
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		load.killed = append(load.killed, time.Now())
		d.Kill()
		d.Start()
		load.back = append(load.back, time.Now())
	}
	load.stop()
	load.check()
}

// Where in a request's journey a kill may hit.
const (
	beforeRecord  = "before the request was recorded"
	whileWaiting  = "while it waited"
	afterDecision = "between the decision and the record of its delivery"
)

// load is a number of hooks and an approver at work.
type load struct {
	t      *testing.T
	d      *rig.Daemon
	ctx    context.Context // done when no new hook is to start
	cancel context.CancelFunc
	idle   chan struct{} // closed when all hooks have ended
	wg     sync.WaitGroup
	worked sync.WaitGroup // the hooks alone

	killed  []time.Time // owned by the test; when the broker was killed
	back    []time.Time // owned by the test; when it was there again
	mu      sync.Mutex
	asked   map[string]ask          // guarded by mu; by the payload of the request
	events  map[string]bool         // guarded by mu; payloads of plain events
	granted map[string]rig.Decision // guarded by mu; request id → the decision that won, as its approver was told
	n       int                     // guarded by mu
}

// ask is one hook with a request.
type ask struct {
	start   time.Time
	took    time.Duration
	printed string
}

// newRetry is how long a hook that nobody holds looks for a broker.
const newRetry = 3 * time.Second

// outlasted reports whether the broker was away for longer than a hook looks for it, while this one
// ran: then the answer is none.
func (a ask) outlasted(killed, back []time.Time) bool {
	for i, at := range killed {
		if back[i].Sub(at) >= newRetry && at.Before(a.start.Add(a.took)) && back[i].After(a.start) {
			return true
		}
	}
	return false
}

func newLoad(t *testing.T, d *rig.Daemon) *load {
	l := &load{t: t, d: d, asked: map[string]ask{}, events: map[string]bool{}, granted: map[string]rig.Decision{}, idle: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	return l
}

// run starts a worker: hooks ends with ctx, approve when idle is closed.
func (l *load) run(f func()) { l.wg.Go(f) }

func (l *load) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return l.n
}

// hooks runs one hook after the other: a request, then a plain event.
func (l *load) hooks() {
	l.worked.Add(1)
	defer l.worked.Done()
	for l.ctx.Err() == nil {
		n := l.next()
		session := fmt.Sprintf("s%d", n%7)
		question, start := rig.Bash(session, fmt.Sprintf("echo %d", n)), time.Now()
		cmd := l.d.HookCommand(question)
		out, err := cmd.Output()
		took := time.Since(start)
		if err != nil {
			l.t.Errorf("hook %d: %v", n, err)
		}
		tell := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"Notification","message":"n%d"}`, session, n)
		cmd = l.d.HookCommand(tell)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			l.t.Errorf("plain event %d: %v, printed %q", n, err, out)
		}
		l.mu.Lock()
		l.asked[string(question)] = ask{start, took, string(out)}
		l.events[string(tell)] = true
		l.mu.Unlock()
	}
}

// approve answers whatever waits, through whichever broker is up, until all hooks have ended.
func (l *load) approve() {
	for {
		select {
		case <-l.idle:
			return
		default:
		}
		status, body, err := l.d.Try("GET", "/v1/requests?state=pending", nil)
		var rs []rig.Request
		if err != nil || status != http.StatusOK || json.Unmarshal(body, &rs) != nil {
			time.Sleep(2 * time.Millisecond) // the broker is down; do not spin
			continue
		}
		for _, r := range rs {
			dec := rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256}
			if rand.IntN(2) == 0 {
				dec.Behavior, dec.Message = "deny", "no: "+r.ID
			}
			status, _, err := l.d.Try("POST", "/v1/requests/"+r.ID+"/decision", dec)
			if err == nil && status == http.StatusOK {
				l.mu.Lock()
				if won, ok := l.granted[r.ID]; ok {
					l.t.Errorf("%s was decided twice: %+v and %+v", r.ID, won, dec)
				}
				l.granted[r.ID] = dec
				l.mu.Unlock()
			}
		}
	}
}

// stop lets the running hooks end and waits for all workers.
func (l *load) stop() {
	l.cancel()
	done := make(chan struct{})
	go func() {
		l.worked.Wait()
		close(l.idle)
		l.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * rig.Soon):
		l.t.Fatalf("hooks still wait, with %d requests pending", len(l.d.Pending()))
	}
}

// check compares what the hooks printed with the record, and the events with the stream.
func (l *load) check() {
	t, d := l.t, l.d
	byPayload := map[string]rig.Request{}
	for _, r := range d.All() {
		if _, twice := byPayload[r.Raw]; twice {
			t.Errorf("two requests for %s", r.Raw)
		}
		byPayload[r.Raw] = r
		if _, ok := l.asked[r.Raw]; !ok {
			t.Errorf("nobody asked for %s", r.Raw)
		}
	}
	if len(d.Pending()) != 0 {
		t.Errorf("%d requests still pend", len(d.Pending()))
	}
	hit := map[string]int{} // where the kills hit
	for question, a := range l.asked {
		if a.printed == "" && a.outlasted(l.killed, l.back) {
			continue
		}
		if a.printed == "" {
			t.Errorf("after %v no answer for %s; its request: %+v", a.took, question, byPayload[question])
			continue
		}
		r, ok := byPayload[question]
		if !ok {
			t.Errorf("no record of %s, whose hook printed %s", question, a.printed)
			continue
		}
		rs := d.Trace(r.ID)
		// Whether an answer was delivered is recorded behind the answer, so a kill may lose that.
		if s := rig.Steps(rs); s != "asked decided delivered" && s != "asked decided" {
			t.Errorf("%s: steps %s", r.ID, s)
			continue
		}
		for _, k := range l.killed {
			switch {
			case k.After(a.start) && k.Before(rs[0].Time):
				hit[beforeRecord]++
			case k.After(rs[0].Time) && k.Before(rs[1].Time):
				hit[whileWaiting]++
			}
		}
		if len(rs) == 2 {
			hit[afterDecision]++
		}
		want := rig.Allowed
		if rs[1].Decision.Behavior == "deny" {
			want = rig.Denied(rs[1].Decision.Message)
		}
		if a.printed != want {
			t.Errorf("%s: the hook printed %s, the record says %s", r.ID, a.printed, want)
		}
		if won, ok := l.granted[r.ID]; ok && (won.Behavior != rs[1].Decision.Behavior || won.Message != rs[1].Decision.Message) {
			t.Errorf("%s: the approver was told that %+v won, the record says %+v", r.ID, won, rs[1].Decision)
		}
	}
	t.Logf("%d requests and %d events over %d lives; kills hit %v", len(l.asked), len(l.events), len(l.killed)+1, hit)
	for _, where := range []string{beforeRecord, whileWaiting, afterDecision} {
		if hit[where] == 0 {
			t.Errorf("no kill hit %s", where)
		}
	}
	l.checkEvents()
}

// checkEvents reads the stream until every plain event was seen.
func (l *load) checkEvents() {
	seen := map[string]string{} // payload → event id
	c := rig.Consume(l.t, l.d)
	rig.Eventually(l.t, rig.Soon, "all plain events in the stream", func() bool {
		for _, m := range c.Take() {
			if m.Subject != "hooks.Notification" {
				continue
			}
			// The same event may stand there twice under one id; under two it is doubled.
			if id, ok := seen[m.Data]; ok && id != m.ID {
				l.t.Errorf("%s came under the ids %s and %s", m.Data, id, m.ID)
			}
			if !l.events[m.Data] {
				l.t.Errorf("nobody sent %s", m.Data)
			}
			seen[m.Data] = m.ID
		}
		return len(seen) >= len(l.events)
	})
}
