package broker_test

import (
	"errors"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

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
	{"new -> handing back", nil, func(r *rig, q hook.Request) func() {
		return func() {
			r.no(hook.StepEnded)
			q.Raw = nil
			if err := r.b.HandBack(r.t.Context(), q, hook.ReasonTooLarge); err != nil {
				r.t.Error(err)
			}
		}
	}},
	{"new -> awaiting a rule", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		return func() { r.ask(q); r.kill() }
	}},
	{"new -> detached", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		return func() { r.turnsUp(q) }
	}},
	{"new -> withdrawing", nil, func(r *rig, q hook.Request) func() {
		r.no(hook.StepEnded)
		return func() { r.turnsUp(q) }
	}},
	{"new -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.no(hook.StepEnded)
		time.Sleep(2 * time.Minute)
		return func() { r.turnsUp(q) }
	}},
	{"new -> settled", nil, func(r *rig, q hook.Request) func() {
		return func() { r.ask(q); r.decide(q, allow(q)); r.kill() }
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
	{"recording -> expiring", []func(*hook.Request){within(9 * time.Second)}, func(r *rig, q hook.Request) func() {
		r.late(9200*time.Millisecond, q)
		r.ask(q)
		return func() { time.Sleep(9300 * time.Millisecond) }
	}},
	{"recording -> withdrawing", nil, func(r *rig, q hook.Request) func() {
		r.late(time.Second, q)
		r.ask(q)
		r.observe("Stop", q)
		return func() { time.Sleep(2 * time.Second) }
	}},
	{"recording -> handing back", nil, func(r *rig, q hook.Request) func() {
		r.late(time.Second, handedBack(q))
		r.ask(q)
		return func() { time.Sleep(2 * time.Second) }
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
	{"awaiting a rule -> detached", []func(*hook.Request){ruled(hook.ActionAllow), remote}, func(r *rig, q hook.Request) func() {
		r.ask(q).hangUp()
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"awaiting a rule -> held elsewhere", []func(*hook.Request){ruled(hook.ActionAllow), remote}, func(r *rig, q hook.Request) func() {
		r.replicas()
		r.ask(q).hangUp()
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"awaiting a rule -> resumed", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.kill()
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"awaiting a rule -> expiring", []func(*hook.Request){ruled(hook.ActionAllow), remote, within(4 * time.Second)}, func(r *rig, q hook.Request) func() {
		r.ask(q).hangUp()
		r.no(hook.StepEnded)
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"awaiting a rule -> withdrawing", []func(*hook.Request){ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		r.no(hook.StepEnded)
		w.hangUp()
		return func() { time.Sleep(6 * time.Second) }
	}},
	{"awaiting a rule -> answered unrecorded", []func(*hook.Request){ruled(hook.ActionAllow), within(2 * time.Second)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.no(hook.StepEnded)
		return func() { time.Sleep(3 * time.Second) }
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
	{"detached -> expiring", []func(*hook.Request){remote, within(time.Minute)}, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		time.Sleep(50 * time.Second)
		w.hangUp()
		r.no(hook.StepEnded)
		return func() { time.Sleep(10 * time.Second) }
	}},
	{"held elsewhere -> waiting", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		r.elsewhere(q)
		return func() { r.ask(q) }
	}},
	{"held elsewhere -> detached", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		others := r.neighbours(q)
		return func() { others.set(true, ""); time.Sleep(3 * time.Second) }
	}},
	{"detached -> held elsewhere", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		others := r.neighbours(q)
		others.set(true, "")
		time.Sleep(3 * time.Second)
		return func() { others.set(false, ""); time.Sleep(3 * time.Second) }
	}},
	{"withdrawing -> held elsewhere", []func(*hook.Request){remote}, func(r *rig, q hook.Request) func() {
		others := r.neighbours(q)
		others.set(true, "?")
		time.Sleep(34 * time.Second)
		return func() { others.set(true, "third"); time.Sleep(10 * time.Second) }
	}},
	{"held elsewhere -> settled", nil, func(r *rig, q hook.Request) func() {
		other := r.elsewhere(q)
		return func() {
			if _, err := other.Decide(r.t.Context(), q.ID, allow(q), phone); err != nil {
				r.t.Error(err)
			}
		}
	}},
	{"held elsewhere -> withdrawing", nil, func(r *rig, q hook.Request) func() {
		r.elsewhere(q)
		r.no(hook.StepEnded)
		return func() { r.observe("Stop", q) }
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
	{"resumed -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		time.Sleep(40 * time.Second)
		r.kill()
		r.no(hook.StepEnded)
		return func() { time.Sleep(20 * time.Second) }
	}},
	{"lapsed -> waiting", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		return func() { r.ask(comesBack(q, 30*time.Second)) }
	}},
	{"lapsed -> resumed", []func(*hook.Request){within(time.Minute), call("t1")}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		return func() { r.duplicate(30 * time.Second) }
	}},
	{"lapsed -> awaiting a rule", []func(*hook.Request){within(time.Minute), ruled(hook.ActionAllow)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		return func() { r.ask(comesBack(q, 30*time.Second)) }
	}},
	{"lapsed -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		r.no(hook.StepEnded)
		time.Sleep(30 * time.Second)
		return func() { r.ask(comesBack(q, 30*time.Second)) }
	}},
	{"lapsed -> withdrawing", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.lapse(q)
		r.no(hook.StepEnded)
		r.observe("Stop", q)
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
	{"recording -> answered unrecorded", []func(*hook.Request){within(9 * time.Second)}, func(r *rig, q hook.Request) func() {
		r.late(20*time.Second, q)
		r.ask(q)
		return func() { time.Sleep(10 * time.Second) }
	}},
	{"answered unrecorded -> handing back", []func(*hook.Request){within(9 * time.Second)}, func(r *rig, q hook.Request) func() {
		r.late(20*time.Second, handedBack(q))
		r.ask(q)
		time.Sleep(10 * time.Second)
		return func() { time.Sleep(11 * time.Second) }
	}},
	{"withdrawing -> waiting", nil, func(r *rig, q hook.Request) func() {
		w := r.ask(q)
		r.no(hook.StepEnded)
		w.hangUp()
		synctest.Wait()
		return func() { r.ask(q) }
	}},
	{"withdrawing -> resumed", []func(*hook.Request){call("t1")}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.kill()
		r.no(hook.StepEnded)
		time.Sleep(30 * time.Second)
		return func() { r.duplicate(time.Minute) }
	}},
	{"withdrawing -> expiring", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q).hangUp()
		r.no(hook.StepEnded)
		time.Sleep(time.Minute)
		return func() { r.ask(q) }
	}},
	{"withdrawing -> answered unrecorded", []func(*hook.Request){within(time.Minute)}, func(r *rig, q hook.Request) func() {
		r.ask(q)
		r.no(hook.StepEnded)
		r.observe("Stop", q)
		return func() { time.Sleep(62 * time.Second) }
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
	{"handing back -> held elsewhere", nil, func(r *rig, q hook.Request) func() {
		r.replicas()
		r.late(time.Second, q)
		go func() {
			if err := r.b.HandBack(r.t.Context(), handedBack(q), hook.ReasonTooLarge); !errors.Is(err, broker.ErrReused) {
				r.t.Error(err)
			}
		}()
		synctest.Wait()
		return func() { time.Sleep(2 * time.Second) }
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

// settlements are what leads on from every state in which a request can be recorded.
func settlements() []transition {
	var more []transition
	settle := func(state, to string, rec func(hook.Request) hook.Record) {
		way := state + " -> " + to
		if slices.ContainsFunc(transitions, func(tr transition) bool { return tr.way == way }) {
			return
		}
		i := slices.IndexFunc(transitions, func(tr transition) bool { return strings.HasSuffix(tr.way, " -> "+state) })
		if i < 0 {
			return
		}
		more = append(more, transition{way, transitions[i].with, func(r *rig, q hook.Request) func() {
			transitions[i].ready(r, q)()
			return func() {
				r.no()
				r.another(q, rec(q))
			}
		}})
	}
	_, documented := documentedStates()
	for _, way := range documented {
		switch state, to, _ := strings.Cut(way, " -> "); to {
		case "settled":
			settle(state, to, func(q hook.Request) hook.Record {
				d := allow(q)
				return hook.Record{Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &d, By: &phone}
			})
		case "gone":
			settle(state, to, func(hook.Request) hook.Record {
				return hook.Record{Step: hook.StepEnded, Outcome: hook.Withdrawn, Reason: hook.ReasonTurnEnded}
			})
		}
	}
	return more
}
