package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// TestRandomLives plays random lives of requests: hooks, approvers, hang-ups, events, faults of
// the log, closes and kills, on one broker or two replicas. Whatever happens, no decision may
// be lost, doubled or faked.
func TestRandomLives(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playLife(t, seed) })
		})
	}
}

// life is one random play. Fields below mu are guarded by it.
type life struct {
	*rig
	rng      *rand.Rand
	requests []hook.Request
	brokers  []*broker.Broker

	mu       sync.Mutex
	waits    map[string][]*waiting // all that ever waited, by request
	wins     map[string][]string   // signatures whose Decide succeeded
	sent     map[string]hook.Behavior
	refusals []refusal
}

type refusal struct {
	id  string
	err *broker.SettledError
}

func playLife(t *testing.T, seed uint64) {
	l := &life{
		rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 1)),
		waits: map[string][]*waiting{}, wins: map[string][]string{}, sent: map[string]hook.Behavior{},
	}
	l.cfg.SingleReplica = seed%3 != 0
	l.b.Close()
	l.brokers = append(l.brokers, l.open(l.cfg))
	if !l.cfg.SingleReplica {
		l.brokers = append(l.brokers, l.open(l.cfg))
	}
	defer func() {
		for _, b := range l.brokers {
			b.Close()
		}
	}()
	for range 150 {
		l.step()
		if l.rng.IntN(3) == 0 {
			synctest.Wait()
		}
	}
	l.log.Inject(nil)
	l.log.Down(false)
	l.log.PauseTail(false)
	time.Sleep(2 * time.Hour) // every deadline, every grace, every retry
	synctest.Wait()
	l.check()
}

func (l *life) any() *broker.Broker { return l.brokers[l.rng.IntN(len(l.brokers))] }

func (l *life) step() {
	if len(l.requests) == 0 || l.rng.IntN(6) == 0 && len(l.requests) < 15 {
		commands := []string{"x", "x", "y"}
		q := l.request(commands[l.rng.IntN(3)], within(time.Duration(1+l.rng.IntN(60))*time.Second))
		q.SessionID = []string{"s1", "s2"}[l.rng.IntN(2)]
		q.AgentID = []string{"", "sub"}[l.rng.IntN(2)]
		q.Channel = []hook.Channel{hook.ChannelSocket, hook.ChannelRemote, hook.ChannelPlain}[l.rng.IntN(3)]
		q.OnTimeout = []hook.Fallback{hook.Abstain, hook.Deny}[l.rng.IntN(2)]
		l.requests = append(l.requests, q)
		l.wait(q)
		return
	}
	q := l.requests[l.rng.IntN(len(l.requests))]
	switch n := l.rng.IntN(100); {
	case n < 30:
		l.decideSoon(q)
	case n < 40: // reattach
		l.wait(q)
	case n < 50: // hang up
		if ws := l.waits[q.ID]; len(ws) > 0 {
			ws[l.rng.IntN(len(ws))].hangUp()
		}
	case n < 65:
		kinds := []string{"PostToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "PostToolBatch", "SessionEnd", "PreToolUse"}
		ev, p := l.event(kinds[l.rng.IntN(len(kinds))], q)
		ev.Spooled = l.rng.IntN(8) == 0
		for _, b := range l.brokers {
			b.Observe(ev, p)
		}
	case n < 80:
		time.Sleep(time.Duration(l.rng.IntN(4000)) * time.Millisecond)
	case n < 92:
		l.fault()
	default:
		i := l.rng.IntN(len(l.brokers))
		kill := l.rng.IntN(2) == 0
		if kill {
			l.log.Down(true)
		}
		l.brokers[i].Close()
		l.log.Inject(nil)
		l.log.Down(false)
		l.log.PauseTail(false)
		l.brokers[i] = l.open(l.cfg)
	}
}

func (l *life) wait(q hook.Request) {
	b := l.any()
	w := askOn(l.t, b, q)
	l.waits[q.ID] = append(l.waits[q.ID], w)
	go func() {
		<-w.done
		if w.err == nil {
			b.Delivered(q.ID)
		}
	}()
}

func (l *life) decideSoon(q hook.Request) {
	b, sig := l.any(), fmt.Sprint("decision ", l.rng.Uint64())
	d := allow(q)
	if l.rng.IntN(2) == 0 {
		d = deny(q, sig)
	}
	d.Signature = sig
	if l.rng.IntN(10) == 0 {
		d.InputSHA256 = "wrong"
	} else {
		l.mu.Lock()
		l.sent[sig] = d.Behavior
		l.mu.Unlock()
	}
	back := l.rng.IntN(6) == 0
	go func() {
		var err error
		if back {
			_, err = b.HandBackWaiting(q.ID, hook.HandBack{InputSHA256: d.InputSHA256, Signature: sig}, phone)
		} else {
			_, err = b.Decide(context.Background(), q.ID, d, phone)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		var settled *broker.SettledError
		switch {
		case err == nil:
			l.wins[q.ID] = append(l.wins[q.ID], sig)
		case errors.As(err, &settled):
			l.refusals = append(l.refusals, refusal{q.ID, settled})
		}
	}()
}

func (l *life) fault() {
	switch l.rng.IntN(6) {
	case 0:
		l.log.Down(true)
	case 1:
		l.log.PauseTail(true)
	case 2, 3:
		delay, chance := time.Duration(l.rng.IntN(1500))*time.Millisecond, l.rng.IntN(4)
		n := 0
		l.log.Inject(func(hook.Record) logtest.Fault {
			l.mu.Lock()
			n++
			hit := n%4 <= chance
			odd := n%3 == 0
			l.mu.Unlock()
			if !hit {
				return logtest.Fault{}
			}
			return logtest.Fault{Delay: delay, LoseAck: odd, Blind: odd && delay%2 == 0}
		})
	default:
		l.log.Inject(nil)
		l.log.Down(false)
		l.log.PauseTail(false)
	}
}

func (l *life) check() {
	t := l.t
	spent := map[uint64]string{}
	for _, q := range l.requests {
		recs, err := l.log.Records(context.Background(), q.ID)
		if err != nil {
			t.Fatal(err)
		}
		steps := l.steps(q)
		if len(recs) == 0 { // never recorded: then nobody may have been answered
			for _, w := range l.waits[q.ID] {
				if w.err == nil {
					t.Errorf("%s: answered %+v without any record", q.ID, w.answer)
				}
			}
			continue
		}
		settled := hook.Record{}
		count := map[hook.Step]int{}
		for i, rec := range recs {
			count[rec.Step]++
			if (i == 0) != (rec.Step == hook.StepAsked) {
				t.Errorf("%s: %s", q.ID, steps)
			}
			if i == 1 {
				settled = rec
			}
			if rec.EventSeq > 0 && rec.Reason != hook.ReasonTurnEnded && rec.Reason != hook.ReasonSession && l.cfg.SingleReplica {
				if other := spent[rec.EventSeq]; other != "" {
					t.Errorf("event %d was spent on %s and on %s", rec.EventSeq, other, q.ID)
				}
				spent[rec.EventSeq] = q.ID
			}
		}
		if count[hook.StepDecided]+count[hook.StepEnded] != 1 {
			t.Errorf("%s: not settled exactly once: %s", q.ID, steps)
		}
		if count[hook.StepDelivered] > 1 || count[hook.StepConfirmed]+count[hook.StepOverruled] > 1 {
			t.Errorf("%s: noted twice: %s", q.ID, steps)
		}
		if d := settled.Decision; d != nil && (l.sent[d.Signature] != d.Behavior || d.InputSHA256 != q.InputSHA256) {
			t.Errorf("%s: nobody made the decision %+v", q.ID, d)
		}
		if settled.Outcome == hook.Allowed && settled.Decision == nil {
			t.Errorf("%s: allowed without a decision", q.ID)
		}
		l.checkAnswers(q, settled, steps)
		for _, sig := range l.wins[q.ID] {
			if d, h := settled.Decision, settled.HandBack; (d == nil || d.Signature != sig) && (h == nil || h.Signature != sig) {
				t.Errorf("%s: a person was told yes to %q, recorded is %s", q.ID, sig, steps)
			}
		}
		if len(l.wins[q.ID]) > 1 {
			t.Errorf("%s: %d winners", q.ID, len(l.wins[q.ID]))
		}
	}
	for _, r := range l.refusals {
		v, err := l.brokers[0].Get(context.Background(), r.id)
		if err != nil || v.Outcome != r.err.Outcome && !l.operatorHeard("request "+r.id+": deadline passed") {
			t.Errorf("%s: a decision lost to %q, recorded is %q, %v", r.id, r.err.Outcome, v.Outcome, err)
		}
	}
	for _, b := range l.brokers {
		if p := b.Pending(); len(p) != 0 {
			t.Errorf("%d requests are pending after everything", len(p))
		}
	}
}

// checkAnswers: every hook that was answered got what stands in the record. The one exception
// is the deadline of the agent while the record was not available, which the operator hears of.
func (l *life) checkAnswers(q hook.Request, settled hook.Record, steps string) {
	for _, w := range l.waits[q.ID] {
		select {
		case <-w.done:
		default:
			l.t.Errorf("%s: a hook still waits: %s", q.ID, steps)
			continue
		}
		if w.err != nil {
			continue
		}
		a := w.answer
		if a.Outcome == settled.Outcome && (a.Decision == nil) == (settled.Decision == nil) &&
			(a.Decision == nil || a.Decision.Signature == settled.Decision.Signature && a.Decision.Behavior == settled.Decision.Behavior) {
			continue
		}
		if a.Decision == nil && a.Outcome != hook.Allowed && l.operatorHeard("request "+q.ID+": deadline passed") {
			continue
		}
		l.t.Errorf("%s: hook got %+v, recorded is %s", q.ID, a, strings.TrimSpace(steps))
	}
}
