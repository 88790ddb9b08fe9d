package screens_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
	"assent/internal/screens"
)

func device(n int) hook.Approver {
	return hook.Approver{Kind: hook.KindDevice, ID: fmt.Sprint("d", n), Name: fmt.Sprint("phone ", n), CodeOrigin: hook.CodeBroker}
}

// start runs a recorder on a log until the test is over.
func start(t *testing.T, l *logtest.Log) (*screens.Recorder, context.CancelFunc) {
	r := screens.New(l, t.Logf)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop := func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		ended <- context.Canceled
	}
	t.Cleanup(stop)
	return r, stop
}

// devices are the names that the record has of a request, in order.
func devices(t *testing.T, l *logtest.Log, request string) (names []string) {
	t.Helper()
	list, err := l.Records(context.WithoutCancel(t.Context()), hook.ShownEntry(request))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range list {
		if rec.Step != hook.StepShown || rec.By == nil || rec.Outcome != "" {
			t.Errorf("entry %+v", rec)
			continue
		}
		names = append(names, rec.By.Name)
	}
	return names
}

func counts(t *testing.T, r *screens.Recorder, recorded, dropped uint64) {
	t.Helper()
	if a, b := r.Counts(); a != recorded || b != dropped {
		t.Errorf("recorded %d, dropped %d, want %d and %d", a, b, recorded, dropped)
	}
}

// TestOnce: a device is recorded once for a request, with the time when it saw it, its key and no word about being verified; another
// broker, and one that starts anew, add nothing of it.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		r, stop := start(t, l)
		other, _ := start(t, l)
		id, by := uuid.NewString(), device(1)
		by.Verified = true
		at := time.Now().UTC()
		for range 3 {
			r.Saw(id, by, "thumbprint")
		}
		other.Saw(id, device(2), "")
		time.Sleep(time.Second)
		other.Saw(id, by, "thumbprint")
		r.Saw(id, device(2), "")
		time.Sleep(time.Second)
		stop()
		anew, _ := start(t, l)
		anew.Saw(id, device(2), "")
		anew.Saw(id, by, "thumbprint")
		anew.Saw(id, device(3), "")
		time.Sleep(time.Second)
		if got := strings.Join(devices(t, l, id), ", "); got != "phone 1, phone 2, phone 3" && got != "phone 2, phone 1, phone 3" {
			t.Errorf("recorded: %s", got)
		}
		counts(t, anew, 1, 0)
		for _, rec := range l.All() {
			if rec.By.ID == "d1" && (!rec.Time.Equal(at) || rec.Key != "thumbprint" || *rec.By != device(1)) {
				t.Errorf("entry %+v", rec)
			}
		}
	})
}

// TestMostDevices: of a request the first few are kept, also where many brokers are told at once.
func TestMostDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		id := uuid.NewString()
		for broker := range 4 {
			r, _ := start(t, l)
			for n := range 50 {
				r.Saw(id, device(100*broker+n), "")
			}
		}
		time.Sleep(time.Minute)
		if got := devices(t, l, id); len(got) != screens.MaxDevices {
			t.Errorf("%d devices: %v", len(got), got)
		}
	})
}

// TestDecisionsAreNotInTheWay: what is recorded beside a request takes no place that a decision is written to.
func TestDecisionsAreNotInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		r, _ := start(t, l)
		asked := logtest.Asked()
		seq, err := l.Append(t.Context(), asked, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.Saw(asked.RequestID, device(1), "")
		time.Sleep(time.Second)
		if len(devices(t, l, asked.RequestID)) != 1 {
			t.Fatal("not recorded")
		}
		if _, err := l.Append(t.Context(), logtest.Decided(asked.RequestID), seq); err != nil {
			t.Errorf("the decision: %v", err)
		}
	})
}

// TestARecordThatFails: views wait for a minute, are not written twice where an answer was lost, and are dropped and counted after
// that; Saw does not wait, and the queue is bounded.
func TestARecordThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		r, _ := start(t, l)
		lost := 0
		l.Inject(func(hook.Record) (f logtest.Fault) {
			if lost++; lost == 1 {
				f = logtest.Fault{LoseAck: true, Blind: true}
			}
			return f
		})
		first, second, third := uuid.NewString(), uuid.NewString(), uuid.NewString()
		r.Saw(first, device(1), "")
		time.Sleep(30 * time.Second)
		if got := devices(t, l, first); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
		l.Down(true)
		at := time.Now()
		r.Saw(second, device(1), "")
		time.Sleep(20 * time.Second)
		l.Down(false)
		time.Sleep(30 * time.Second)
		if got := devices(t, l, second); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
		l.Down(true)
		r.Saw(third, device(1), "")
		for range 5000 {
			r.Saw(uuid.NewString(), device(1), "")
		}
		if since := time.Since(at); since != 50*time.Second {
			t.Errorf("Saw waited: %v", since)
		}
		time.Sleep(2 * time.Minute)
		l.Down(false)
		time.Sleep(time.Minute)
		if _, dropped := r.Counts(); dropped != 5001 {
			t.Errorf("%d were dropped", dropped)
		}
		if got := devices(t, l, third); len(got) != 0 {
			t.Errorf("recorded %v", got)
		}
		r.Saw(third, device(1), "") // told once more
		time.Sleep(time.Minute)
		if got := devices(t, l, third); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
	})
}

// TestForget: what waits to be written is not, once the request is to be forgotten.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		r, _ := start(t, l)
		l.Down(true)
		gone, kept := uuid.NewString(), uuid.NewString()
		r.Saw(gone, device(1), "")
		r.Saw(kept, device(1), "")
		time.Sleep(time.Second)
		r.Forget([]string{gone})
		l.Down(false)
		time.Sleep(time.Minute)
		if a, b := devices(t, l, gone), devices(t, l, kept); len(a) != 0 || len(b) != 1 {
			t.Errorf("recorded %v and %v", a, b)
		}
	})
}

// TestMostRequests: a long list that many people look at costs a few entries for each request, and no more memory than is set aside.
func TestMostRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logtest.New()
		r, _ := start(t, l)
		ids := make([]string, 100)
		for i := range ids {
			ids[i] = uuid.NewString()
		}
		for person := range 200 {
			for _, id := range ids {
				r.Saw(id, device(person), "")
			}
		}
		time.Sleep(10 * time.Minute)
		recorded, dropped := r.Counts()
		if want := uint64(len(ids) * screens.MaxDevices); recorded != want || l.Len() != int(want) || dropped != 0 {
			t.Errorf("%d entries, %d dropped, want %d", recorded, dropped, want)
		}
	})
}

var _ screens.Record = broker.Log(nil)
