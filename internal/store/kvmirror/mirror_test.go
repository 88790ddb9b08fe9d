package kvmirror_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

// script is a KV whose Watch does what the test says, one function for each call in turn. The last
// one serves all later calls.
type script struct {
	kvmirror.KV
	mu    sync.Mutex
	calls []time.Time
	turns []func(ctx context.Context, fn func(key string, value []byte, rev uint64), caughtUp func()) error
}

func (s *script) Watch(ctx context.Context, _ string, fn func(string, []byte, uint64), caughtUp func()) error {
	s.mu.Lock()
	turn := s.turns[min(len(s.calls), len(s.turns)-1)]
	s.calls = append(s.calls, time.Now())
	s.mu.Unlock()
	return turn(ctx, fn, caughtUp)
}

// copied is an owner of a mirror: what Apply made of the news.
type copied struct {
	*kvmirror.Mirror
	news chan struct{} // holds one when there was news
	mu   sync.Mutex
	now  map[string]string // guarded by mu
	revs map[string]uint64 // guarded by mu
	log  []string          // guarded by mu
}

func (c *copied) config(kv kvmirror.KV, final bool) kvmirror.Config {
	c.news, c.now, c.revs = make(chan struct{}, 1), map[string]string{}, map[string]uint64{}
	return kvmirror.Config{
		KV: kv, Prefix: "a.", Final: final, What: "a test",
		Apply: func(key string, value []byte, rev uint64) func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if rev <= c.revs[key] {
				c.log = append(c.log, fmt.Sprintf("%s went from revision %d to %d", key, c.revs[key], rev))
			}
			c.revs[key] = rev
			if value == nil {
				delete(c.now, key)
			} else {
				c.now[key] = string(value)
			}
			select {
			case c.news <- struct{}{}:
			default:
			}
			return nil
		},
		Logf: func(format string, args ...any) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.log = append(c.log, fmt.Sprintf(format, args...))
		},
	}
}

func openCopy(t *testing.T, kv kvmirror.KV, final bool) *copied {
	t.Helper()
	c := &copied{}
	var err error
	if c.Mirror, err = kvmirror.Open(t.Context(), c.config(kv, final)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *copied) want(t *testing.T, want string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := fmt.Sprint(c.now); got != "map["+want+"]" {
		t.Errorf("there is %s, want %s", got, want)
	}
}

func (c *copied) logged() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log
}

var errBroken = errors.New("broken")

func idle(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// News of a key may come in any order, by the watch or from the owner: the greatest revision wins.
func TestNewsOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
			func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
				fn("a.1", []byte("five"), 5)
				caughtUp()
				fn("a.1", []byte("three"), 3)
				fn("a.2", []byte("six"), 6)
				return idle(ctx)
			},
		}}
		c := openCopy(t, kv, false)
		synctest.Wait()
		c.want(t, "a.1:five a.2:six")
		for _, x := range []struct {
			rev  uint64
			news bool
			want string
		}{{4, false, "five"}, {5, false, "five"}, {9, true, "9"}, {8, false, "9"}, {10, true, "10"}} {
			if news := c.Offer("a.1", fmt.Append(nil, x.rev), x.rev); news != x.news {
				t.Errorf("revision %d is news: %t", x.rev, news)
			}
			c.want(t, "a.1:"+x.want+" a.2:six")
		}
	})
}

// What was deleted stays deleted, whatever older news says; a later write brings it back, unless
// deletions are final.
func TestOlderNewsRevivesNothing(t *testing.T) {
	for _, final := range []bool{false, true} {
		t.Run(fmt.Sprintf("final %t", final), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				news := make(chan uint64)
				kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
					func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
						fn("a.gone", nil, 2) // deleted before the start
						fn("a.1", []byte("x"), 5)
						caughtUp()
						for {
							select {
							case rev := <-news:
								fn("a.1", fmt.Append(nil, rev), rev)
							case <-ctx.Done():
								return ctx.Err()
							}
						}
					},
				}}
				c := openCopy(t, kv, final)
				if c.Offer("a.gone", []byte("x"), 1) {
					t.Error("what was deleted before the start came back")
				}
				if !c.Offer("a.1", nil, 8) {
					t.Error("the deletion is no news")
				}
				c.want(t, "")
				for _, rev := range []uint64{6, 7, 8} {
					news <- rev
					synctest.Wait()
					c.want(t, "")
					if c.Offer("a.1", []byte("x"), rev) {
						t.Errorf("revision %d is news", rev)
					}
				}
				news <- 9
				synctest.Wait()
				if final {
					c.want(t, "")
				} else {
					c.want(t, "a.1:9")
				}
			})
		})
	}
}

// A final deletion counts even where revisions began anew.
func TestFinalDeletionOfLowRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
			func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
				fn("a.1", []byte("x"), 500)
				caughtUp()
				fn("a.1", nil, 3)
				return idle(ctx)
			},
		}}
		c := openCopy(t, kv, true)
		synctest.Wait()
		c.want(t, "")
	})
}

// A watch that breaks is tried again, ever more slowly up to a bound, and the log tells it once.
// What happened meanwhile is then there.
func TestWatchBreaksAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := func(context.Context, func(string, []byte, uint64), func()) error { return errBroken }
		turns := []func(context.Context, func(string, []byte, uint64), func()) error{
			func(_ context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
				fn("a.1", []byte("x"), 1)
				fn("a.2", []byte("x"), 2)
				caughtUp()
				time.Sleep(time.Minute)
				return errBroken
			},
		}
		for range 9 {
			turns = append(turns, broken)
		}
		turns = append(turns, func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
			fn("a.1", []byte("x"), 1)
			fn("a.3", []byte("z"), 3)
			fn("a.2", nil, 4)
			caughtUp()
			time.Sleep(time.Minute)
			return errBroken
		}, func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
			caughtUp()
			return idle(ctx)
		})
		kv := &script{turns: turns}
		c := openCopy(t, kv, false)
		time.Sleep(time.Minute + 10*time.Second)
		c.want(t, "a.1:x a.2:x")
		if log := c.logged(); len(log) != 1 || !strings.Contains(log[0], "a test") || !strings.Contains(log[0], "broken") {
			t.Errorf("the log says %q", log)
		}
		time.Sleep(time.Minute)
		c.want(t, "a.1:x a.3:z")
		time.Sleep(time.Minute)
		if log := c.logged(); len(log) != 2 {
			t.Errorf("the log says %q, want a line for each break", log)
		}
		kv.mu.Lock()
		defer kv.mu.Unlock()
		if len(kv.calls) != len(turns) {
			t.Fatalf("%d tries, want %d", len(kv.calls), len(turns))
		}
		for i := 2; i < len(turns)-1; i++ {
			if pause := kv.calls[i].Sub(kv.calls[i-1]); pause < 250*time.Millisecond || pause > 5*time.Second {
				t.Errorf("try %d came after %v", i, pause)
			}
		}
	})
}

// While the KV is away Open goes on trying, until its context is done.
func TestLoadFails(t *testing.T) {
	half := func(_ context.Context, fn func(string, []byte, uint64), _ func()) error {
		fn("a.1", []byte("x"), 1)
		return errBroken
	}
	t.Run("and heals", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
				half, half,
				func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
					fn("a.2", []byte("y"), 2)
					fn("a.1", nil, 3)
					caughtUp()
					return idle(ctx)
				},
			}}
			openCopy(t, kv, false).want(t, "a.2:y")
		})
	})
	t.Run("for too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too long"))
			defer cancel()
			kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{half}}
			_, err := kvmirror.Open(ctx, (&copied{}).config(kv, false))
			if err == nil || err.Error() != "too long" {
				t.Errorf("error %v", err)
			}
			tries := len(kv.calls)
			time.Sleep(time.Hour)
			if len(kv.calls) != tries {
				t.Error("it goes on trying")
			}
		})
	})
}

// Close ends a watch that is under way, or waits to be tried again, and may be called twice.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
			func(_ context.Context, _ func(string, []byte, uint64), caughtUp func()) error {
				caughtUp()
				return errBroken
			},
		}}
		c := openCopy(t, kv, false)
		c.Close()
		c.Close()
		tries := len(kv.calls)
		time.Sleep(time.Hour)
		if len(kv.calls) != tries {
			t.Error("it goes on trying")
		}
		if !c.Offer("a.1", []byte("x"), 1) { // a write that was under way
			t.Error("news after Close is lost")
		}
	})
}

// After is called when the lock is free: it may offer news itself.
func TestAfterMayOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
			func(ctx context.Context, _ func(string, []byte, uint64), caughtUp func()) error {
				caughtUp()
				return idle(ctx)
			},
		}}
		var m *kvmirror.Mirror
		got := ""
		m, err := kvmirror.Open(t.Context(), kvmirror.Config{KV: kv, Prefix: "a.", Apply: func(key string, _ []byte, _ uint64) func() {
			got += key
			if key == "a.1" {
				return func() { m.Offer("a.2", nil, 2) }
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		m.Offer("a.1", nil, 1)
		if got != "a.1a.2" {
			t.Errorf("applied %q", got)
		}
	})
}

// What the owner runs beside the watch ends with it.
func TestGoEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openCopy(t, &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
			func(ctx context.Context, _ func(string, []byte, uint64), caughtUp func()) error {
				caughtUp()
				return idle(ctx)
			},
		}}, false)
		ended := false
		m.Go(func(ctx context.Context) {
			<-ctx.Done()
			ended = true
		})
		synctest.Wait()
		if ended {
			t.Error("it has ended before")
		}
		m.Close()
		if !ended {
			t.Error("Close does not wait for it")
		}
	})
}

func TestNewsHasOneListener(t *testing.T) {
	var n kvmirror.News
	n.Tell()
	got := ""
	n.Notify(func() { got += "a" })
	n.Tell()
	n.Notify(func() { got += "b" })
	n.Tell()
	n.Notify(nil)
	n.Tell()
	if got != "ab" {
		t.Errorf("told %q", got)
	}
}

// Many tell of the same keys at once: every copy ends with the greatest revision of each, and no key
// ever goes back.
func TestNewsFromManySides(t *testing.T) {
	const keys, writes, sides = 5, 400, 4
	type news struct {
		key   string
		value []byte
		rev   uint64
	}
	var all []news
	last := map[string]string{}
	for i := range writes {
		n := news{key: fmt.Sprintf("a.%d", rand.IntN(keys)), rev: uint64(i + 1)}
		if delete(last, n.key); rand.IntN(4) > 0 {
			n.value = fmt.Append(nil, n.rev)
			last[n.key] = string(n.value)
		}
		all = append(all, n)
	}
	kv := &script{turns: []func(context.Context, func(string, []byte, uint64), func()) error{
		func(ctx context.Context, fn func(string, []byte, uint64), caughtUp func()) error {
			caughtUp()
			for _, n := range all {
				fn(n.key, n.value, n.rev)
			}
			return idle(ctx)
		},
	}}
	c := openCopy(t, kv, false)
	var telling sync.WaitGroup
	for range sides {
		mixed := make([]news, len(all))
		for i, j := range rand.Perm(len(all)) {
			mixed[i] = all[j]
		}
		telling.Go(func() {
			for _, n := range mixed {
				c.Offer(n.key, n.value, n.rev)
			}
		})
	}
	telling.Wait()
	c.want(t, strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(last), "map["), "]"))
	if log := c.logged(); len(log) > 0 {
		t.Errorf("%q", log)
	}
}

// A store that was made anew begins its revisions anew. What it holds counts then, what it does not
// hold is gone, and older revisions are news; but nothing brings back what was deleted for good.
func TestStoreMadeAnew(t *testing.T) {
	for _, final := range []bool{false, true} {
		t.Run(fmt.Sprintf("final %t", final), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := kvtest.New()
				write := func(key, value string) {
					t.Helper()
					if _, err := kv.Create(t.Context(), key, []byte(value)); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 9 {
					write(fmt.Sprintf("b.%d", i), "of others")
				}
				write("a.1", "x")
				write("a.2", "x")
				write("a.3", "x")
				c := openCopy(t, kv, final)
				if _, err := kv.Delete(t.Context(), "a.3"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c.want(t, "a.1:x a.2:x")
				if log := c.logged(); len(log) > 0 {
					t.Errorf("the log says %q", log)
				}

				kv.Renew()
				write("a.2", "anew")
				write("a.3", "anew")
				time.Sleep(time.Minute)
				want := "a.2:anew a.3:anew"
				if final {
					want = "a.2:anew"
				}
				c.want(t, want)
				if _, err := kv.Update(t.Context(), "a.2", []byte("news"), 1); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c.want(t, strings.Replace(want, "a.2:anew", "a.2:news", 1))
				if c.Offer("a.2", []byte("old"), 2) {
					t.Error("in the new store, too, older news is none")
				}
				write("a.1", "back")
				synctest.Wait()
				want = "a.1:back a.2:news a.3:anew"
				if final {
					want = "a.2:news"
				}
				c.want(t, want)
			})
		})
	}
}
