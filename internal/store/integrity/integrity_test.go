package integrity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// desk is a record that the test writes itself, and its mark.
type desk struct {
	t     *testing.T
	store Store
	now   time.Time
	mark  *Mark
	kept  Kept
	seq   [2]uint64
}

const (
	requests = iota
	keys
)

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	engine := filepath.Join(dir, "nats", "record")
	d.store = Store{State: dir, Engine: engine, Now: func() time.Time { return d.now }, Sources: []Source{
		requests: {Name: "R", Dir: filepath.Join(engine, "R"), MaxAge: 90 * 24 * time.Hour},
		keys:     {Name: "K", Dir: filepath.Join(engine, "K"), LastOnly: true},
	}}
	for _, src := range d.store.Sources {
		if err := os.MkdirAll(src.blocks(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.open()
	t.Cleanup(func() {
		if d.mark != nil {
			d.close(false)
		}
	})
	return d
}

func (d *desk) check() *Result {
	d.t.Helper()
	r, err := d.store.Check(d.kept)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// open checks and opens, as a start does; there must be no damage.
func (d *desk) open() *Result {
	d.t.Helper()
	r := d.check()
	var err error
	if d.mark, err = r.Open(); err != nil {
		d.t.Fatal(err)
	}
	d.kept = Kept{Marks: true, Count: d.mark.Count()}
	return r
}

func (d *desk) close(clean bool) {
	d.t.Helper()
	if err := d.mark.Close(clean); err != nil {
		d.t.Error(err)
	}
	d.mark = nil
}

func (d *desk) block(source int) string {
	return filepath.Join(d.store.Sources[source].blocks(), "1.blk")
}

// write appends a message to the record, as the engine does, and returns its sequence.
func (d *desk) write(source int, subject, body string) uint64 {
	d.t.Helper()
	d.seq[source]++
	data, err := os.ReadFile(d.block(source))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	data = appendRecord(data, blockHash(d.store.Sources[source].Name, 1), d.seq[source], d.now.UnixNano(), subject, []byte(body))
	if err := os.WriteFile(d.block(source), data, 0o600); err != nil {
		d.t.Fatal(err)
	}
	return d.seq[source]
}

// put writes a message and enters it.
func (d *desk) put(source int, subject, body string) uint64 {
	d.t.Helper()
	seq := d.write(source, subject, body)
	if err := d.ensure(source, seq, subject, body); err != nil {
		d.t.Fatal(err)
	}
	return seq
}

func (d *desk) ensure(source int, seq uint64, subject, body string) error {
	return d.mark.Ensure(context.Background(), source, seq, subject, func() Hash { return Leaf(seq, subject, nil, []byte(body)) })
}

// cut takes n bytes off the end of a file.
func (d *desk) cut(path string, n int) {
	d.t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-int64(n))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// say fails the test unless the record is as damaged as want says; empty means not at all.
func (d *desk) say(want string) *Result {
	d.t.Helper()
	r := d.check()
	switch err := r.Err(); {
	case want == "" && err != nil:
		d.t.Errorf("damaged: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		d.t.Errorf("%v, want %q", err, want)
	}
	return r
}

func TestRecordAheadIsNoDamage(t *testing.T) {
	d := newDesk(t)
	d.put(requests, "r.1", "asked")
	d.put(keys, "k.a", "1")
	d.write(requests, "r.1", "decided") // acknowledged, and killed before it was entered
	d.write(keys, "k.a", "2")
	d.close(false)
	d.cut(d.block(requests), 0)
	r := d.open()
	if r.Adopted || len(r.sources[requests].ahead) != 1 || len(r.sources[keys].ahead) != 1 {
		t.Errorf("adopted %v, %d and %d ahead", r.Adopted, len(r.sources[requests].ahead), len(r.sources[keys].ahead))
	}
	d.close(true)
	d.cut(d.block(requests), 3)
	d.say("message 2 of R")
}

func TestTornEndIsNoDamage(t *testing.T) {
	d := newDesk(t)
	d.put(requests, "r.1", "asked")
	d.write(requests, "r.2", strings.Repeat("x", 500))
	d.cut(d.block(requests), 100)
	d.mark.writing.Lock()
	if _, err := d.mark.file.WriteAt([]byte{0, 60, 'L', 0, 2}, d.mark.size); err != nil {
		t.Fatal(err)
	}
	d.mark.writing.Unlock()
	d.close(false)
	d.say("")
	d.open()
	d.close(true)
	d.say("")
}

func TestRemovalsAreNoDamage(t *testing.T) {
	ctx := context.Background()
	t.Run("forgotten", func(t *testing.T) {
		d := newDesk(t)
		d.put(requests, "r.1", "asked")
		seq := d.put(requests, "r.2", "asked")
		if err := d.mark.Remove(ctx, requests, seq); err != nil {
			t.Fatal(err)
		}
		d.close(true)
		d.cut(d.block(requests), 38)
		d.say("")
	})
	t.Run("too old", func(t *testing.T) {
		d := newDesk(t)
		d.put(requests, "r.1", "asked")
		d.close(true)
		// The clock is far ahead for one start: the engine removes what is too old then.
		d.now = d.now.AddDate(0, 0, 100)
		d.open()
		if err := os.Truncate(d.block(requests), 0); err != nil {
			t.Fatal(err)
		}
		d.close(false)
		d.now = d.now.AddDate(0, 0, -100)
		d.say("")
	})
	t.Run("gone before the mark could say so", func(t *testing.T) {
		d := newDesk(t)
		d.put(requests, "r.1", "asked")
		first := d.put(requests, "r.2", "asked")
		if err := d.mark.Aged(ctx, requests, d.store.Horizon(90*24*time.Hour), first+1); err != nil {
			t.Fatal(err)
		}
		d.close(true)
		if err := os.Truncate(d.block(requests), 0); err != nil {
			t.Fatal(err)
		}
		d.say("")
	})
	t.Run("young", func(t *testing.T) {
		d := newDesk(t)
		d.put(requests, "r.1", "asked")
		d.close(true)
		if err := os.Remove(d.block(requests)); err != nil {
			t.Fatal(err)
		}
		d.say("its file is gone")
	})
}

// A mark that is gone, cut or damaged is not believed, whatever was run since: not by the lock, and
// not by the record, which tells how long the mark was.
func TestMarkIsNotBelieved(t *testing.T) {
	harm := map[string]func(path string){
		"removed": func(path string) { _ = os.Remove(path) },
		"cut":     func(path string) { _ = os.Truncate(path, 120) },
		"emptied": func(path string) { _ = os.Truncate(path, 0) },
		"damaged": func(path string) {
			data, _ := os.ReadFile(path)
			data[90] ^= 4
			_ = os.WriteFile(path, data, 0o600)
		},
	}
	for name, do := range harm {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for i := range 5 {
				d.put(keys, fmt.Sprintf("k.%d", i), "x")
			}
			d.kept.Count = d.mark.Count()
			d.close(true)
			do(d.store.path())
			r := d.say("the mark of the record")
			rep, err := r.Repair()
			if err != nil || len(rep.GivenUp) != 5 {
				t.Fatalf("gave up %v, %v", rep.GivenUp, err)
			}
			d.kept.Count = rep.Count
			d.say("")
		})
	}
}

// A record without a mark is taken as it is once. With bytes in it that are no message it is not.
func TestAdopt(t *testing.T) {
	d := newDesk(t)
	d.put(requests, "r.1", "asked")
	d.put(keys, "k.a", "1")
	d.close(true)
	if err := os.Remove(d.store.path()); err != nil {
		t.Fatal(err)
	}
	d.kept = Kept{}
	if r := d.say(""); !r.Adopted {
		t.Error("not adopted")
	}
	data, _ := os.ReadFile(d.block(keys))
	data[len(data)-9] ^= 1
	if err := os.WriteFile(d.block(keys), data, 0o600); err != nil {
		t.Fatal(err)
	}
	d.say("are no message")
}

// A release without marks ran in between: what it wrote, overwrote and forgot is taken.
func TestReleaseWithoutMarksInBetween(t *testing.T) {
	d := newDesk(t)
	d.put(requests, "r.1", "asked")
	d.put(keys, "k.a", "1")
	d.put(keys, "k.b", "1")
	d.close(true)
	if err := os.Truncate(d.block(requests), 0); err != nil { // forgotten
		t.Fatal(err)
	}
	d.write(keys, "k.a", "2")
	d.kept = Kept{}
	if r := d.open(); !r.Adopted {
		t.Error("not adopted")
	}
	d.close(true)
	d.say("")
	d.cut(d.block(keys), 1)
	d.say("message 3 of K (k.a")
}

// A key whose last state is lost has none: an older one that is still in the file does not come back.
func TestOldStateStaysAway(t *testing.T) {
	d := newDesk(t)
	d.put(keys, "k.revoked", "token")
	d.put(keys, "k.other", "token")
	d.put(keys, "k.revoked", "")
	d.close(false)
	data, _ := os.ReadFile(d.block(keys))
	data[len(data)-12] ^= 1
	if err := os.WriteFile(d.block(keys), data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := d.say("message 3 of K (k.revoked")
	for range 2 { // killed after the first
		s, err := r.salvage(keys)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.state.live) != 1 || s.state.live[2] == nil {
			t.Errorf("kept %v", s.state.live)
		}
		if err := r.sources[keys].install(s); err != nil {
			t.Fatal(err)
		}
		r = d.say("message 3 of K (k.revoked")
	}
	rep, err := r.Repair()
	if err != nil || fmt.Sprint(rep.GivenUp) != "[k.revoked]" {
		t.Errorf("gave up %v, %v", rep.GivenUp, err)
	}
	d.kept.Count = rep.Count
	d.say("")
}

// After a write that failed nothing is entered until the file was written anew.
func TestMarkFailsAndIsMended(t *testing.T) {
	d := newDesk(t)
	d.put(requests, "r.1", "asked")
	d.mark.writing.Lock()
	good := d.mark.file
	bad, err := os.Open(d.store.path()) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	d.mark.file = bad
	d.mark.writing.Unlock()
	seq := d.write(requests, "r.2", "asked")
	if err := d.ensure(requests, seq, "r.2", "asked"); err == nil || d.mark.Failed() == nil {
		t.Fatal("entered in a file that cannot be written")
	}
	if err := d.ensure(requests, seq, "r.2", "asked"); err == nil {
		t.Fatal("went on after a failure")
	}
	if err := good.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.mark.Fix(); err != nil {
		t.Fatal(err)
	}
	if err := d.ensure(requests, seq, "r.2", "asked"); err != nil {
		t.Fatal(err)
	}
	d.put(requests, "r.3", "asked")
	d.close(true)
	if r := d.say(""); len(r.mark.sources[requests].live) != 3 {
		t.Errorf("%d entries", len(r.mark.sources[requests].live))
	}
}

// Entries of many goroutines share writes, and each is on the disk when its call returns.
func TestEntriesShareWrites(t *testing.T) {
	d := newDesk(t)
	const n = 200
	for i := range n {
		d.write(requests, fmt.Sprintf("r.%d", i), "asked")
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range 2 { // the tail and the writer
				if err := d.ensure(requests, uint64(i+1), fmt.Sprintf("r.%d", i), "asked"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := d.mark.Count(); got != n {
		t.Errorf("%d entries, want %d", got, n)
	}
	d.close(true)
	if r := d.say(""); len(r.mark.sources[requests].live) != n || !r.settled {
		t.Errorf("%d entries, settled %v", len(r.mark.sources[requests].live), r.settled)
	}
}

// The file does not grow for ever, and what was removed is not in it.
func TestMarkIsWrittenAnew(t *testing.T) {
	d := newDesk(t)
	for range 20 {
		d.put(keys, "checkpoint", strings.Repeat("x", 50))
	}
	before := d.mark.Count()
	d.mark.writing.Lock()
	err := d.mark.renew()
	size := d.mark.size
	d.mark.writing.Unlock()
	if err != nil || size > 400 || d.mark.Count() != before {
		t.Errorf("%d bytes, %d entries before and %d now, %v", size, before, d.mark.Count(), err)
	}
	d.put(keys, "k.a", "1")
	d.close(false)
	if r := d.say(""); len(r.mark.sources[keys].live) != 2 {
		t.Errorf("%d entries", len(r.mark.sources[keys].live))
	}
}
