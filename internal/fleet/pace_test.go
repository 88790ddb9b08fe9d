package fleet

import (
	"fmt"
	"testing"
	"time"

	"assent/internal/host/transcript"
)

// clientsInbox takes what the client's does: 30 at once, and one more every two seconds.
type clientsInbox struct {
	room float64
	at   time.Time
}

func (c *clientsInbox) takes() bool {
	now := time.Now()
	if c.at.IsZero() {
		c.room = 30
	} else {
		c.room = min(30, c.room+now.Sub(c.at).Seconds()/2)
	}
	c.at = now
	if c.room < 1 {
		return false
	}
	c.room--
	return true
}

// A session is handed no more messages than its inbox takes, also by the next broker, and the first ones at once.
func TestAnInboxIsHandedNoMoreThanItTakes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		r.stands(transcript.Absent)
		var client clientsInbox
		begin := time.Now()
		for i := range 90 {
			if i == 40 {
				defer r.start()()
			}
			r.send(fmt.Sprintf("m%d", i), fmt.Sprintf("text %d", i))
			for len(r.handed()) <= i {
				if time.Sleep(100 * time.Millisecond); time.Since(begin) > time.Hour {
					t.Fatalf("message %d is never handed over", i)
				}
			}
			if !client.takes() {
				t.Fatalf("message %d comes after %v, when the inbox has no room", i, time.Since(begin))
			}
			r.prompt(r.handed()[i])
			r.event("Stop", "")
			r.wants(fmt.Sprintf("m%d", i), sent, taken, started, ended)
			if i+1 == inboxBurst && time.Since(begin) > time.Second {
				t.Errorf("the first %d took %v", inboxBurst, time.Since(begin))
			}
		}
		if took, least := time.Since(begin), (90-inboxBurst)*inboxEvery; took > least+time.Minute/2 {
			t.Errorf("90 took %v, at least %v are needed", took, least)
		}
	})
}

// What was handed over in vain, as others fill the same inbox, has the next ones come one by one.
func TestAMessageInVainHasTheNextOnesWait(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		r.stands(transcript.Absent)
		r.send("m0", "text 0")
		time.Sleep(lookTime + time.Second)
		r.wants("m0", sent, taken, taken)
		begin := time.Now()
		for i := range 5 {
			r.prompt(r.handed()[i+1])
			r.event("Stop", "")
			r.send(fmt.Sprintf("m%d", i+1), fmt.Sprintf("text %d", i+1))
			for len(r.handed()) <= i+2 {
				if time.Sleep(100 * time.Millisecond); time.Since(begin) > time.Hour {
					t.Fatalf("message %d is never handed over", i+1)
				}
			}
		}
		if took := time.Since(begin); took < 3*inboxEvery || took > 6*inboxEvery {
			t.Errorf("five messages after one that was dropped took %v", took)
		}
	})
}
