package broker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// recordedBefore starts a broker that finds q open, as a broker recorded it whose clock stood wrong
// by -set: q comes from ago before now.
func (r *rig) recordedBefore(ago, set time.Duration, with ...func(*hook.Request)) hook.Request {
	r.t.Helper()
	q := r.request(`"ls"`, with...)
	q.CreatedAt, q.Deadline = q.CreatedAt.Add(-ago-set), q.Deadline.Add(-ago-set)
	r.b.Close()
	rec := hook.Record{ID: "r", RequestID: q.ID, Step: hook.StepAsked, Time: q.CreatedAt, Request: &q}
	if _, err := r.log.Append(r.t.Context(), rec, 0); err != nil {
		r.t.Fatal(err)
	}
	r.b = r.open(r.cfg)
	return q
}

// comesBack is q of a hook that has so much time left.
func comesBack(q hook.Request, left time.Duration) hook.Request {
	q.CreatedAt = time.Now()
	q.Deadline = q.CreatedAt.Add(left)
	return q
}

// asks are the two ways in which a duplicate comes.
var asks = map[string]func(r *rig, q hook.Request) *waiting{
	"asked": func(r *rig, q hook.Request) *waiting { return r.ask(q) },
	"attached": func(r *rig, q hook.Request) *waiting {
		x, err := r.b.Attach(q)
		if err != nil || x == nil {
			r.t.Fatalf("Attach: %v, %v", x, err)
		}
		w := waitOn(r.t, x.Wait)
		synctest.Wait()
		return w
	},
}

func (r *rig) wantLeft(q hook.Request, want time.Duration) {
	r.t.Helper()
	v := r.get(q)
	if left := time.Until(v.Deadline); left < want-2*time.Second || left > want+2*time.Second {
		r.t.Errorf("shown with %v left, want %v", left, want)
	}
}

// After a restart a request's duplicate may come back before its own hook. What the duplicate has left says
// nothing about how long the hook waits, and the request must be shown all the same.
func TestDuplicateComesBackFirst(t *testing.T) {
	for name, ask := range asks {
		for _, set := range []time.Duration{0, -time.Hour, time.Hour} {
			t.Run(name+" "+set.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					q := r.recordedBefore(100*time.Second, set, call("t1"))
					two := ask(r, comesBack(r.request(`"ls"`, mcp, call("t1")), 580*time.Second))
					r.wantPending(q)
					if set == 0 {
						r.wantLeft(q, 490*time.Second)
					} else { // nobody knows better
						r.wantLeft(q, 580*time.Second)
					}
					time.Sleep(10 * time.Second)
					one := r.ask(comesBack(q, 480*time.Second))
					r.wantPending(q)
					r.wantLeft(q, 480*time.Second)
					if age := time.Since(r.get(q).CreatedAt); age < 105*time.Second || age > 115*time.Second {
						t.Errorf("shown as %v old", age)
					}
					time.Sleep(30 * time.Second)
					r.decide(q, allow(q))
					for _, w := range []*waiting{one, two} {
						if a := w.got(); a.Outcome != hook.Allowed {
							t.Errorf("answer %+v", a)
						}
					}
				})
			})
		}
	}
}

// The duplicate alone comes back: the request waits as long as the duplicate does, and then it is over.
func TestDuplicateComesBackAlone(t *testing.T) {
	for name, ask := range asks {
		for _, set := range []time.Duration{0, -time.Hour, time.Hour} {
			t.Run(name+" "+set.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					q := r.recordedBefore(100*time.Second, set, call("t1"))
					w := ask(r, comesBack(r.request(`"ls"`, mcp, call("t1")), 300*time.Second))
					time.Sleep(290 * time.Second)
					r.wantPending(q)
					time.Sleep(11 * time.Second)
					if a := w.got(); a.Outcome != hook.Expired {
						t.Errorf("answer %+v", a)
					}
					r.wantSteps(q, "asked ended:expired/deadline")
				})
			})
		}
	}
}

// A duplicate of less patience than the hook's ends the request for both, whoever comes back first.
func TestImpatientDuplicateComesBackFirst(t *testing.T) {
	for _, set := range []time.Duration{0, -time.Hour, time.Hour} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.recordedBefore(100*time.Second, set, call("t1"))
			r.ask(comesBack(r.request(`"ls"`, mcp, call("t1")), 60*time.Second))
			r.ask(comesBack(q, 490*time.Second))
			r.wantPending(q)
			r.wantLeft(q, 60*time.Second)
			time.Sleep(62 * time.Second)
			r.wantSteps(q, "asked ended:expired/deadline")
		})
	}
}

// A decision is given to a duplicate as long as to the hook itself, and no longer.
func TestDuplicateComesTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request(`"ls"`, call("t1"), within(time.Minute))
		r.ask(q)
		r.decide(q, allow(q))
		time.Sleep(2 * time.Minute)
		duplicate := r.request(`"ls"`, mcp, call("t1"))
		if w, err := r.b.Attach(duplicate); w != nil || err != nil {
			t.Errorf("Attach: %v, %v", w, err)
		}
		if w := r.ask(duplicate); !w.waits() {
			t.Errorf("answer %+v, %v", w.answer, w.err)
		}
		r.wantPending(duplicate)
	})
}
