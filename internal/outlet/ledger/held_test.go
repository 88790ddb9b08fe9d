package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// Anybody can tell of roots that never were. They push each other out, and no ledger that waits.
func TestRootsThatNeverWere(t *testing.T) {
	full := repository(t)
	if err := os.Mkdir(full+"/.hookd", 0o755); err != nil { // a work tree, whose ledger is refused
		t.Fatal(err)
	}
	half := t.TempDir() // with a .git that is none
	path := filepath.Join(t.TempDir(), "cursor")
	synctest.Test(t, func(t *testing.T) {
		s := newEvents()
		r := run(t, s, path)
		s.put(t, mutation(full, 1))
		time.Sleep(time.Second)
		for n := range maxHeld + 1 {
			root := fmt.Sprintf("/none/%s/%d", strings.Repeat("x", maxRoot-20), n)
			if n%2 == 1 {
				root = fmt.Sprintf("%s/%d", half, n)
				if err := os.MkdirAll(root+"/.git", 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s.put(t, mutation(root, n))
		}
		time.Sleep(time.Second)
		if got := r.Stats(); got.Held != maxHeld || got.Lost != 2 {
			t.Errorf("%+v", got)
		}
		r.stop()
		p, err := readCursor(path)
		if _, ok := p.Held[full]; !ok || err != nil {
			t.Errorf("the one that waits is forgotten (%v)", err)
		}
		for root, h := range p.Held {
			if len(h.Why) > maxWhy+len("…") {
				t.Fatalf("%.40s…: %d bytes of reason", root, len(h.Why))
			}
		}
	})
}

// The cursor may be large. It is not saved at each batch, but soon after the last.
func TestPlaceIsKeptNowAndThen(t *testing.T) {
	root := repository(t)
	path := filepath.Join(t.TempDir(), "cursor")
	synctest.Test(t, func(t *testing.T) {
		s := newEvents()
		r := run(t, s, path)
		for n := range 10 {
			s.put(t, mutation(root, n))
			time.Sleep(2 * batchWait)
			p, err := readCursor(path)
			if got := r.Stats(); got.Seq != uint64(n+1) || p.Seq != 0 || err != nil {
				t.Fatalf("%+v, kept: %+v, %v", got, p, err)
			}
		}
		time.Sleep(saveEvery)
		if p, err := readCursor(path); p.Seq != 10 || err != nil {
			t.Errorf("kept: %+v, %v", p, err)
		}
	})
}

// Locks are waited for together, not one after the other.
func TestManyLockedLedgers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []hook.Mutation
		for n := range 10 {
			list = append(list, mutation(fmt.Sprint("/locked", n), n), mutation(fmt.Sprint("/good", n), n))
		}
		begun, stored := time.Now(), 0
		failed := store(list, lockWait, func(root string, _ []hook.Mutation, wait time.Duration) error {
			if strings.HasPrefix(root, "/good") {
				time.Sleep(time.Second) // that is work
				stored++
				return nil
			}
			time.Sleep(min(wait, 3*lockWait/4))
			return fmt.Errorf("open: %w", ErrBusy)
		})
		if took := time.Since(begun); took != 10*time.Second+lockWait || len(failed) != 10 || stored != 10 {
			t.Errorf("%v, %d stored, failed: %v", took, stored, failed)
		}
	})
	root := repository(t)
	add(t, root, mutation(root, 0))
	lock(t, root)
	if l, err := open(root, 0); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), Path(root)) {
		t.Errorf("%v %v", l, err)
	}
}

// lock keeps others out of a ledger until the end of the test.
func lock(t *testing.T, root string) {
	t.Helper()
	db, err := openSQLite(Path(root), "rw")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
