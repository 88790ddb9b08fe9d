package forgotten_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/store/forgotten"
	"assent/internal/store/kvmirror/kvtest"
)

// broker is one that forgets.
type broker struct {
	*forgotten.List
	mu   sync.Mutex
	gone []string // guarded by mu
	fail int      // guarded by mu; how often it cannot
}

func (b *broker) forget(_ context.Context, session string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 {
		b.fail--
		return errors.New("a request of it waits")
	}
	b.gone = append(b.gone, session)
	return nil
}

func (b *broker) forgot(sessions ...string) bool {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Equal(b.gone, sessions)
}

func open(t *testing.T, kv *kvtest.KV, file, run string) *broker {
	t.Helper()
	b := &broker{}
	var err error
	if b.List, err = forgotten.Open(context.Background(), forgotten.Config{KV: kv, Self: run, File: file, Forget: b.forget}); err != nil {
		t.Fatal(err)
	}
	return b
}

// A session that is forgotten at one broker is forgotten at all others, once for each time, also at one that
// was away, and though it takes several tries.
func TestForgottenEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, dir := kvtest.New(), t.TempDir()
		a, b := open(t, kv, filepath.Join(dir, "a"), "a1"), open(t, kv, filepath.Join(dir, "b"), "b1")
		defer a.Close()
		tell := func(session string) {
			t.Helper()
			if err := a.Tell(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
		tell("one")
		if !b.forgot("one") || !a.forgot() {
			t.Errorf("b forgot %q, a %q", b.gone, a.gone)
		}
		b.mu.Lock()
		b.fail = 2
		b.mu.Unlock()
		tell("two")
		time.Sleep(time.Minute)
		if !b.forgot("one", "two") {
			t.Errorf("b forgot %q", b.gone)
		}
		b.Close()
		tell("three")
		tell("one") // it lived again
		b = open(t, kv, filepath.Join(dir, "b"), "b2")
		if !b.forgot("three", "one") {
			t.Errorf("a broker that was away forgot %q", b.gone)
		}
		b.Close()
		b = open(t, kv, filepath.Join(dir, "b"), "b3")
		defer b.Close()
		if !b.forgot() {
			t.Errorf("at the next start it forgot %q again", b.gone)
		}
		kv.SetDown(errors.New("away"))
		if a.Tell(t.Context(), "four") == nil {
			t.Error("told although nobody can hear")
		}
		kv.SetDown(nil)
	})
}
