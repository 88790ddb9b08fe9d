package kvmirror_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"assent/internal/store/kvmirror"
	"assent/internal/store/stream"
)

// flaky is a KV whose watch breaks when the test says so.
type flaky struct {
	kvmirror.KV
	cut chan struct{}
}

func (f *flaky) Watch(ctx context.Context, prefix string, fn func(string, []byte, uint64), caughtUp func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-f.cut:
			cancel(errBroken)
		case <-done:
		}
	}()
	err := f.KV.Watch(ctx, prefix, fn, caughtUp)
	if errors.Is(context.Cause(ctx), errBroken) {
		return errBroken
	}
	return err
}

// await waits until the copy is as wanted.
func (c *copied) await(t *testing.T, want string) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		c.mu.Lock()
		got := fmt.Sprint(c.now)
		c.mu.Unlock()
		if got == "map["+want+"]" {
			return
		}
		select {
		case <-c.news:
		case <-late:
			t.Fatalf("there is %s, want %s", got, want)
		}
	}
}

// Two mirrors of the engine's own bucket, as two replicas have them.
func TestOnNATS(t *testing.T) {
	ctx := t.Context()
	s, err := stream.Open(ctx, stream.Config{Dir: t.TempDir(), Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rev := map[string]uint64{}
	put := func(key, value string) {
		t.Helper()
		var err error
		if was := rev[key]; was == 0 {
			rev[key], err = s.Create(ctx, key, []byte(value))
		} else {
			rev[key], err = s.Update(ctx, key, []byte(value), was)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func(key string) uint64 {
		t.Helper()
		at, err := s.Delete(ctx, key)
		if err != nil || at <= rev[key] {
			t.Fatalf("the deletion of revision %d has revision %d, %v", rev[key], at, err)
		}
		rev[key] = 0
		return at
	}
	put("a.1", "x")
	put("a.2", "x")
	put("a.2", "y")
	put("a.3", "x")
	put("b.1", "not mirrored")
	remove("a.3")

	kv := &flaky{s, make(chan struct{})}
	one, two := openCopy(t, kv, false), openCopy(t, s, false)
	one.want(t, "a.1:x a.2:y")
	two.want(t, "a.1:x a.2:y")

	old := rev["a.1"]
	gone := remove("a.1")
	one.Offer("a.1", nil, gone)
	one.want(t, "a.2:y")
	two.await(t, "a.2:y")
	for _, c := range []*copied{one, two} {
		if c.Offer("a.1", []byte("x"), old) {
			t.Error("older news brought a.1 back")
		}
		c.want(t, "a.2:y")
	}

	kv.cut <- struct{}{}
	put("a.1", "again")
	remove("a.2")
	one.await(t, "a.1:again")
	two.await(t, "a.1:again")

	// What is in the store is what a new mirror finds.
	openCopy(t, s, true).want(t, "a.1:again")
}
