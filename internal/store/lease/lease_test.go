package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/store/kvmirror/kvtest"
	"assent/internal/store/lease"
)

// cut is a broker's own way to the KV, which may be cut.
type cut struct {
	lease.KV
	mu  sync.Mutex
	off bool
}

var errCut = errors.New("cut off")

func (c *cut) set(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

func (c *cut) away() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off
}

func (c *cut) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if c.away() {
		return nil, 0, errCut
	}
	return c.KV.Get(ctx, key)
}

func (c *cut) Create(ctx context.Context, key string, v []byte) (uint64, error) {
	if c.away() {
		return 0, errCut
	}
	return c.KV.Create(ctx, key, v)
}

func (c *cut) Update(ctx context.Context, key string, v []byte, rev uint64) (uint64, error) {
	if c.away() {
		return 0, errCut
	}
	return c.KV.Update(ctx, key, v, rev)
}

func holders(leases []*lease.Lease) (n, at int, fence uint64) {
	at = -1
	for i, l := range leases {
		if f, ok := l.Held(); ok {
			n, at, fence = n+1, i, f
		}
	}
	return n, at, fence
}

// One of three brokers holds the lease, at any time at most one; one that is cut off is followed within
// five seconds with a greater fence, and knows by itself that it is over before that; one that closes is
// followed at its neighbours' next look.
func TestLeaseHasOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		var ways []*cut
		var leases []*lease.Lease
		for i := range 3 {
			w := &cut{KV: kv}
			ways = append(ways, w)
			leases = append(leases, lease.Open(lease.Config{KV: w, NotFound: kvtest.ErrKey, Name: "notify", Holder: fmt.Sprint("b", i)}))
			time.Sleep(100 * time.Millisecond) // they do not look at the same moment
		}
		defer func() {
			for _, l := range leases {
				l.Close()
			}
		}()
		last, at := uint64(0), 0
		await := func(most time.Duration) (waited time.Duration) {
			t.Helper()
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				n, who, fence := holders(leases)
				if n > 1 {
					t.Fatalf("%d hold it at once", n)
				}
				if n == 1 && who != at {
					if fence <= last {
						t.Errorf("the next holder's fence is %d, that of the last was %d", fence, last)
					}
					at, last = who, fence
					return time.Since(began)
				}
				if time.Since(began) > most {
					t.Fatalf("nobody took the lease within %v", most)
				}
			}
		}
		at = -1
		await(2 * time.Second)
		for range 4 {
			time.Sleep(7 * time.Second)
			if n, who, fence := holders(leases); n != 1 || who != at {
				t.Fatalf("%d hold it, the last is %d, want %d for as long as it lives", n, who, at)
			} else {
				last = fence
			}
			was := at
			ways[was].set(true)
			await(5 * time.Second)
			ways[was].set(false)
		}
		leases[at].Close()
		if d := await(2 * time.Second); d > lease.Step+100*time.Millisecond {
			t.Errorf("a lease that was given back was taken after %v", d)
		}
	})
}

// A process that is stopped does not renew. When it goes on it is not held any more, before it has
// looked.
func TestLeaseOfStoppedHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		stopped := make(chan struct{})
		slow := &stoppable{KV: kv}
		a := lease.Open(lease.Config{KV: slow, NotFound: kvtest.ErrKey, Name: "x", Holder: "a"})
		defer a.Close()
		time.Sleep(10 * time.Millisecond)
		if _, ok := a.Held(); !ok {
			t.Fatal("it is not held")
		}
		slow.stop(stopped)
		time.Sleep(lease.CountsFor + time.Second)
		if _, ok := a.Held(); ok {
			t.Error("a holder that renewed nothing counts on it")
		}
		b := lease.Open(lease.Config{KV: kv, NotFound: kvtest.ErrKey, Name: "x", Holder: "b"})
		defer b.Close()
		time.Sleep(lease.TakeAfter + lease.Step)
		if _, ok := b.Held(); !ok {
			t.Error("nobody took over")
		}
		close(stopped)
		time.Sleep(10 * time.Second)
		if n, at, _ := holders([]*lease.Lease{a, b}); n != 1 || at != 1 {
			t.Errorf("%d hold it, the last is %d: want b alone", n, at)
		}
	})
}

// stoppable is a KV whose calls stand still.
type stoppable struct {
	lease.KV
	mu    sync.Mutex
	until chan struct{}
}

func (s *stoppable) stop(until chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

func (s *stoppable) Update(ctx context.Context, key string, v []byte, rev uint64) (uint64, error) {
	s.mu.Lock()
	until := s.until
	s.mu.Unlock()
	if until != nil {
		<-until
	}
	return s.KV.Update(ctx, key, v, rev)
}
