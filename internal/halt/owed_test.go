package halt

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

// broken is one broker's way to a KV that others reach.
type broken struct {
	*kvtest.KV
	down  atomic.Bool // nothing goes through
	deaf  atomic.Bool // what is written is written, and nobody hears that
	tries atomic.Int64
}

var errAway = errors.New("away")

func (b *broken) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if b.down.Load() || b.deaf.Load() {
		return nil, 0, errAway
	}
	return b.KV.Get(ctx, key)
}

func (b *broken) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return b.write(func() (uint64, error) { return b.KV.Create(ctx, key, value) })
}

func (b *broken) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	return b.write(func() (uint64, error) { return b.KV.Update(ctx, key, value, rev) })
}

func (b *broken) write(do func() (uint64, error)) (uint64, error) {
	b.tries.Add(1)
	if b.down.Load() {
		return 0, errAway
	}
	rev, err := do()
	if b.deaf.Load() {
		return 0, errAway
	}
	return rev, err
}

// atTwo runs f with two brokers that share a KV; the way of the first one to it can break.
func atTwo(t *testing.T, f func(here, there *Store, way *broken)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		way := &broken{KV: kv}
		open := func(kv kvmirror.KV) *Store {
			s, err := Open(ctx, Config{KV: kv, Logf: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		here, there := open(way), open(kv)
		defer here.Close()
		defer there.Close()
		f(here, there, way)
	})
}

func (s *Store) stopUnrecorded(t *testing.T) {
	t.Helper()
	if h, err := s.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, nil); !errors.Is(err, ErrUnrecorded) || h.Stopped() == nil || s.allows() {
		t.Fatalf("a stop that cannot be recorded: %v, %+v", err, h)
	}
}

func acts(h hook.Halt) (list string) {
	for _, a := range h.Acts {
		list += a.Act + " "
	}
	return list
}

// TestUnrecordedStopHolds: news of the KV does not end a stop that is not in it, and the stop is recorded
// when that is possible again.
func TestUnrecordedStopHolds(t *testing.T) {
	atTwo(t, func(here, there *Store, way *broken) {
		way.down.Store(true)
		here.stopUnrecorded(t)
		time.Sleep(time.Minute)
		there.must(t, hook.HaltPause, 60)
		synctest.Wait() // the watch has told
		if h := here.State(); here.allows() || h.Revision == 0 || h.Stopped() == nil || here.Paused() {
			t.Errorf("after news of something else: %+v", h)
		}
		if _, err := here.Do(ctx, hook.HaltAct{Act: hook.HaltPause, By: phone, Seconds: 9}, nil); !errors.Is(err, ErrStopped) {
			t.Errorf("a pause while stopped: %v", err)
		}
		if here.must(t, hook.HaltResume, 0); here.allows() {
			t.Error("the end of a pause lifts a stop")
		}
		there.must(t, hook.HaltStop, 0)
		there.must(t, hook.HaltLift, 0)
		there.must(t, hook.HaltResume, 0)
		way.down.Store(false)
		time.Sleep(longestPause)
		synctest.Wait()
		for name, s := range map[string]*Store{"here": here, "there": there} {
			if h := s.State(); s.allows() || h.Stopped() == nil || here.owes() != nil {
				t.Errorf("%s, when it is recorded: %s", name, acts(h))
			}
		}
		there.must(t, hook.HaltLift, 0)
		time.Sleep(2 * longestPause)
		if !here.allows() || !there.allows() {
			t.Error("what was recorded and lifted comes back")
		}
	})
}

// TestUnrecordedStopIsLifted: the record tells what was lifted, and nothing is tried again.
func TestUnrecordedStopIsLifted(t *testing.T) {
	atTwo(t, func(here, there *Store, way *broken) {
		way.down.Store(true)
		here.stopUnrecorded(t)
		if _, err := here.Do(ctx, hook.HaltAct{Act: hook.HaltLift, By: phone}, nil); err == nil || here.allows() {
			t.Errorf("lifted without a record: %v", err)
		}
		way.down.Store(false)
		if h := here.must(t, hook.HaltLift, 0); acts(h) != "stop lift " || !here.allows() {
			t.Errorf("recorded: %s", acts(h))
		}
		time.Sleep(2 * longestPause)
		if h := there.State(); acts(h) != "stop lift " || !there.allows() {
			t.Errorf("recorded in the end: %s", acts(h))
		}
	})
}

// TestStopWrittenUnheard: a stop that was written though the write failed is not written again after it
// was lifted.
func TestStopWrittenUnheard(t *testing.T) {
	atTwo(t, func(here, there *Store, way *broken) {
		way.deaf.Store(true)
		here.Do(ctx, hook.HaltAct{Act: hook.HaltStop, By: phone}, nil)
		synctest.Wait()
		there.must(t, hook.HaltLift, 0)
		synctest.Wait()
		way.deaf.Store(false)
		time.Sleep(2 * longestPause)
		if h := here.State(); acts(h) != "stop lift " || !here.allows() {
			t.Errorf("%s", acts(h))
		}
	})
}

// TestOwedStopIsTriedWithinBounds: as long as the KV is away it is tried about once a minute, and not at
// all after Close.
func TestOwedStopIsTriedWithinBounds(t *testing.T) {
	atTwo(t, func(here, _ *Store, way *broken) {
		way.down.Store(true)
		here.stopUnrecorded(t)
		here.stopUnrecorded(t)
		time.Sleep(time.Hour)
		if n := way.tries.Load(); n < 60 || n > 80 {
			t.Errorf("%d tries in an hour", n)
		}
		if err := here.Close(); err != nil {
			t.Error(err)
		}
		tries := way.tries.Load()
		time.Sleep(time.Hour)
		if way.tries.Load() != tries {
			t.Error("it is tried after Close")
		}
	})
}

// TestOwedStopKeepsWhatWasSigned: its signature holds for the state that the device saw.
func TestOwedStopKeepsWhatWasSigned(t *testing.T) {
	atTwo(t, func(here, there *Store, way *broken) {
		way.down.Store(true)
		basis := uint64(0)
		signed := hook.HaltAct{Act: hook.HaltStop, By: phone, Signature: "signed on 0"}
		if _, err := here.Do(ctx, signed, &basis); !errors.Is(err, ErrUnrecorded) {
			t.Fatal(err)
		}
		there.must(t, hook.HaltPause, 60)
		way.down.Store(false)
		time.Sleep(longestPause)
		synctest.Wait()
		if who := there.State(); who.Stopped() == nil || who.Stopped().Basis != 0 || who.Stopped().Signature != signed.Signature {
			t.Errorf("recorded as %+v", who.Stopped())
		}
	})
}

// A stop survives the store it stood in: it is written into the one that was made anew.
func TestStopOutlivesItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, false)
		defer s.Close()
		s.must(t, hook.HaltStop, 0)
		kv.Renew()
		time.Sleep(time.Minute)
		if h := s.State(); h.Stopped() == nil || h.Stopped().By != phone || s.allows() {
			t.Errorf("after the store was made anew: %+v", h)
		}
		another := open(t, kv, false)
		defer another.Close()
		if h := another.State(); h.Stopped() == nil || another.allows() {
			t.Errorf("a broker that starts then: %+v", h)
		}
		s.must(t, hook.HaltLift, 0)
		synctest.Wait()
		if !s.allows() || !another.allows() {
			t.Error("it cannot be lifted")
		}
	})
}
