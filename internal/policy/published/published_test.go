package published_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/policy/published"
	"assent/internal/store/kvmirror/kvtest"
)

var boss = hook.Approver{Kind: "owner-cli", Name: "owner"}

func open(t *testing.T, kv *kvtest.KV, self string) *published.Store {
	t.Helper()
	s, err := published.Open(t.Context(), published.Config{KV: kv, Self: self, Host: "host-" + self, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestPublish: versions count up, each is seen by all brokers, and nobody publishes over another unseen.
func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		kv := kvtest.New()
		a, b := open(t, kv, "a"), open(t, kv, "b")
		if _, ok := b.Source(); ok || b.Now().Version != 0 {
			t.Error("something is published")
		}
		heard := 0
		b.Notify(func() { heard++ })
		v, err := a.Publish(ctx, "one", nil, boss, 0)
		if err != nil || v.Version != 1 || v.By != boss {
			t.Fatalf("%+v, %v", v, err)
		}
		synctest.Wait()
		if src, ok := b.Source(); !ok || string(src.Data) != "one" || published.VersionOf(src.Name) != 1 || heard != 1 {
			t.Errorf("%+v, heard %d", src, heard)
		}
		if src, _ := b.Source(); src.Signed != nil {
			t.Errorf("signed: %v", src.Signed)
		}
		kv.Delay(1) // b knows of version 1 only
		if _, err := a.Publish(ctx, "two", nil, boss, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Publish(ctx, "another two", nil, boss, 1); !errors.Is(err, published.ErrChanged) {
			t.Errorf("over another: %v", err)
		}
		if got := b.Now(); got.Version != 2 || got.Text != "two" {
			t.Errorf("%+v", got)
		}
		kv.Delay(0)
		if _, err := b.Publish(ctx, "", nil, boss, 2); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, ok := a.Source(); ok {
			t.Error("what was taken back is published")
		}
		for n, want := range map[int]string{1: "one", 2: "two", 3: ""} {
			if v, err := a.At(ctx, n); err != nil || v.Text != want || v.Version != n {
				t.Errorf("version %d: %+v, %v", n, v, err)
			}
		}
		if _, err := a.At(ctx, 4); !errors.Is(err, published.ErrNoVersion) {
			t.Errorf("of the future: %v", err)
		}
		var bad *hook.FieldError
		if _, err := a.Publish(ctx, strings.Repeat("x", published.MaxText+1), nil, boss, 3); !errors.As(err, &bad) {
			t.Errorf("too large: %v", err)
		}
		kv.SetDown(errors.New("away"))
		if _, err := a.Publish(ctx, "x", nil, boss, 3); !errors.Is(err, published.ErrUnavailable) {
			t.Errorf("away: %v", err)
		}
		kv.SetDown(nil)
		for n := range 60 {
			if _, err := a.Publish(ctx, fmt.Sprint("text ", n), nil, boss, 3+n); err != nil {
				t.Fatal(err)
			}
		}
		texts := 0
		for key := range kv.Values() {
			if strings.HasPrefix(key, "rules.text.") {
				texts++
			}
		}
		if texts != 50 {
			t.Errorf("%d texts are kept", texts)
		}
		if _, err := a.At(ctx, 3); !errors.Is(err, published.ErrNoVersion) {
			t.Errorf("of long ago: %v", err)
		}
	})
}

// TestFollowing: each broker says what it follows, and takes it back at its end.
func TestFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, "a"), open(t, kv, "b")
		a.Follow(hook.RulesFollowing{Follows: hook.FollowsPublished, Version: 7})
		b.Follow(hook.RulesFollowing{Follows: hook.FollowsOwn, File: "/etc/x"})
		synctest.Wait()
		got := a.Brokers()
		if len(got) != 2 || got[0].Host != "host-a" || got[0].Version != 7 || got[1].File != "/etc/x" || got[1].Broker != "b" {
			t.Errorf("%+v", got)
		}
		writes := kv.Writes()
		a.Follow(hook.RulesFollowing{Follows: hook.FollowsPublished, Version: 7})
		synctest.Wait()
		if kv.Writes() != writes {
			t.Error("the same was written again")
		}
		time.Sleep(24 * time.Hour) // both say it again, now and then
		if got := a.Brokers(); len(got) != 2 {
			t.Errorf("after a day: %+v", got)
		}
		_ = b.Close()
		synctest.Wait()
		if got := a.Brokers(); len(got) != 1 || got[0].Broker != "a" {
			t.Errorf("after its end: %+v", got)
		}
	})
}

func TestName(t *testing.T) {
	for name, want := range map[string]int{published.Name(12): 12, "": 0, "/home/x/rules.yaml": 0, "published rules, version x": 0} {
		if got := published.VersionOf(name); got != want {
			t.Errorf("%q: %d", name, got)
		}
	}
}

// TestSigned: a signature goes to all brokers with its text.
func TestSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, "a"), open(t, kv, "b")
		s := &hook.RulesSignature{SHA256: "x", SignedAt: "y", Signature: "z"}
		if _, err := a.Publish(t.Context(), "one", s, boss, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if src, _ := b.Source(); string(src.Data) != "one" || src.Signed == nil || *src.Signed != *s {
			t.Errorf("%+v", src)
		}
		if _, err := b.Publish(t.Context(), "two", nil, boss, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if src, _ := a.Source(); string(src.Data) != "two" || src.Signed != nil {
			t.Errorf("what nobody signed: %+v", src)
		}
		if v, err := a.At(t.Context(), 1); err != nil || v.Signed == nil || *v.Signed != *s {
			t.Errorf("the one before: %+v, %v", v, err)
		}
	})
}
