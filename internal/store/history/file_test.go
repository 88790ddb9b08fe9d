package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

func TestFilesArePrivate(t *testing.T) {
	r := newRig(t)
	if err := os.WriteFile(r.cfg.Path, nil, 0o644); err != nil { // as a careless restore leaves it
		t.Fatal(err)
	}
	r.start()
	r.event("s", "Stop", "")
	r.catchUp()
	files, err := filepath.Glob(r.cfg.Path + "*")
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f, info.Mode(), err)
		}
	}
}

// A file that is no database, is damaged inside, or is of a layout that is not known, is moved
// away and made again with the same rows.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *rig){
		"no database": func(t *testing.T, r *rig) {
			if err := os.WriteFile(r.cfg.Path, bytes.Repeat([]byte("spam"), 5000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"pages overwritten": func(t *testing.T, r *rig) {
			b, err := os.ReadFile(r.cfg.Path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(b); i++ {
				b[i] ^= 0x55
			}
			if err := os.WriteFile(r.cfg.Path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut off": func(t *testing.T, r *rig) {
			if err := os.Truncate(r.cfg.Path, 6000); err != nil {
				t.Fatal(err)
			}
		},
		"of the future": func(t *testing.T, r *rig) {
			d, err := openDB(r.cfg.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.exec("PRAGMA user_version = 999"), d.close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start()
			for i := range 40 {
				r.event(fmt.Sprint("s", i%4), "UserPromptSubmit", `"prompt":"`+strings.Repeat("long ", 200)+`"`)
			}
			r.catchUp()
			r.halt()
			want := r.dump()
			damage(t, r)
			r.start()
			r.catchUp()
			r.halt()
			sameRows(t, r.dump(), want)
			if !r.saidSo("moved to") {
				t.Error("nothing was said")
			}
			if _, err := os.Stat(r.cfg.Path + ".damaged"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A reader that meets damage has the file made anew, too.
func TestDamageFoundByAReader(t *testing.T) {
	r := newRig(t)
	h := r.start()
	for i := range 40 {
		r.event("s", "UserPromptSubmit", fmt.Sprintf(`"prompt":"%s %d"`, strings.Repeat("long ", 300), i))
	}
	r.catchUp()
	want, err := h.Feed(t.Context(), "s", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	news, stop := h.Watch("")
	defer stop()
	if err := h.do(t.Context(), func(w *writer) error {
		return w.d.exec("UPDATE feed SET body = x'07' WHERE pos = 5")
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Feed(t.Context(), "s", 0, 0); err == nil {
		t.Fatal("damaged bytes were handed out")
	}
	for range news { // ended when the file is made anew
	}
	for {
		r.catchUp()
		got, err := h.Feed(t.Context(), "s", 0, 0)
		if errors.Is(err, ErrNotReady) || errors.Is(err, ErrNotFound) {
			continue // between the old file and the new
		}
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(titles(t, got)) == fmt.Sprint(titles(t, want)) {
			break
		}
	}
}

// While the disk is full nothing is written and nothing breaks; afterwards all is there.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var free atomic.Uint64
	free.Store(keepFree - 1)
	looked := make(chan struct{}, 1)
	r.cfg.Free = func() (uint64, error) { poke(looked); return free.Load(), nil }
	h := r.start()
	r.event("s", "Stop", "")
	for range 3 { // again and again
		<-looked
	}
	if !r.saidSo("nothing is stored") || !r.saidSo("disk full") {
		t.Error("nothing was said")
	}
	if _, err := h.Session(t.Context(), "s"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before there was space: %v", err)
	}
	free.Store(1 << 40)
	r.catchUp()
	free.Store(0)
	r.event("s", "Stop", "")
	for range 3 {
		<-looked
	}
	if _, err := h.Session(t.Context(), "s"); err != nil {
		t.Errorf("what is there cannot be read: %v", err)
	}
	free.Store(1 << 40)
	r.event("s", "SessionEnd", `"reason":"other"`)
	r.catchUp()
	r.halt()
	want := r.dump()
	r.removeFile()
	r.start()
	r.catchUp()
	r.halt()
	sameRows(t, r.dump(), want)
}

// A step on which the fold fails is left out, and everything else is there.
func TestUnfit(t *testing.T) {
	r := newRig(t)
	inner := r.cfg.Decode
	r.cfg.Decode = func(agent, event string, raw []byte) (hook.Payload, hook.Detail) {
		p, d := inner(agent, event, raw)
		if strings.Contains(string(raw), "poison") {
			panic("boom")
		}
		return p, d
	}
	h := r.start()
	r.event("s", "UserPromptSubmit", `"prompt":"one"`)
	r.event("s", "UserPromptSubmit", `"prompt":"poison"`)
	r.event("s", "UserPromptSubmit", `"prompt":"two"`)
	r.catchUp()
	found, err := h.Search(t.Context(), "two", 0, 0)
	if err != nil || len(found) != 1 {
		t.Errorf("found %d, %v", len(found), err)
	}
	if !r.saidSo("event 2 cannot be folded: boom") {
		t.Error("nothing was said")
	}
}

// Rows that another version of the fold made are made again, as far as the stream reaches;
// older sessions stay as they are.
func TestOtherFold(t *testing.T) {
	r := newRig(t)
	r.start()
	r.event("old", "UserPromptSubmit", `"prompt":"long ago"`)
	id, at := r.request("old", "ls")
	r.decide(id, at, "")
	last := r.event("old", "SessionEnd", `"reason":"other"`)
	r.event("new", "UserPromptSubmit", `"prompt":"today"`)
	r.catchUp()
	if err := r.h.do(t.Context(), func(w *writer) error {
		return w.d.exec("UPDATE cursor SET fold = 0x7fffffff")
	}); err != nil {
		t.Fatal(err)
	}
	r.halt()
	// As if the old session's events had left the stream.
	bounds := r.cfg.EventBounds
	r.cfg.EventBounds = func(ctx context.Context) (uint64, uint64, error) {
		_, newest, err := bounds(ctx)
		return last + 1, newest, err
	}
	events := r.cfg.Events
	r.cfg.Events = func(ctx context.Context, from follow.Cursor, fn func(hook.Event)) error {
		from.Seq = max(from.Seq, last)
		return events(ctx, from, fn)
	}
	h := r.start()
	r.catchUp()
	old, err := h.Session(t.Context(), "old")
	if err != nil || old.Info.Title != "long ago" {
		t.Errorf("the old session is %+v, %v", old.Info, err)
	}
	if got, err := h.Feed(t.Context(), "old", 0, 0); err != nil || len(got) < 5 {
		t.Errorf("its feed has %d events, %v", len(got), err)
	}
	if found, err := h.Search(t.Context(), "today", 0, 0); err != nil || len(found) != 1 {
		t.Errorf("found %d, %v", len(found), err)
	}
	r.event("old", "SessionStart", `"source":"resume"`)
	r.catchUp()
	if got, err := h.Feed(t.Context(), "old", 0, 0); err != nil || len(got) == 0 || got[0].Pos != 1 {
		t.Errorf("an old session that goes on begins anew: %d events, %v", len(got), err)
	}
}

// filesWith counts the files below dir that have text in them.
func filesWith(t *testing.T, dir, text string) (n int) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			t.Logf("%s has %q", path, text)
			n++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
