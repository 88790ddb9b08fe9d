package stream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
)

// smallDisk mounts a tmpfs of 48 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID, "size=48m,mode=0700"); err != nil {
		t.Skipf("needs a small tmpfs, and this user may not mount one (run as root, with CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes the whole of the disk.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFull fills the disk under a stream that writes, frees it, and wants the stream to
// have refused meanwhile, to work again by itself, and to hold what it acknowledged once and
// in order. With the reserve the stream refuses before the server notices; without it the
// server fails in the middle of a write and has to be restarted.
func TestDiskFull(t *testing.T) {
	for name, reserve := range map[string]int64{"refused before": 0, "failed in the server": -1} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t)
			log := &testLog{}
			log.show(t)
			s, err := Open(t.Context(), Config{Dir: filepath.Join(disk, "state"), Logf: log.Logf, reserve: reserve})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() // before the disk goes

			ctx, cancel := context.WithCancel(t.Context())
			var tailed []string
			var seen []string
			both := make(chan error, 2)
			tail := make(chan string, 100_000)
			events := make(chan string, 100_000)
			go func() {
				both <- s.Tail(ctx, 0, func(r hook.Record) { tail <- r.ID }, func() {})
			}()
			go func() {
				both <- s.Events(ctx, 1, func(e hook.Event) { events <- e.ID })
			}()

			var records, published []string // acknowledged
			write := func() (recErr, eventErr error) {
				a := asked(t)
				began := time.Now()
				if _, recErr = s.Append(t.Context(), a, 0); recErr == nil {
					records = append(records, a.ID)
				}
				e := hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: make([]byte, 4096)}
				if _, eventErr = s.Publish(t.Context(), e); eventErr == nil {
					published = append(published, e.ID)
				}
				// The contract's second each, and what a machine takes that is held up.
				if d := time.Since(began); (recErr != nil || eventErr != nil) && d > time.Minute {
					t.Errorf("a refusal took %v", d)
				}
				return recErr, eventErr
			}
			for range 20 {
				if _, err := again(func() (uint64, error) { return 0, errors.Join(write()) }); err != nil {
					t.Fatal(err)
				}
			}
			filler := filepath.Join(disk, "filler")
			fill(t, filler)
			// Until both refuse: the server may have room in a file it has.
			for range 20_000 {
				recErr, eventErr := write()
				if recErr != nil && !errors.Is(recErr, broker.ErrUnavailable) || eventErr != nil && !errors.Is(eventErr, broker.ErrUnavailable) {
					t.Fatal(recErr, eventErr)
				}
				if recErr != nil && eventErr != nil {
					if reserve == 0 && !errors.Is(recErr, syscall.ENOSPC) {
						t.Errorf("what is refused for want of space is none of these errors: %v", recErr)
					}
					break
				}
			}
			if err := s.Healthy(); err == nil {
				t.Error("healthy on a full disk")
			} else {
				t.Log(err)
			}
			if !log.has("refusing") {
				t.Error("the log does not say that writes are refused")
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			awaitHealthy(t, s)
			for range 20 {
				if _, err := again(func() (uint64, error) { return 0, errors.Join(write()) }); err != nil {
					t.Fatal(err)
				}
			}
			if reserve < 0 && !log.has("restarting") {
				t.Error("the server did not fail: the test tries nothing")
			}
			// What the followers saw is what is there; what was acknowledged is in it.
			follow := func(from chan string, last string) (ids []string) {
				for {
					if ids = append(ids, within(t, from)); ids[len(ids)-1] == last {
						return ids
					}
				}
			}
			tailed = follow(tail, records[len(records)-1])
			seen = follow(events, published[len(published)-1])
			holds(t, "record", tailed, records)
			holds(t, "event", seen, published)
			cancel()
			within(t, both)
			within(t, both)

			// And after a start from the disk.
			dir := s.cfg.Dir
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s, err = Open(t.Context(), Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var again []string
			ctx, cancel = context.WithCancel(t.Context())
			_ = s.Tail(ctx, 0, func(r hook.Record) { again = append(again, r.ID) }, cancel)
			if !reflect.DeepEqual(again, tailed) {
				t.Errorf("after a start there are %d records, the tail saw %d", len(again), len(tailed))
			}
		})
	}
}

// holds checks that all has no doubles, and want within it in order.
func holds(t *testing.T, what string, all, want []string) {
	t.Helper()
	once := map[string]bool{}
	for _, id := range all {
		if once[id] {
			t.Errorf("%s %s came twice", what, id)
		}
		once[id] = true
		if len(want) > 0 && id == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("%d acknowledged %ss are missing or out of order", len(want), what)
	}
	t.Logf("%d %ss", len(all), what)
}
