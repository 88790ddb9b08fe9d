package stream

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"assent/broker"
	"assent/internal/store/kvmirror"
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
			if g := receive(t, got); g != w {
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
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("and %q", <-got)
	}
}

// An operator may delete the bucket of a cluster while brokers run. Another broker makes it anew, with
// revisions from 1, fewer or more than there were: a mirror then follows the new one.
func TestBucketMadeAnew(t *testing.T) {
	for _, writes := range []int{1, 40} {
		t.Run(strconv.Itoa(writes), func(t *testing.T) {
			x := startExternal(t, maxPayload)
			s, log := open(t, Config{URL: x.srv.ClientURL(), Logf: t.Logf}), &testLog{}
			ctx := t.Context()
			var last uint64
			put := func(key, value string) {
				t.Helper()
				var err error
				if last, err = s.Put(ctx, key, []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
			put("a.gone", "x")
			for range 20 {
				put("a.1", "old")
			}
			news := make(chan string, 1000)
			m, err := kvmirror.Open(ctx, kvmirror.Config{KV: s, Prefix: "a.", What: "a test", Logf: log.Logf, Apply: func(key string, value []byte, _ uint64) func() {
				news <- key + "=" + string(value)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			await := func(want string) {
				t.Helper()
				for late := time.After(patience); ; {
					select {
					case got := <-news:
						if got == want {
							return
						}
					case <-late:
						t.Fatalf("%s did not come; the log: %q", want, log.lines)
					}
				}
			}
			await("a.1=old")
			if err := s.record.js.DeleteStream(ctx, kvStream); err != nil {
				t.Fatal(err)
			}
			if err := s.layoutRecord(ctx); err != nil { // as another broker does when it starts
				t.Fatal(err)
			}
			for i := range writes {
				put("a.1", strconv.Itoa(i+1))
			}
			if writes == 1 && last != 1 {
				t.Fatalf("the new bucket begins with revision %d", last)
			}
			await("a.1=" + strconv.Itoa(writes))
			await("a.gone=")
			put("a.1", "news")
			await("a.1=news")
		})
	}
}
