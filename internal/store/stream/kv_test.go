package stream

import (
	"context"
	"errors"
	"testing"

	"assent/broker"
)

func TestKeyValue(t *testing.T) {
	s := open(t, Config{})
	ctx := t.Context()
	if _, _, err := s.Get(ctx, "auth.a"); !errors.Is(err, ErrKeyNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
	rev, err := s.Create(ctx, "auth.a", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, "auth.a", []byte("2")); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("create twice: %v", err)
	}
	rev2, err := s.Update(ctx, "auth.a", []byte("3"), rev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(ctx, "auth.a", []byte("4"), rev); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("update of an old revision: %v", err)
	}
	if value, rev, err := s.Get(ctx, "auth.a"); string(value) != "3" || rev != rev2 || err != nil {
		t.Errorf("got %q, %d, %v", value, rev, err)
	}
	if _, err := s.Put(ctx, "other.b", nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Delete(ctx, "auth.a"); err != nil {
		t.Error(err)
	}
	if _, err := s.Delete(ctx, "auth.never"); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Get(ctx, "auth.a"); !errors.Is(err, ErrKeyNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	if _, err := s.Update(ctx, "auth.a", []byte("5"), rev2); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("an update brought a deleted key back: %v", err)
	}
	if _, err := s.Put(ctx, "a b", nil); err == nil || errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("a key with a blank: %v", err)
	}
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
}

func TestWatch(t *testing.T) {
	s := open(t, Config{})
	put := func(key, value string) {
		t.Helper()
		if _, err := s.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	put("a.1", "x")
	put("a.2", "")
	put("b.1", "not watched")
	put("a.1", "y")
	got := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Watch(ctx, "a.", func(key string, value []byte, _ uint64) {
			if value == nil {
				key = "-" + key
			}
			got <- key + "=" + string(value)
		}, func() { got <- "caught up" })
	}()
	want := func(all ...string) {
		t.Helper()
		for _, w := range all {
			if g := <-got; g != w {
				t.Fatalf("got %q, want %q", g, w)
			}
		}
	}
	want("a.2=", "a.1=y", "caught up")
	put("a.3", "z")
	if _, err := s.Delete(t.Context(), "a.1"); err != nil {
		t.Fatal(err)
	}
	want("a.3=z", "-a.1=")
	s.record.fail(errors.New("a test"), true)
	awaitHealthy(t, s)
	put("a.4", "after a restart")
	want("a.4=after a restart")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("and %q", <-got)
	}
}
