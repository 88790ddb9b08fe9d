package presence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/store/kvmirror/kvtest"
	"assent/internal/store/presence"
)

func open(t *testing.T, kv *kvtest.KV, id string) *presence.Presence {
	t.Helper()
	p, err := presence.Open(context.Background(), presence.Config{KV: kv, NotFound: kvtest.ErrKey, ID: id, Format: 1, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A run is gone when its broker ended or began anew, or was silent for long, and not because the one that
// looks was cut off.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, "a"), open(t, kv, "b")
		defer a.Close()
		defer func() { b.Close() }()
		time.Sleep(time.Minute)
		first := b.Self()
		if a.Gone(first) || a.Gone(a.Self()) {
			t.Error("one that is there is gone")
		}
		b.Close()
		time.Sleep(presence.Beat)
		if !a.Gone(first) {
			t.Error("one that ended is there")
		}
		b = open(t, kv, "b")
		time.Sleep(presence.Beat)
		if second := b.Self(); second == first || a.Gone(second) || !a.Gone(first) || !b.Gone(first) {
			t.Errorf("after %s began as %s, it is gone: %v, before: %v", first, second, a.Gone(second), a.Gone(first))
		}
		// Nobody reaches the KV for a while: nobody knows anything, nor right after that.
		kv.SetDown(errors.New("away"))
		for range 100 {
			time.Sleep(time.Second)
			if a.Gone(b.Self()) {
				t.Fatal("gone for one that is cut off")
			}
		}
		if a.Gone(b.Self()) {
			t.Error("gone for one that is cut off")
		}
		kv.SetDown(nil)
		for range 30 {
			time.Sleep(time.Second)
			if a.Gone(b.Self()) {
				t.Fatal("gone for one that was cut off")
			}
		}
	})
}

// silent is a broker whose process was killed: its key stays as it is.
func TestKilledBrokerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		if _, err := kv.Create(t.Context(), "brokers.dead", []byte(`{"run":"dead.1","format":1}`)); err != nil {
			t.Fatal(err)
		}
		a := open(t, kv, "a")
		defer a.Close()
		time.Sleep(presence.SilentAfter - time.Second)
		if a.Gone("dead.1") {
			t.Error("gone before its time")
		}
		time.Sleep(2 * time.Second)
		if !a.Gone("dead.1") || !a.Gone("dead.0") || !a.Gone("never.1") {
			t.Error("a broker that says nothing is there")
		}
	})
}

func TestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, "a"), open(t, kv, "b")
		defer a.Close()
		defer b.Close()
		if run, err := a.Holder(t.Context(), "r"); run != "" || err != nil {
			t.Errorf("%q, %v", run, err)
		}
		for _, p := range []*presence.Presence{a, b} {
			if err := p.Attached(t.Context(), "r"); err != nil {
				t.Fatal(err)
			}
			if run, err := a.Holder(t.Context(), "r"); run != p.Self() || err != nil {
				t.Errorf("%q, %v, want %q", run, err, p.Self())
			}
		}
		a.Settled(t.Context(), "r")
		if run, err := b.Holder(t.Context(), "r"); run != "" || err != nil {
			t.Errorf("%q, %v", run, err)
		}
	})
}

// Two formats on one cluster are refused, with both versions.
func TestFormats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv, "a")
		defer a.Close()
		_, err := presence.Open(t.Context(), presence.Config{KV: kv, NotFound: kvtest.ErrKey, ID: "b", Format: 2, Version: "v2"})
		if _, err := kv.Create(t.Context(), "brokers.left", []byte(`{"run":"left.1","format":3}`)); err != nil {
			t.Fatal(err)
		}
		same := open(t, kv, "c")
		defer same.Close()
		var refused *presence.FormatError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "version v1") || !strings.Contains(err.Error(), "version v2") {
			t.Errorf("%v", err)
		}
	})
}

// What was noted of a request that waits no more is forgotten, unless it may be on its way here.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv, "a")
		defer a.Close()
		for _, id := range []string{"waits", "over", "late"} {
			if err := a.Attached(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		waiting := map[string]bool{"waits": true}
		notes := func() (list []string) {
			for key := range kv.Values() {
				if id, ok := strings.CutPrefix(key, "attached."); ok {
					list = append(list, id)
				}
			}
			slices.Sort(list)
			return list
		}
		sweep := func(want ...string) {
			t.Helper()
			if err := a.Sweep(t.Context(), func(id string) bool { return waiting[id] }); err != nil {
				t.Fatal(err)
			}
			if got := notes(); !slices.Equal(got, want) {
				t.Errorf("notes of %v, want %v", got, want)
			}
		}
		sweep("late", "over", "waits")
		waiting["late"] = true
		sweep("late", "waits")
		clear(waiting)
		sweep("late", "waits")
		sweep()
		kv.SetDown(errors.New("away"))
		if err := a.Sweep(t.Context(), func(string) bool { return false }); err != nil {
			t.Error(err)
		}
		kv.SetDown(nil)
	})
}
