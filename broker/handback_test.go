package broker_test

import (
	"errors"
	"testing"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

func TestHandBackWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.b.Watch("", 0)
		defer w.Close()
		q := r.request("x", func(q *hook.Request) { q.OnTimeout = hook.Deny })
		waits := r.ask(q)
		r.wantPending(q)
		back := hook.HandBack{InputSHA256: q.InputSHA256, Signature: "s"}
		if _, err := r.b.HandBackWaiting(q.ID, hook.HandBack{InputSHA256: "other"}, phone); !errors.Is(err, broker.ErrDigest) {
			t.Errorf("another input: %v", err)
		}
		r.log.Down(true)
		if _, err := r.b.HandBackWaiting(q.ID, back, phone); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("without a log: %v", err)
		}
		r.log.Down(false)
		r.wantPending(q)
		v, err := r.b.HandBackWaiting(q.ID, back, phone)
		if err != nil || v.Outcome != hook.HandedBack || v.Reason != hook.ReasonPerson || v.DecidedBy == nil || *v.DecidedBy != phone {
			t.Errorf("%+v, %v", v, err)
		}
		// The hook is to say nothing, whatever it was told to do when nobody answers.
		if a := waits.got(); a.Outcome != hook.HandedBack || a.Decision != nil || a.Fallback != hook.Abstain {
			t.Errorf("the hook got %+v", a)
		}
		r.wantSteps(q, "asked ended:handed_back/person")
		r.wantPending()
		recs, err := r.log.Records(t.Context(), q.ID)
		if err != nil || len(recs) != 2 || recs[1].HandBack == nil || *recs[1].HandBack != back || recs[1].By == nil || *recs[1].By != phone {
			t.Errorf("recorded %+v, %v", recs, err)
		}
		var settled *broker.SettledError
		if _, err := r.b.HandBackWaiting(q.ID, back, phone); !errors.As(err, &settled) || settled.By == nil || settled.By.ID != phone.ID {
			t.Errorf("a second time: %v", err)
		}
		if s := r.refused(q, allow(q)); s.Outcome != hook.HandedBack {
			t.Errorf("a decision was refused with %+v", s)
		}
		if _, err := r.b.HandBackWaiting(r.request("y").ID, back, phone); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("no such request: %v", err)
		}
	})
}

// A hook that was away comes back to the hand-back, at the next broker too.
func TestHandBackOfOneThatIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", remote)
		r.ask(q)
		r.kill()
		if _, err := r.b.HandBackWaiting(q.ID, hook.HandBack{InputSHA256: q.InputSHA256}, phone); err != nil {
			t.Fatal(err)
		}
		r.kill()
		if a := r.ask(q).got(); a.Outcome != hook.HandedBack || a.Fallback != hook.Abstain {
			t.Errorf("the hook got %+v", a)
		}
		time.Sleep(time.Minute)
		r.wantSteps(q, "asked ended:handed_back/person")
	})
}
