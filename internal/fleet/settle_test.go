package fleet

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/host/transcript"
)

// stands sets what the session's transcript says.
func (r *rig) stands(at transcript.Standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = at
}

// What the session did not take is handed over again, the same to the byte, until its receipt comes.
func TestWhatTheSessionDidNotTakeIsHandedOverAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		r.stands(transcript.Absent)
		r.send("m1", "run the tests")
		r.send("m2", "and these")
		time.Sleep(lookTime + time.Second)
		r.wants("m1", sent, taken, taken)
		r.wants("m2", sent) // one after the other
		got := r.handed()
		if len(got) != 2 || got[0] != got[1] {
			t.Fatalf("handed over: %q", got)
		}
		r.stands(transcript.Queued)
		time.Sleep(time.Hour)
		r.wants("m1", sent, taken, taken)
		r.prompt(got[0])
		if m := r.wants("m1", sent, taken, taken, started); !strings.Contains(m.Steps[2].Why, "again") {
			t.Errorf("its second handing over says %q", m.Steps[2].Why)
		}
	})
}

// A message is lost only where it was handed over in vain often enough, or cannot come any more; and where nobody
// can look.
func TestLostIsProved(t *testing.T) {
	for _, c := range []struct {
		at    transcript.Standing
		after time.Duration
		why   string
		tries int
	}{
		{transcript.Absent, time.Hour, "handed over 6 times", maxTries},
		{transcript.Gone, lookTime + time.Second, "does not have it", 1},
		{transcript.Unknown, receiptTime + lookAgain, "cannot be read", 1},
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.inbox(true)
			r.stands(c.at)
			r.send("m1", "run the tests")
			time.Sleep(c.after)
			m, err := r.Message("m1")
			if err != nil || m.State != lostNow || !strings.Contains(m.Steps[len(m.Steps)-1].Why, c.why) || len(r.handed()) != c.tries {
				t.Errorf("%v: %+v, %v; handed over %d times", c.at, m, err, len(r.handed()))
			}
		})
	}
}

// What stands in the transcript as read is in the agent's context, whatever became of its hook.
func TestTranscriptIsAReceipt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		r.stands(transcript.Read)
		r.send("m1", "run the tests")
		time.Sleep(lookTime + time.Second)
		r.wants("m1", sent, taken, started)
		r.event("Stop", "")
		r.wants("m1", sent, taken, started, ended)
		r.send("m2", "and these")
		synctest.Wait()
		r.event("Stop", "") // the hook of its prompt failed; its turn is over
		time.Sleep(lookTime + time.Second)
		r.wants("m2", sent, taken, started, ended)
		if len(r.handed()) != 2 {
			t.Errorf("handed over: %q", r.handed())
		}
	})
}

// A broker that is killed between the record and the handing over leaves it to the next one, which looks first.
func TestKilledBetweenRecordAndHandingOver(t *testing.T) {
	for _, c := range []struct {
		at   transcript.Standing
		want []hook.MessageState
	}{
		{transcript.Absent, []hook.MessageState{sent, taken, taken}},
		{transcript.Queued, []hook.MessageState{sent, taken}},
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.inbox(true)
			r.stands(transcript.Queued)
			r.send("m1", "run the tests")
			r.wants("m1", sent, taken)
			stop := r.start()
			defer stop()
			r.stands(c.at)
			time.Sleep(lookTime + time.Second)
			r.wants("m1", c.want...)
		})
	}
}

// The end of a session leaves time to find out whether what it was handed came into its context.
func TestSessionEndsBeforeTheReceipt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		r.stands(transcript.Queued)
		r.send("m1", "run the tests")
		r.wants("m1", sent, taken)
		r.event("SessionEnd", "")
		r.wants("m1", sent, taken)
		r.stands(transcript.Gone)
		time.Sleep(lookTime + time.Second)
		r.wants("m1", sent, taken, lostNow)
	})
}
