package grants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

var ctx = context.Background()

// sample is what a proposal becomes when somebody saves it.
func sample(kind, program string) hook.Saved {
	text := "  - id: " + Placeholder + "\n    action: allow\n    match:\n        command:\n            program: " + program + "\n            args: []\n            stdin: [none]\n"
	tests := "  - cmd: " + program + "\n    expect: allow\n    rule: " + Placeholder + "\n"
	return hook.Saved{Kind: kind, Sentence: "Run `" + program + "`", Rule: text, Tests: tests, RequestID: "r1", By: hook.Approver{Kind: "device", ID: "d", Name: "phone"}}
}

func open(t *testing.T, kv kvmirror.KV, file string) *Store {
	t.Helper()
	s, err := Open(ctx, Config{KV: kv, File: file, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Store) mustSave(t *testing.T, x hook.Saved) hook.Saved {
	t.Helper()
	x, err := s.Save(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// allows says whether the rules in force allow a program.
func (s *Store) allows(t *testing.T, program string) bool {
	t.Helper()
	set, err := policy.Load(s.Sources(), policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	input, _ := json.Marshal(map[string]string{"command": program})
	return set.Eval(policy.Call{Tool: "Bash", Input: input, Cwd: "/p", Shell: "bash"}).Action == hook.ActionAllow
}

func TestSaveAndRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, "")
		defer s.Close()
		var told atomic.Int64 // the watch tells too
		s.Notify(func() { told.Add(1) })
		x := s.mustSave(t, sample(hook.SavedRule, "mytool"))
		if !s.allows(t, "mytool") || s.allows(t, "other") || told.Load() == 0 {
			t.Errorf("what was saved is not in force, or more is; told %d times", told.Load())
		}
		if err := s.Use(ctx, "q", []string{x.ID}); err != nil {
			t.Error(err)
		}
		other := hook.Approver{Kind: "token", Name: "bot"}
		if _, err := s.Revoke(ctx, hook.SavedGrant, x.ID, other); !errors.Is(err, ErrNotFound) {
			t.Errorf("revoked as another kind: %v", err)
		}
		if _, err := s.Revoke(ctx, hook.SavedRule, x.ID, other); err != nil {
			t.Fatal(err)
		}
		if s.allows(t, "mytool") {
			t.Error("what was revoked is in force")
		}
		if err := s.Use(ctx, "q", []string{x.ID}); !errors.Is(err, ErrOver) {
			t.Errorf("what was revoked may be used: %v", err)
		}
		for _, id := range []string{x.ID, "x", "", "a.b*>", strings.Repeat("x", 1000)} {
			if _, err := s.Revoke(ctx, hook.SavedRule, id, other); !errors.Is(err, ErrNotFound) {
				t.Errorf("revoke %q: %v", id, err)
			}
		}
		if l := s.List(hook.SavedRule); len(l) != 1 || l[0].RevokedBy.Name != "bot" || l[0].By.Name != "phone" || l[0].RequestID != "r1" {
			t.Errorf("the record says %+v", l)
		}
		synctest.Wait()
	})
}

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, kvtest.New(), "")
		defer s.Close()
		var told atomic.Int64
		s.Notify(func() { told.Add(1) })
		x := sample(hook.SavedGrant, "mytool")
		x.ExpiresAt = time.Now().Add(15 * time.Minute)
		x = s.mustSave(t, x)
		synctest.Wait()
		told.Store(0)
		time.Sleep(15*time.Minute - 1)
		if err := s.Use(ctx, "q", []string{x.ID}); err != nil || !s.allows(t, "mytool") {
			t.Errorf("just before its end: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := s.Use(ctx, "q", []string{x.ID}); !errors.Is(err, ErrOver) {
			t.Errorf("at its end: %v", err)
		}
		synctest.Wait()
		if s.allows(t, "mytool") || told.Load() == 0 {
			t.Error("after its end it is in force, or nobody was told")
		}
	})
}

// TestCount: whoever asks, over however many brokers and restarts, a grant counts once for a
// request and never more than it may.
func TestCount(t *testing.T) {
	kv := kvtest.New()
	s := open(t, kv, "")
	x := sample(hook.SavedGrant, "mytool")
	x.Count = 10
	x = s.mustSave(t, x)
	_ = s.Close()
	stores := []*Store{open(t, kv, ""), open(t, kv, "")}
	var all sync.WaitGroup
	var mu sync.Mutex
	allowed := map[string]bool{}
	for i := range 30 {
		for j := range 3 { // the same request comes three times
			all.Go(func() {
				id := fmt.Sprint("q", i)
				err := stores[(i+j)%2].Use(ctx, id, []string{x.ID, x.ID + "/2"})
				if err != nil && !errors.Is(err, ErrOver) && !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					allowed[id] = true
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	for _, s := range stores {
		_ = s.Close()
	}
	s = open(t, kv, "")
	defer s.Close()
	left := s.List("")[0]
	if len(left.Spent) != 10 || len(allowed) > 10 {
		t.Errorf("%d requests were allowed, %d are counted", len(allowed), len(left.Spent))
	}
	for id := range allowed {
		if err := s.Use(ctx, id, []string{x.ID}); err != nil {
			t.Errorf("a request that comes back to what it was granted: %v", err)
		}
		if s.Outstanding(id) == nil {
			t.Error("nothing is outstanding for a request that comes back")
		}
	}
	if s.allows(t, "mytool") || s.Outstanding("other") != nil || !errors.Is(s.Use(ctx, "other", []string{x.ID}), ErrOver) {
		t.Error("a grant that is spent is in force")
	}
}

// TestNobodyKnows: with the record away, or unreadable, nothing may be allowed.
func TestNobodyKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, "")
		defer s.Close()
		x := s.mustSave(t, sample(hook.SavedRule, "mytool"))
		kv.SetDown(errors.New("away"))
		if err := s.Use(ctx, "q", []string{x.ID}); err == nil || errors.Is(err, ErrOver) {
			t.Errorf("with the record away: %v", err)
		}
		if _, err := s.Save(ctx, sample(hook.SavedRule, "other")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("save: %v", err)
		}
		kv.SetDown(nil)
		for _, text := range []string{"{", `{"id":"x"}`, "null", ""} {
			for key := range kv.Values() {
				_, _ = kv.Delete(ctx, key)
				if _, err := kv.Create(ctx, key, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if err := s.Use(ctx, "q", []string{x.ID}); err == nil {
				t.Errorf("the record says %q, and it may be used", text)
			}
			if s.allows(t, "mytool") {
				t.Errorf("the record says %q, and it is in force", text)
			}
		}
	})
}

func TestReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv, ""), open(t, kv, "")
		defer a.Close()
		defer b.Close()
		x := a.mustSave(t, sample(hook.SavedRule, "mytool"))
		synctest.Wait()
		if !b.allows(t, "mytool") {
			t.Error("the other broker does not know it")
		}
		kv.Delay(1) // the news of the end does not reach b
		if _, err := a.Revoke(ctx, x.Kind, x.ID, x.By); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !b.allows(t, "mytool") {
			t.Fatal("the news reached b: this test says nothing")
		}
		if err := b.Use(ctx, "q", []string{x.ID}); !errors.Is(err, ErrOver) {
			t.Errorf("what the other broker revoked may be used: %v", err)
		}
		if b.allows(t, "mytool") {
			t.Error("b has seen its end, and has it in force")
		}
	})
}

func TestFileIsACopy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	kv := kvtest.New()
	s := open(t, kv, file)
	x := s.mustSave(t, sample(hook.SavedRule, "mytool"))
	read := func() string { b, _ := os.ReadFile(file); return string(b) }
	text := read()
	if src := s.Sources(); len(src) != 1 || src[0].Name != file || string(src[0].Data) != text {
		t.Errorf("the file is not what is in force:\n%s", text)
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	_ = s.Close()
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "mytool", "rm")), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, kv, file)
	defer s.Close()
	if read() != text || s.allows(t, "rm") {
		t.Error("a change in the file counts")
	}
	if _, err := s.Revoke(ctx, x.Kind, x.ID, x.By); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without rules stays: %v", err)
	}
}

func TestBoundsOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s := open(t, kv, "")
		x := sample(hook.SavedGrant, "mytool")
		x.ExpiresAt = time.Now().Add(time.Hour)
		for range MaxActive {
			s.mustSave(t, x)
		}
		if _, err := s.Save(ctx, x); !errors.Is(err, ErrFull) {
			t.Errorf("one more: %v", err)
		}
		broken := sample(hook.SavedRule, "mytool")
		broken.Rule = strings.Replace(broken.Rule, "program: mytool", `program: "*"`, 1)
		time.Sleep(2 * time.Hour)
		if _, err := s.Save(ctx, broken); err == nil {
			t.Error("a rule that no file may have was saved")
		}
		synctest.Wait()
		_ = s.Close()
		time.Sleep(keepOver)
		s = open(t, kv, "")
		defer s.Close()
		if n := len(kv.Values()); n != 0 {
			t.Errorf("%d that are long over are kept", n)
		}
	})
}

// TestSignedOnce: two replicas that get the same signed words at the same time save one thing.
func TestSignedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s, other := open(t, kv, ""), open(t, kv, "")
		defer s.Close()
		defer other.Close()
		x := sample(hook.SavedGrant, "mytool")
		x.Count, x.PublicKey = 1, &hook.JWK{}
		var all sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			all.Go(func() {
				kept, err := []*Store{s, other}[i%2].Save(ctx, x)
				if err != nil {
					t.Error(err)
				}
				ids[i] = kept.ID
			})
		}
		all.Wait()
		synctest.Wait()
		for _, id := range ids {
			if id != ids[0] || len(s.List("")) != 1 || len(other.List("")) != 1 {
				t.Fatalf("saved %v", ids)
			}
		}
		if err := s.Use(ctx, "q", ids[:1]); err != nil {
			t.Error(err)
		}
		for _, store := range []*Store{s, other} {
			if _, err := store.Save(ctx, x); !errors.Is(err, ErrBefore) {
				t.Errorf("saved again when it was spent: %v", err)
			}
		}
	})
}

// overtaken is a KV whose next Get answers with what was there before the key was deleted, after
// the deletion has become known everywhere.
type overtaken struct {
	kvmirror.KV
	next atomic.Bool
}

func (k *overtaken) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	value, rev, err := k.KV.Get(ctx, key)
	if k.next.Swap(false) {
		if _, err := k.Delete(ctx, key); err != nil {
			return nil, 0, err
		}
		synctest.Wait()
	}
	return value, rev, err
}

// A read that a deletion overtook does not bring back what was deleted.
func TestLateReadDoesNotRevive(t *testing.T) {
	for name, read := range map[string]func(s *Store, id string){
		"use":    func(s *Store, id string) { _ = s.Use(ctx, "q", []string{id}) },
		"revoke": func(s *Store, id string) { _, _ = s.Revoke(ctx, hook.SavedGrant, id, hook.Approver{}) }, // of another kind
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := &overtaken{KV: kvtest.New()}
				s := open(t, kv, "")
				defer s.Close()
				x := s.mustSave(t, sample(hook.SavedRule, "mytool"))
				kv.next.Store(true)
				read(s, x.ID)
				synctest.Wait()
				if kv.next.Load() {
					t.Error("nothing was read")
				}
				if l := s.List(""); len(l) != 0 || s.allows(t, "mytool") {
					t.Errorf("what was deleted is back: %+v", l)
				}
			})
		})
	}
}
