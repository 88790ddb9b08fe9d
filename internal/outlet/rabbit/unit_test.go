package rabbit

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	b := backoff{shortest: 200 * time.Millisecond, longest: 10 * time.Second}
	for round := range 2 {
		for i, whole := range []time.Duration{200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
			whole *= time.Millisecond
			if d := b.next(); d < whole/2 || d > whole {
				t.Errorf("round %d: pause %d is %v, want from %v to %v", round, i, d, whole/2, whole)
			}
		}
		b.reset()
	}
}

func TestIDRing(t *testing.T) {
	r := newIDRing(3)
	for i := range 10 {
		id := strconv.Itoa(i)
		if !r.add(id) || r.add(id) {
			t.Errorf("%s is not told apart", id)
		}
	}
	if r.add("7") || !r.add("6") {
		t.Error("it remembers not the last three")
	}
	if len(r.ids) != 3 {
		t.Errorf("it holds %d", len(r.ids))
	}
}

// What is read ahead is bounded, but for a user who waits; heartbeats that came late for that are
// not missed.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		g := newGate()
		c := &gatedConn{Conn: client, gate: g}
		if err := c.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil {
			t.Fatal(err)
		}
		go func() {
			for { // as much as is taken
				if _, err := server.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}()
		var read atomic.Int64
		ended := make(chan error)
		go func() {
			b := make([]byte, 1<<20)
			for {
				n, err := c.Read(b)
				if read.Add(int64(n)); err != nil {
					ended <- err
					return
				}
				if read.Load() == 30<<20 { // it waits with half of a message, which is whole now
					g.take(0)
				}
			}
		}()
		see := func(mib int64) {
			t.Helper()
			synctest.Wait()
			if n := read.Load(); n>>20 != mib {
				t.Errorf("%d MiB were read, want %d", n>>20, mib)
			}
		}
		see(readAhead >> 20)
		time.Sleep(time.Hour)
		g.take(2 << 20) // and a bit
		see(readAhead>>20 + 3)
		g.wait()
		see(30)
		time.Sleep(time.Hour)
		c.Close()
		if err := <-ended; err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		server.Close()
	})
}
