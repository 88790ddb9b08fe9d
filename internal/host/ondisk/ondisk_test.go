package ondisk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

func open(string) bool { return false }

// The text comes along where it is one, short, and nothing that has to stay unread.
func TestLookBringsTheText(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := file(".env", "KEY=1\n")
	behind := filepath.Join(dir, "notes.txt")
	if err := os.Symlink(env, behind); err != nil {
		t.Fatal(err)
	}
	secret := func(path string) bool { return filepath.Base(path) == ".env" }
	for _, c := range []struct {
		name, path string
		hidden     func(string) bool
		text       string
		why        string
		lines      bool
	}{
		{"a text", file("a", "x\n\u202ey"), secret, "x\n\u202ey", "", true},
		{"empty", file("empty", ""), secret, "", "", true},
		{"as long as may be", file("long", strings.Repeat("x", MaxText)), secret, strings.Repeat("x", MaxText), "", true},
		{"longer", file("longer", strings.Repeat("x", MaxText+1)), secret, "", hook.BeforeLarge, true},
		{"a secret", env, secret, "", hook.BeforeSecret, true},
		{"a link to a secret", behind, secret, "", hook.BeforeSecret, true},
		{"nobody to say what is secret", file("b", "x"), nil, "", hook.BeforeUnseen, true},
		{"no UTF-8", file("latin", "\xe4"), secret, "", hook.BeforeBinary, true},
		{"binary", file("binary", "a\x00"), secret, "", hook.BeforeBinary, false},
		{"none", filepath.Join(dir, "none"), secret, "", "", false},
		{"a directory", dir, secret, "", hook.BeforeUnseen, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := look(c.path, c.hidden)
			if f.Why != c.why || (f.Text != nil) != (c.why == "" && c.name != "none") || f.Text != nil && *f.Text != c.text {
				t.Errorf("%+v", f)
			}
			if o := f.Overwrites; (o != nil && o.Lines != nil) != c.lines {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestLook(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, to string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	three := file("three", "a\nb\nc")
	large := file("large", strings.Repeat("x\n", maxRead/2)+"y")
	for _, c := range []struct {
		path   string
		seen   bool
		exists bool
		lines  int64 // -1: not counted
		bytes  int64
	}{
		{three, true, true, 3, 5},
		{file("ends", "a\nb\n"), true, true, 2, 4},
		{file("empty", ""), true, true, 0, 0},
		{file("binary", "a\nb\x00"), true, true, -1, 4},
		{large, true, true, -1, maxRead + 1},
		{link("link", three), true, true, 3, 5},
		{filepath.Join(dir, "none"), true, false, -1, 0},
		{filepath.Join(dir, "no", "dir", "none"), true, false, -1, 0},
		{link("dangling", filepath.Join(dir, "elsewhere")), false, false, -1, 0},
		{dir, false, false, -1, 0},
		{filepath.Join(three, "below"), false, false, -1, 0},
		{fifo, false, false, -1, 0},
		{link("to-fifo", fifo), false, false, -1, 0},
		{link("to-kernel", "/proc/self/status"), false, false, -1, 0},
		{"/dev/null", false, false, -1, 0},
		{"three", false, false, -1, 0},
		{"", false, false, -1, 0},
		{three + "\x00", false, false, -1, 0},
	} {
		o := look(c.path, open).Overwrites
		if (o != nil) != c.seen {
			t.Errorf("%q: %+v, seen should be %v", c.path, o, c.seen)
			continue
		}
		if o == nil {
			continue
		}
		lines := int64(-1)
		if o.Lines != nil {
			lines = *o.Lines
		}
		if o.Exists != c.exists || lines != c.lines || o.Bytes != c.bytes {
			t.Errorf("%q: %+v with %d lines", c.path, *o, lines)
		}
	}
}

// A file system that does not answer costs each request a moment, and then nothing any more.
func TestLookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks = make(chan struct{}, maxLooks)
		release := make(chan struct{})
		began := time.Now()
		for range maxLooks {
			if f := within(lookTimeout, func() Found { <-release; return Found{Overwrites: &hook.Overwrites{}} }); f != unseen() {
				t.Errorf("saw %+v", f)
			}
		}
		if took := time.Since(began); took != maxLooks*lookTimeout {
			t.Errorf("took %v", took)
		}
		if f := within(lookTimeout, func() Found { t.Error("one too many"); return Found{} }); f != unseen() || time.Since(began) != maxLooks*lookTimeout {
			t.Errorf("saw %+v after %v", f, time.Since(began))
		}
		close(release)
		synctest.Wait()
		if f := within(lookTimeout, func() Found { return Found{Overwrites: &hook.Overwrites{}} }); f.Overwrites == nil {
			t.Error("sees nothing when all answer again")
		}
	})
	looks = make(chan struct{}, maxLooks)
}
