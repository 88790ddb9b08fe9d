package stream

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/integrity"
)

var only = flag.String("only", "", "with -sweep: the blows whose name has this in it, such as \"killed, flip of integrity\"")

var sweep = flag.Bool("sweep", false, "damage every 4 KB of every state file, and cut the power 500 times: minutes")

// written is what a state directory holds.
type written struct {
	records map[string]uint64 // record id → sequence
	keys    map[string]string
	revoked string
	settled map[string]bool // request id → whether it was decided
}

// fillRecord writes records of every kind, keys, a revocation, events, and forgets a request.
func fillRecord(t testing.TB, s *Stream, n int) *written {
	t.Helper()
	w := &written{records: map[string]uint64{}, keys: map[string]string{}, revoked: "auth.token.revoked", settled: map[string]bool{}}
	write := func(key, value string) {
		mustPut(t, s, key, []byte(value))
		w.keys[key] = value
	}
	write(w.revoked, "a token that was revoked")
	for i := range n {
		a := asked(t)
		seq := mustAppend(t, s, a, 0)
		w.records[a.ID] = seq
		if i%3 != 0 {
			d := decided(a.RequestID)
			w.records[d.ID] = mustAppend(t, s, d, seq)
		}
		w.settled[a.RequestID] = i%3 != 0
		write(fmt.Sprintf("auth.token.t%d", i), fmt.Sprintf("token %d, %s", i, strings.Repeat("x", 100)))
		if i%2 == 0 { // overwritten
			write("checkpoint", fmt.Sprintf("%d", i))
		}
		mustPublish(t, s, hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: make([]byte, 300)})
		if i == n/2 {
			f := asked(t)
			mustAppend(t, s, decided(f.RequestID), mustAppend(t, s, f, 0))
			if err := s.Forget(t.Context(), nil, []string{f.RequestID}, func(hook.Event) bool { return true }, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Delete(t.Context(), w.revoked); err != nil {
				t.Fatal(err)
			}
			delete(w.keys, w.revoked)
		}
	}
	return w
}

// images returns a state directory as a clean stop leaves it, and as kill -9 does.
func images(t testing.TB, n int) (clean, killed string, w *written) {
	t.Helper()
	dir := t.TempDir()
	killed = filepath.Join(t.TempDir(), "killed")
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w = fillRecord(t, s, n)
	copyTree(t, dir, killed) // nothing is being written
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, killed, w
}

func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// contents reads all records and keys.
func contents(t testing.TB, s *Stream) (recs []hook.Record, keys map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.Tail(ctx, 0, func(r hook.Record) { recs = append(recs, r) }, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	keys = map[string]string{}
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = s.Watch(ctx, "", func(key string, value []byte, _ uint64) {
		if value != nil {
			keys[key] = string(value)
		}
	}, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return recs, keys
}

// wrongs is what is not as it must be in a directory that was damaged; damaged says that assent said
// so.
func (w *written) wrongs(t testing.TB, dir string) (wrong []string, damaged bool) {
	t.Helper()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		say("%v", err)
		return wrong, false
	}
	recs, keys := contents(t, s)
	for k, v := range keys {
		if have, ok := w.keys[k]; k == w.revoked || k != "checkpoint" && (!ok || have != v) {
			say("key %s has the value %q, which it should not have", k, v)
		}
	}
	if s.Damage() == nil {
		if !maps.Equal(keys, w.keys) {
			say("silent loss: %d of %d keys", len(keys), len(w.keys))
		}
		for _, r := range recs {
			if w.records[r.ID] != r.Seq {
				say("record %s is at %d", r.ID, r.Seq)
			}
		}
		if len(recs) != len(w.records) {
			say("silent loss: %d of %d records", len(recs), len(w.records))
		}
		mustAppend(t, s, asked(t), 0)
	} else {
		damaged = true
		if s.Healthy() == nil {
			say("damaged, and healthy")
		}
		if _, err := s.Append(t.Context(), asked(t), 0); !errors.Is(err, broker.ErrUnavailable) {
			say("a damaged record took a request: %v", err)
		}
		if _, err := s.Put(t.Context(), "x", nil); !errors.Is(err, broker.ErrUnavailable) {
			say("a damaged record took a key: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !damaged {
		return wrong, false
	}

	rep, err := Repair(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Damages) == 0 {
		say("repair found nothing")
	}
	for _, d := range rep.Damages {
		if d.File == "" || d.What == "" {
			say("repair names no file: %+v", d)
		}
	}
	s, err = Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Damage(); err != nil {
		say("after the repair: %v", err)
		return wrong, true
	}
	recs, keys = contents(t, s)
	for k, v := range keys {
		if k == w.revoked || w.keys[k] != v {
			say("after the repair key %s has the value %q", k, v)
		}
	}
	named := map[string]bool{}
	for _, d := range rep.Damages {
		named[fmt.Sprint(d.Stream, d.Seq)] = true
	}
	there, open := map[uint64]bool{}, map[string]bool{}
	for _, r := range recs {
		there[r.Seq] = true
		open[r.RequestID] = r.Step == hook.StepAsked
	}
	for id, seq := range w.records {
		if !there[seq] && !named[fmt.Sprint(RecordStream, seq)] {
			say("record %s at %d is lost, and repair did not name it", id, seq)
		}
	}
	for id, waits := range open {
		if waits && w.settled[id] {
			say("request %s was decided, and waits again", id)
		}
	}
	mustAppend(t, s, asked(t), 0)
	return wrong, true
}

// blow is one way to damage a file at an offset.
type blow struct {
	name  string
	whole bool // it does not depend on the offset
	do    func(data []byte, at int) []byte
}

var blows = []blow{
	{"flip", false, func(data []byte, at int) []byte { data[at] ^= 1 << (at % 8); return data }},
	{"cut", false, func(data []byte, at int) []byte { return data[:at] }},
	{"zero", false, func(data []byte, at int) []byte { clear(data[at:min(at+4096, len(data))]); return data }},
	{"remove", true, nil},
}

// TestDamageSweep damages every state file in every place, one at a time: what is lost is said, and
// what was revoked stays so.
func TestDamageSweep(t *testing.T) {
	t.Parallel()
	n := 12
	if *sweep {
		n = 150
	}
	clean, killed, w := images(t, n)
	cases, said := 0, 0
	for name, image := range map[string]string{"clean": clean, "killed": killed} {
		var files []string
		err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.Contains(path, ".runtime") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(files)
		for _, file := range files {
			rel, _ := filepath.Rel(image, file)
			for _, b := range blows {
				for _, at := range w.places(t, file, rel, b) {
					blow := fmt.Sprintf("%s, %s of %s at %d", name, b.name, rel, at)
					if !strings.Contains(blow, *only) {
						continue
					}
					dir := filepath.Join(t.TempDir(), "state")
					copyTree(t, image, dir)
					strike(t, filepath.Join(dir, rel), b, at)
					wrong, damaged := w.wrongs(t, dir)
					cases++
					if damaged {
						said++
					}
					for _, x := range wrong {
						t.Errorf("%s: %s", blow, x)
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	t.Logf("%d blows, %d of them said", cases, said)
	if said == 0 && *only == "" {
		t.Error("nothing was damaged")
	}
}

// places is where a file is struck: with -sweep every 4 KB and at both ends, else in the middle and
// at the end of the files that matter.
func (w *written) places(t testing.TB, file, rel string, b blow) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	size := len(data)
	matters := strings.HasPrefix(rel, "nats/record") && strings.HasSuffix(rel, ".blk") || rel == integrity.FileName
	switch {
	case b.whole:
		if !matters && !*sweep {
			return nil
		}
		return []int{0}
	case size == 0:
		return nil
	case !*sweep:
		if !matters {
			return nil
		}
		return []int{size / 2, size - 10}
	}
	var at []int
	for i := 0; i < size; i += 4096 {
		at = append(at, i, min(i+2048, size-1))
	}
	at = append(at, size-1, size-10, size/2)
	// The revocation itself.
	if i := strings.LastIndex(string(data), w.revoked); i >= 0 {
		at = append(at, i, i+len(w.revoked)+3)
	}
	at = slices.DeleteFunc(at, func(i int) bool { return i < 0 || i >= size })
	slices.Sort(at)
	return slices.Compact(at)
}

func strike(t testing.TB, path string, b blow, at int) {
	t.Helper()
	if b.do == nil {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, b.do(data, at), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
