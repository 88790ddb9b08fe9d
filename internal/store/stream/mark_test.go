package stream

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/integrity"
)

// moment is how long the files of a record were when all in them was on the disk.
type moment struct {
	blocks  map[string]int64
	mark    int64
	records int // appended by then
}

func momentOf(t *testing.T, dir string, records int) moment {
	t.Helper()
	m := moment{blocks: map[string]int64{}, records: records}
	blocks, err := filepath.Glob(filepath.Join(dir, "nats/record/jetstream/*/streams/*/msgs/*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range blocks {
		m.blocks[path] = size(t, path)
	}
	m.mark = size(t, filepath.Join(dir, integrity.FileName))
	return m
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestCutsNeedNoRepair cuts the power at many moments: of what was being written then some bytes are
// on the disk, others are not. Nobody is asked to repair anything, and what was acknowledged is there.
func TestCutsNeedNoRepair(t *testing.T) {
	t.Parallel()
	cuts, steps, opens := 60, 40, 20
	if *sweep {
		cuts, steps, opens = 500, 200, 25
	}
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	moments := []moment{momentOf(t, dir, 0)}
	var ids []string
	var request string
	after := uint64(0)
	for i := range steps {
		switch i % 4 {
		case 0:
			a := asked(t)
			request, after = a.RequestID, mustAppend(t, s, a, 0)
			ids = append(ids, a.ID)
		case 1:
			d := decided(request)
			mustAppend(t, s, d, after)
			ids = append(ids, d.ID)
		case 2:
			mustPut(t, s, "auth.token.a", []byte(strings.Repeat("x", rand.IntN(6000))))
		case 3:
			if _, err := s.Delete(t.Context(), "auth.token.a"); err != nil {
				t.Fatal(err)
			}
		}
		moments = append(moments, momentOf(t, dir, len(ids)))
	}
	last := filepath.Join(t.TempDir(), "last")
	copyTree(t, dir, last)

	for i := range cuts {
		at := rand.IntN(steps)
		before, then := moments[at], moments[at+1]
		state := filepath.Join(t.TempDir(), "state")
		copyTree(t, last, state)
		// The mark is written when the record is on the disk, and not before.
		recorded := rand.IntN(2) == 0
		for path, from := range before.blocks {
			to := then.blocks[path]
			if recorded {
				from = to
			}
			rel, _ := filepath.Rel(dir, path)
			powerCut(t, filepath.Join(state, rel), from, to)
		}
		from, to := before.mark, before.mark
		if recorded {
			to = then.mark
		}
		powerCut(t, filepath.Join(state, integrity.FileName), from, to)

		found, err := recordStore(state).Check(readKept(filepath.Join(state, "lock")))
		if err != nil || found.Err() != nil || found.Adopted {
			t.Fatalf("cut %d behind step %d (recorded: %v): %v, %v, adopted %v", i, at, recorded, err, found.Err(), found.Adopted)
		}
		if i%opens == 0 {
			s := open(t, Config{Dir: state})
			recs, _ := contents(t, s)
			if len(recs) < before.records {
				t.Errorf("cut %d: %d of %d records", i, len(recs), before.records)
			}
			for n, r := range recs {
				if r.ID != ids[n] {
					t.Errorf("cut %d: record %d is another one", i, n)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
	}
}

// powerCut makes a file that is on the disk up to from, and was written up to to: it ends somewhere
// between, and what was not on the disk may be zero.
func powerCut(t *testing.T, path string, from, to int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := from + rand.Int64N(to-from+1)
	data = data[:end]
	if end > from && rand.IntN(3) == 0 {
		hole := from + rand.Int64N(end-from)
		clear(data[hole:min(end, hole+1+rand.Int64N(4096))])
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLockKeepsWhatItSays: whatever a process does with a directory, or dies of, the next one knows
// that a mark was kept there.
func TestLockKeepsWhatItSays(t *testing.T) {
	t.Parallel()
	_, image, _ := images(t, 2)
	blocks, err := filepath.Glob(filepath.Join(image, "nats/record/jetstream/*/streams", RecordStream, "msgs/*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}
	if err := os.Remove(blocks[0]); err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"killed early": func(t *testing.T, dir string) {
			l, err := lockDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.release(); err != nil {
				t.Fatal(err)
			}
		},
		"shown": func(t *testing.T, dir string) {
			s, err := Open(t.Context(), Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"repaired": func(t *testing.T, dir string) {
			if _, err := Repair(dir); err != nil {
				t.Fatal(err)
			}
		},
		"repaired and opened": func(t *testing.T, dir string) {
			s := open(t, Config{Dir: dir, Repair: true})
			mustAppend(t, s, asked(t), 0)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, harm := range []func(path string) error{os.Remove, func(path string) error { return os.Truncate(path, 60) }} {
				dir := filepath.Join(t.TempDir(), "state")
				copyTree(t, image, dir)
				use(t, dir)
				if err := harm(filepath.Join(dir, integrity.FileName)); err != nil {
					t.Fatal(err)
				}
				s := open(t, Config{Dir: dir})
				if s.Damage() == nil {
					t.Error("a mark that is gone or cut is believed")
				}
				if _, keys := contents(t, s); len(keys) > 0 {
					t.Errorf("keys that no mark knows: %v", keys)
				}
			}
		})
	}
}

// TestWithoutMarks opens a directory of a release without marks, goes back to it, and comes again.
func TestWithoutMarks(t *testing.T) {
	t.Parallel()
	clean, killed, w := images(t, 3)
	for _, dir := range []string{clean, killed} {
		former := func() { // what the former release leaves
			if err := os.WriteFile(filepath.Join(dir, "lock"), []byte("4711\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, Config{Dir: dir}) // of this release, with whatever headers it writes
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		former()
		s = open(t, Config{Dir: dir})
		recs, keys := contents(t, s)
		if s.Damage() != nil || len(recs) != len(w.records) || len(keys) != len(w.keys) {
			t.Errorf("%v, %d records, %d keys", s.Damage(), len(recs), len(keys))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		// The former release opens the same files without a look at the mark, and writes.
		e, err := startEngine(t.Context(), engineKind{name: "record", stream: RecordStream, inFlight: 1, sync: true}, filepath.Join(dir, "nats", "record"), 0, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		old := &Stream{record: e, logf: t.Logf}
		old.bucket = bucket{old, kvStream, kvSubjects}
		if err := old.layoutRecord(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, old, asked(t), 0)
		if _, err := old.Delete(t.Context(), "auth.token.t0"); err != nil {
			t.Fatal(err)
		}
		if err := old.forgetRecords(t.Context(), []string{firstDecided(w)}, nil); err != nil {
			t.Fatal(err)
		}
		e.stop()
		former()
		s = open(t, Config{Dir: dir})
		if err := s.Damage(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), "auth.token.t0"); !errors.Is(err, ErrKeyNotFound) {
			t.Errorf("a key that the former release removed: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s = open(t, Config{Dir: dir}); s.Damage() != nil {
			t.Error(s.Damage())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func firstDecided(w *written) string {
	for id, settled := range w.settled {
		if settled {
			return id
		}
	}
	return ""
}

// TestDamageIsCopiedAside: the engine does not touch damaged files, and a second start copies nothing
// again.
func TestDamageIsCopiedAside(t *testing.T) {
	_, dir, w := images(t, 4)
	blocks, err := filepath.Glob(filepath.Join(dir, "nats/record/jetstream/*/streams", RecordStream, "msgs/*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}
	data, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(blocks[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := open(t, Config{Dir: dir})
		if _, err := s.Append(t.Context(), asked(t), 0); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("append: %v", err)
		}
		// What is shown is a copy: to remove something from it removes nothing.
		if err := s.Forget(t.Context(), nil, []string{firstDecided(w)}, func(hook.Event) bool { return true }, nil); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("forget: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(blocks[0]); err != nil || string(now) != string(data) {
			t.Errorf("the damaged file was changed: %v", err)
		}
		var copies []string
		err := filepath.WalkDir(filepath.Join(dir, "damaged", "nats"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				copies = append(copies, path)
			}
			return err
		})
		if err != nil || len(copies) != 1 {
			t.Fatal(copies, err)
		}
		if have, err := os.ReadFile(copies[0]); err != nil || string(have) != string(data) {
			t.Errorf("the copy is another file: %v", err)
		}
	}
	rep, err := Repair(dir)
	if err != nil || len(rep.Damages) != 1 || rep.Damages[0].Seq == 0 {
		t.Fatal(rep, err)
	}
	d := rep.Damages[0]
	if rel, _ := filepath.Rel(dir, blocks[0]); d.File != filepath.ToSlash(rel) || d.Offset > int64(len(data)/2) || d.Offset < int64(len(data)/2-3000) || d.Time.IsZero() {
		t.Errorf("named as %+v", d)
	}
	s := open(t, Config{Dir: dir})
	recs, _ := contents(t, s)
	for _, r := range recs {
		if r.Seq == d.Seq && r.Step != hook.StepEnded {
			t.Errorf("the lost record is there")
		}
	}
	mustAppend(t, s, asked(t), 0)
}

// TestNobodyReadsAheadOfTheMark: whoever reads the record, in whatever way, hears of a message when the
// mark has it, and not before.
func TestNobodyReadsAheadOfTheMark(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	for name, read := range map[string]func(id string) error{
		"records":    func(id string) error { _, err := s.Records(t.Context(), id); return err },
		"a page":     func(string) error { _, err := s.Ended(t.Context(), 0, 1); return err },
		"older page": func(string) error { _, err := s.Ended(t.Context(), 1<<40, 1); return err },
		"by Tail": func(id string) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := s.Tail(ctx, 0, func(rec hook.Record) {
				if rec.RequestID == id && rec.Step == hook.StepDecided {
					cancel()
				}
			}, nil)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			// As a process does that is killed behind the acknowledgement.
			enter := s.record.enter
			s.record.enter = nil
			rec := asked(t)
			mustAppend(t, s, decided(rec.RequestID), mustAppend(t, s, rec, 0))
			s.record.enter = enter
			before := s.mark.Count()
			if err := read(rec.RequestID); err != nil {
				t.Fatal(err)
			}
			if n := s.mark.Count() - before; n < 2 {
				t.Errorf("%d of 2 messages that were read are in the mark", n)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := recordStore(s.cfg.Dir).Check(readKept(filepath.Join(s.cfg.Dir, "lock")))
	if err != nil || found.Err() != nil { // entered as what they are
		t.Error(err, found.Err())
	}
}

// TestRepairMakesNothing: where no broker kept a record, most often because --state-dir is misspelt, a
// repair neither makes the directory nor puts a file into one that is there.
func TestRepairMakesNothing(t *testing.T) {
	parent := t.TempDir()
	for name, dir := range map[string]string{"no directory": filepath.Join(parent, "state"), "an empty directory": parent} {
		if _, err := Repair(dir); !errors.Is(err, ErrNoState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if made, err := os.ReadDir(parent); err != nil || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
}
