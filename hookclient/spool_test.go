package hookclient

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
)

func put(t *testing.T, dir, session, target string, e hook.Event) {
	t.Helper()
	s := spool{dir: dir}
	if queued, err := s.appendTo(session, &SpoolRecord{Target: target, Event: e}, true); err != nil || !queued {
		t.Fatal(queued, err)
	}
}

// drainIDs drains everything for target.
func drainIDs(t *testing.T, dir, target string) []string {
	t.Helper()
	var ids []string
	n, err := Drain(dir, target, func(r SpoolRecord) error {
		ids = append(ids, r.Event.ID)
		return nil
	})
	if err != nil || n != len(ids) {
		t.Fatalf("%d records, %v", n, err)
	}
	return ids
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSpoolRecordKeepsEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "assent", "spool")
	e := event("id", "Post\nToolUse", "\x00\xff{\"a\":\"\xf8AS1\r\n\r\n\"}")
	e.Emitted, e.Tool, e.Source = true, "write it", hook.SourceMCP
	e.Origin = hook.Origin{Host: "h", PID: 5, Process: "5@1", Attended: hook.AttendedNo, AgentLabel: "ü: %41", ProjectDir: "/a b",
		Repo: hook.Repo{Root: "/r", Branch: "b/c", Head: "abc", Remote: "git@h:x"}}
	put(t, dir, "s", "/run/a b.sock", e)
	var got SpoolRecord
	if _, err := Drain(dir, "/run/a b.sock", func(r SpoolRecord) error { got = r; return nil }); err != nil {
		t.Fatal(err)
	}
	e.Spooled = true
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", SpoolRecord{Target: "/run/a b.sock", Event: e}) {
		t.Errorf("got\n%+v\nwant\n%+v", got, e)
	}
}

// TestSpoolOfBefore reads a file that hook clients wrote before Source was kept.
func TestSpoolOfBefore(t *testing.T) {
	file, err := os.ReadFile("testdata/spool-before-via")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	e := hook.Event{ID: "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1", Type: "Post\nToolUse", Agent: "claude", Attempt: 1, Spooled: true, Emitted: true,
		Tool: "write it", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Raw: []byte("{\"a\":\"\xf8AS1\"}"),
		Origin: hook.Origin{Host: "h", PID: 5, Process: "5@1", Attended: "no", AgentLabel: "ü: %41", ProjectDir: "/a b",
			Repo: hook.Repo{Root: "/r", Branch: "b/c", Head: "abc", Remote: "git@h:x"}}}
	least := e
	least.ID, least.Origin, least.Emitted, least.Tool = "5f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1", hook.Origin{}, false, ""
	var got []hook.Event
	if _, err := Drain(dir, "/run/a b.sock", func(r SpoolRecord) error { got = append(got, r.Event); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []hook.Event{e, least}; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestSpoolModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "assent", "spool")
	put(t, dir, "s", "/t", event("1", "A", "{}"))
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, "s"): 0o600, filepath.Join(dir, lockFile): 0o600} {
		fi, err := os.Stat(name)
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, fi.Mode().Perm(), err, want)
		}
	}
}

func TestDrain(t *testing.T) {
	dir := t.TempDir()
	s := spool{dir: dir}
	equal(t, drainIDs(t, filepath.Join(dir, "missing"), "/t"))
	if queued, err := s.appendTo("s", &SpoolRecord{Target: "/t", Event: event("0", "A", "{}")}, false); queued || err != nil {
		t.Fatal("appended to a file that is not there", err)
	}
	put(t, dir, "s", "/t", event("1", "A", "{}"))
	put(t, dir, "s", "/t", event("2", "A", "{}"))
	put(t, dir, "", "/t", event("3", "", "not JSON"))
	put(t, dir, "../evil", "/t", event("4", "A", "{}"))
	put(t, dir, "s", "/t", event("5", "A", "{}"))
	equal(t, drainIDs(t, dir, "/t"), "3", "4", "1", "2", "5") // file "_", then file "s"
	if !s.empty() {
		t.Error("files left:", s.files())
	}
	equal(t, drainIDs(t, dir, "/t"))
}

func TestDrainStopsAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		put(t, dir, "s", "/t", event(fmt.Sprint(i), "A", "{}"))
	}
	stop := errors.New("stop")
	var ids []string
	take := func(upTo int) func(SpoolRecord) error {
		return func(r SpoolRecord) error {
			if len(ids) == upTo {
				return stop
			}
			ids = append(ids, r.Event.ID)
			// What comes while it is drained is drained too.
			if r.Event.ID == "3" {
				put(t, dir, "s", "/t", event("5", "A", "{}"))
			}
			return nil
		}
	}
	if n, err := Drain(dir, "/t", take(2)); n != 2 || !errors.Is(err, stop) {
		t.Fatal(n, err)
	}
	if n, err := Drain(dir, "/t", take(9)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	equal(t, ids, "0", "1", "2", "3", "4", "5")
}

func TestDrainLeavesOtherTargets(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s", "/a", event("1", "A", "{}"))
	put(t, dir, "s", "/b", event("2", "A", strings.Repeat("x", 10000)))
	put(t, dir, "s", "/"+strings.Repeat("ö", 500), event("3", "A", "{}"))
	put(t, dir, "s", "/a", event("4", "A", "{}"))
	equal(t, drainIDs(t, dir, "/a"), "1", "4")
	equal(t, drainIDs(t, dir, "/a"))
	equal(t, drainIDs(t, dir, "/"+strings.Repeat("ö", 500)), "3")
	equal(t, drainIDs(t, dir, "/b"), "2")
	if (&spool{dir: dir}).empty() {
		return
	}
	t.Error("the file was not removed")
}

// A frame that was cut short, at every length, loses nothing but itself.
func TestDrainTornFrame(t *testing.T) {
	first := (&SpoolRecord{Target: "/t", Event: event("1", "A", "{}")}).encode()
	torn := (&SpoolRecord{Target: "/t", Event: event("2", "A", "{}")}).encode()
	last := (&SpoolRecord{Target: "/t", Event: event("3", "A", "{}")}).encode()
	dir := t.TempDir()
	for cut := range len(torn) {
		for _, tail := range [][]byte{nil, last} {
			b := append(append(append([]byte{}, first...), torn[:cut]...), tail...)
			if err := os.WriteFile(filepath.Join(dir, "s"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(dir, lostFile))
			want := []string{"1"}
			if tail != nil {
				want = append(want, "3")
			}
			equal(t, drainIDs(t, dir, "/t"), want...)
			if _, torn, err := Lost(dir); err != nil || (torn > 0) != (cut > 0) {
				t.Errorf("cut at %d: %d counted as torn, %v", cut, torn, err)
			}
		}
	}
}

func TestDrainFlippedBits(t *testing.T) {
	dir := t.TempDir()
	var all []byte
	for i := range 3 {
		e := event(fmt.Sprint(i), "A", "{}")
		all = append(all, (&SpoolRecord{Target: "/t", Event: e}).encode()...)
	}
	one := len(all) / 3
	for i := one; i < 2*one; i++ {
		b := bytes.Clone(all)
		b[i] ^= 0x10
		if err := os.WriteFile(filepath.Join(dir, "s"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		ids := strings.Join(drainIDs(t, dir, "/t"), "")
		// The reserved bytes are not checked; everything else is.
		if reserved := i-one >= 5 && i-one < 8; ids != "02" && !(reserved && ids == "012") {
			t.Errorf("byte %d: %s", i-one, ids)
		}
	}
}

func TestSpoolOverflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := strings.Repeat("x", 4<<20)
	at := time.Unix(1000, 0)
	next := func(i int) hook.Event {
		e := event(fmt.Sprint(i), "A", big)
		e.Time = at.Add(time.Duration(i) * time.Second)
		return e
	}
	size := func() (n int64) {
		for _, f := range (&spool{dir: dir}).files() {
			fi, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			n += fi.Size()
		}
		return n
	}
	const events = 40
	for i := range events {
		session := "long"
		if i < 2 {
			session = "old"
		}
		put(t, dir, session, "/t", next(i))
		if n := size(); n > SpoolLimit {
			t.Fatalf("%d bytes after event %d", n, i)
		}
	}
	ids := drainIDs(t, dir, "/t")
	dropped, torn, err := Lost(dir)
	if err != nil || torn != 0 || dropped+len(ids) != events || len(ids) < 12 {
		t.Errorf("%d drained, %d dropped, %d torn, %v", len(ids), dropped, torn, err)
	}
	for i, id := range ids {
		if want := fmt.Sprint(events - len(ids) + i); id != want {
			t.Fatalf("drained %v: not the newest in order", ids)
		}
	}
}

func TestSpoolFileLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range spoolFiles + 3 {
		e := event(fmt.Sprint(i), "A", "{}")
		e.Time = time.Unix(int64(i), 0)
		put(t, dir, fmt.Sprintf("s%04d", i), "/t", e)
	}
	if n := len((&spool{dir: dir}).files()); n > spoolFiles {
		t.Errorf("%d files", n)
	}
	if ids := drainIDs(t, dir, "/t"); len(ids) != spoolFiles || ids[0] != "3" {
		t.Errorf("%d events, the first %s", len(ids), ids[0])
	}
}

// Many writers, and drainers that stop now and then: nothing is lost, nothing torn, and each
// writer's events come in its order.
func TestSpoolConcurrent(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 4, 150
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := spool{dir: dir}
			for i := range each {
				r := &SpoolRecord{Target: "/t", Event: event(fmt.Sprintf("%d-%d", w, i), "A", strings.Repeat("y", 300*i))}
				for {
					if _, err := s.appendTo("s", r, true); err == nil {
						break
					} else if !errors.Is(err, errLocked) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	got := map[string]int{}
	next := [writers]int{}
	stop := errors.New("stop")
	for over := false; ; {
		calls := 0
		n, err := Drain(dir, "/t", func(r SpoolRecord) error {
			if calls++; calls == 7 && !over {
				return stop
			}
			var w, i int
			fmt.Sscanf(r.Event.ID, "%d-%d", &w, &i)
			if got[r.Event.ID]++; i != next[w] || len(r.Event.Raw) != 300*i {
				t.Errorf("%s after %d", r.Event.ID, next[w])
			}
			next[w]++
			return nil
		})
		if err != nil && !errors.Is(err, stop) && !errors.Is(err, errLocked) {
			t.Fatal(err)
		}
		if over && n == 0 {
			break
		}
		select {
		case <-done:
			over = true
		default:
		}
	}
	if len(got) != writers*each {
		t.Errorf("%d events of %d", len(got), writers*each)
	}
	if d, torn, err := Lost(dir); d+torn > 0 || err != nil {
		t.Errorf("dropped %d, torn %d, %v", d, torn, err)
	}
}

// A drainer that has a file open which is shortened meanwhile goes on with the new one.
func TestDrainWhileShortened(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		put(t, dir, "s", "/t", event(fmt.Sprint(i), "A", strings.Repeat("x", 1000)))
	}
	s := spool{dir: dir}
	var ids []string
	_, err := Drain(dir, "/t", func(r SpoolRecord) error {
		if ids = append(ids, r.Event.ID); r.Event.ID == "0" {
			unlock, err := s.lock(lockFile, lockTimeout)
			if err != nil {
				return err
			}
			defer unlock()
			if _, dropped, _, err := s.shortenLocked(s.files()[0], 2500); err != nil || dropped < 2 {
				t.Error(dropped, err)
			}
		}
		return nil
	})
	if err != nil || !s.empty() {
		t.Fatal(err, s.files())
	}
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	for _, id := range []string{"3", "4", "5"} {
		if !seen[id] {
			t.Errorf("%s was not drained: %v", id, ids)
		}
	}
}

func TestSpoolRefusesOddFiles(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(outside, filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	s := spool{dir: dir}
	if queued, err := s.appendTo("s", &SpoolRecord{Target: "/t", Event: event("1", "A", "{}")}, true); err == nil || queued {
		t.Error("followed a symbolic link")
	}
	equal(t, drainIDs(t, dir, "/t"))
	if _, err := os.Stat(outside); err == nil {
		t.Error("wrote through a symbolic link")
	}
}

// TestSpoolPipes: a pipe in the place of a file of the spool holds up neither a hook nor who drains it or counts what was lost.
func TestSpoolPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{lostFile, newFile, lockFile, drainFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "s", "/sock", event("1", "Stop", "{}"))
			put(t, dir, "s", "/sock", event("2", "Stop", "{}"))
			file := filepath.Join(dir, "s")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append([]byte("torn"), b...), 0o600); err != nil { // which is counted
				t.Fatal(err)
			}
			_ = os.Remove(filepath.Join(dir, name))
			if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				s := spool{dir: dir}
				_, _ = s.appendTo("s", &SpoolRecord{Target: "/sock", Event: event("3", "Stop", "{}")}, true)
				_, _, _, _ = s.shortenLocked(file, 10)
				_, _ = Drain(dir, "/sock", func(SpoolRecord) error { return nil })
				_, _, _ = Lost(dir)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("it is waited for")
			}
		})
	}
}
