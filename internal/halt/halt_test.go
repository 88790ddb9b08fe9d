package halt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

var (
	ctx   = context.Background()
	phone = hook.Approver{Kind: "device", ID: "d", Name: "phone"}
)

func open(t *testing.T, kv *kvtest.KV, shared bool) *Store {
	t.Helper()
	s, err := Open(ctx, Config{KV: kv, Shared: shared, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Store) must(t *testing.T, act string, seconds int) hook.Halt {
	t.Helper()
	h, err := s.Do(ctx, hook.HaltAct{Act: act, By: phone, Seconds: seconds}, nil)
	if err != nil {
		t.Fatalf("%s: %v", act, err)
	}
	return h
}

func (s *Store) allows() bool {
	leave, ok := s.Enter(ctx)
	if ok {
		leave()
	}
	return ok
}

func TestStopLiftPauseResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, false)
		defer s.Close()
		if h := s.State(); !s.allows() || h.Revision != 0 || h.Stopped() != nil || s.Paused() {
			t.Fatalf("at first: %+v", h)
		}
		s.must(t, hook.HaltPause, 60)
		if !s.Paused() || !s.allows() {
			t.Error("a pause holds nothing, or stops rules")
		}
		h := s.must(t, hook.HaltStop, 0)
		if who := h.Stopped(); who == nil || who.By != phone || s.allows() || s.Paused() {
			t.Errorf("stopped: %+v, allows %v, paused %v", h, s.allows(), s.Paused())
		}
		if _, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltPause, By: phone, Seconds: 60}, nil); !errors.Is(err, ErrStopped) {
			t.Errorf("a pause while stopped: %v", err)
		}
		if again := s.must(t, hook.HaltStop, 0); again.Revision != h.Revision {
			t.Error("a second stop was recorded as another")
		}
		if h = s.must(t, hook.HaltLift, 0); h.Stopped() != nil || !s.allows() || len(h.Acts) != 3 {
			t.Errorf("lifted: %+v", h)
		}
		s.must(t, hook.HaltPause, 60)
		time.Sleep(60 * time.Second)
		if s.Paused() {
			t.Error("a pause outlives its time")
		}
		s.must(t, hook.HaltPause, 60)
		s.must(t, hook.HaltResume, 0)
		if s.Paused() {
			t.Error("a pause outlives its end")
		}
	})
}

func TestRestartAndReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, true), open(t, kv, true)
		defer b.Close()
		told := make(chan struct{}, 8)
		b.Notify(func() { told <- struct{}{} })
		a.must(t, hook.HaltStop, 0)
		if b.allows() {
			t.Error("another broker allows after a stop")
		}
		<-told
		_ = a.Close()
		a = open(t, kv, true)
		defer a.Close()
		if h := a.State(); h.Stopped() == nil || a.allows() {
			t.Errorf("after a restart: %+v", h)
		}
		b.must(t, hook.HaltLift, 0)
		synctest.Wait() // the watch tells
		if !a.allows() {
			t.Error("a lift by another broker is not seen")
		}
	})
}

// TestAnotherBrokersStopIsSeenBeforeTheWatch holds that a broker whose watch is behind reads the state
// before a rule allows.
func TestAnotherBrokersStopIsSeenBeforeTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, true), open(t, kv, true)
		defer a.Close()
		defer b.Close()
		synctest.Wait()
		kv.Delay(10)
		a.must(t, hook.HaltStop, 0)
		if b.allows() {
			t.Error("the watch is late, and so is the stop")
		}
	})
}

func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s, shared := open(t, kv, false), open(t, kv, true)
		defer s.Close()
		defer shared.Close()
		kv.SetDown(errors.New("away"))
		if !s.allows() {
			t.Error("a broker that is alone asks a KV that is away")
		}
		if shared.allows() {
			t.Error("a broker that is not alone allows for want of knowledge")
		}
		if _, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltPause, By: phone, Seconds: 9}, nil); !errors.Is(err, ErrUnavailable) || s.Paused() {
			t.Errorf("a pause that cannot be recorded: %v", err)
		}
		h, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, nil)
		if !errors.Is(err, ErrUnrecorded) || h.Stopped() == nil || s.allows() {
			t.Errorf("a stop that cannot be recorded: %v, %+v", err, h)
		}
		if _, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltLift, By: phone}, nil); err == nil || s.allows() {
			t.Errorf("lifted without a record: %v", err)
		}
		kv.SetDown(nil)
		s.must(t, hook.HaltLift, 0)
		if !s.allows() {
			t.Error("a stop that was never recorded cannot be lifted")
		}
	})
}

func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		rev, err := kv.Create(ctx, key, []byte("{"))
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, kv, false)
		defer s.Close()
		if h := s.State(); h.Stopped() == nil || s.allows() || h.Revision != rev {
			t.Errorf("an unreadable state: %+v", h)
		}
		s.must(t, hook.HaltLift, 0)
		if !s.allows() {
			t.Error("it cannot be lifted")
		}
	})
}

// TestStopWaitsForAnswersOnTheirWay holds that a stop returns when the last rule's answer is with its
// hook, and that none is begun meanwhile.
func TestStopWaitsForAnswersOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, kvtest.New(), false)
		defer s.Close()
		leave, ok := s.Enter(ctx)
		if !ok {
			t.Fatal("nothing is stopped")
		}
		done := make(chan error, 1)
		go func() {
			_, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, nil)
			done <- err
		}()
		synctest.Wait()
		if s.allows() {
			t.Error("a rule begins to allow during a stop")
		}
		select {
		case err := <-done:
			t.Fatalf("the stop did not wait: %v", err)
		default:
		}
		leave()
		leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if s.must(t, hook.HaltLift, 0); !s.allows() {
			t.Error("nothing is allowed after a lift")
		}

		leave, _ = s.Enter(ctx)
		defer leave()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if h, err := s.Do(short, hook.HaltAct{Act: hook.HaltStop, By: phone}, nil); !errors.Is(err, ErrBusy) || h.Stopped() == nil {
			t.Errorf("an answer that never arrives: %v", err)
		}
	})
}

func TestBasis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, kvtest.New(), false)
		defer s.Close()
		basis := uint64(0)
		act := hook.HaltAct{Act: hook.HaltPause, By: phone, Seconds: 60}
		h, err := s.Do(ctx, act, &basis)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Do(ctx, act, &basis); !errors.Is(err, ErrChanged) {
			t.Errorf("what was signed once was done twice: %v", err)
		}
		if _, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, &basis); !errors.Is(err, ErrChanged) || !s.allows() {
			t.Errorf("a stop on an old state: %v", err)
		}
		basis = h.Revision
		if h, err = s.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, &basis); err != nil || h.Acts[1].Basis != basis {
			t.Errorf("%v %+v", err, h)
		}
	})
}

func TestActsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, false)
		defer s.Close()
		for range 2 * maxActs {
			s.must(t, hook.HaltPause, 60)
		}
		if h := s.must(t, hook.HaltStop, 0); len(h.Acts) != maxActs || h.Stopped() == nil {
			t.Errorf("%d acts", len(h.Acts))
		}
	})
}

// TestActOnLateNews: another broker has undone meanwhile what seems to be done already.
func TestActOnLateNews(t *testing.T) {
	for _, tt := range []struct{ first, undone, again string }{
		{hook.HaltStop, hook.HaltLift, hook.HaltStop},
		{hook.HaltPause, hook.HaltResume, hook.HaltResume},
	} {
		t.Run(tt.again, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := kvtest.New()
				here, there := open(t, kv, true), open(t, kv, true)
				defer here.Close()
				defer there.Close()
				there.must(t, tt.first, 60)
				synctest.Wait()
				kv.Delay(1) // from here on nobody hears of the last change
				if tt.again == hook.HaltStop {
					there.must(t, tt.undone, 0)
				} else { // here nothing is paused, as far as it has heard
					there.must(t, tt.undone, 0)
					kv.Delay(0)
					synctest.Wait()
					kv.Delay(1)
					there.must(t, tt.first, 60)
				}
				here.must(t, tt.again, 0)
				kv.Delay(0)
				synctest.Wait()
				for name, s := range map[string]*Store{"here": here, "there": there} {
					if stops := tt.again == hook.HaltStop; s.allows() == stops || s.Paused() {
						t.Errorf("%s: allows %v, paused %v", name, s.allows(), s.Paused())
					}
				}
			})
		})
	}
}
