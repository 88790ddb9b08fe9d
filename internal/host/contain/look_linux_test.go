//go:build linux && (amd64 || arm64)

package contain

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkLook looks through a thousand files, with two secrets among them.
func BenchmarkLook(b *testing.B) {
	abi := ABI()
	if err := Usable(abi); err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	for i := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf("d%d", i/50), fmt.Sprintf("file%d.go", i))
		if i%500 == 499 {
			name = filepath.Join(filepath.Dir(name), ".env")
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r, err := newRules(abi)
		if err != nil {
			b.Fatal(err)
		}
		t := &tree{rules: r, linked: map[uint64]bool{}, found: map[uint64]bool{}, secrets: map[uint64]bool{}, buf: make([]byte, 16<<10), until: time.Now().Add(time.Minute)}
		if err := t.allow(dir); err != nil {
			b.Fatal(err)
		}
		unix.Close(r.fd)
	}
}

// TestSwapped: between the listing of a directory and the rules for what is in it, somebody gives a secret
// another name, one that was listed. It gets no rule, and the next look knows it by its number.
func TestSwapped(t *testing.T) {
	abi := ABI()
	if err := Usable(abi); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	secret, plain := filepath.Join(dir, ".env"), filepath.Join(dir, "plain")
	inode := func(name string) uint64 {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	for name, swap := range map[string]struct {
		before, after func() error // when the secret is looked at, and when the rule is made
		rule          bool
	}{
		"nothing":          {rule: true},
		"renamed at once":  {before: func() error { return os.Rename(secret, plain) }},
		"renamed later":    {after: func() error { return os.Rename(secret, plain) }},
		"linked later":     {after: func() error { _ = os.Remove(plain); return os.Link(secret, plain) }},
		"linked at once":   {before: func() error { _ = os.Remove(plain); return os.Link(secret, plain) }},
		"another file":     {after: func() error { _ = os.Remove(plain); return os.WriteFile(plain, nil, 0o600) }, rule: true},
		"a symbolic link":  {after: func() error { _ = os.Remove(plain); return os.Symlink(secret, plain) }},
		"it is gone":       {after: func() error { return os.Remove(plain) }},
		"now a directory":  {after: func() error { _ = os.Remove(plain); return os.Mkdir(plain, 0o700) }},
		"now a named pipe": {after: func() error { _ = os.Remove(plain); return unix.Mkfifo(plain, 0o600) }},
	} {
		for _, f := range []string{secret, plain} {
			if err := os.RemoveAll(f); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := newRules(abi)
		if err != nil {
			t.Fatal(err)
		}
		look := &tree{rules: r, linked: map[uint64]bool{}, found: map[uint64]bool{}, secrets: map[uint64]bool{}, buf: make([]byte, 16<<10), until: time.Now().Add(time.Minute)}
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		listed := []entry{{name: ".env", file: true, ino: inode(secret)}, {name: "plain", file: true, ino: inode(plain)}}
		do := func(f func() error) {
			if f != nil {
				if err := f(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		do(swap.before)
		if err := look.secret(fd, listed[0], 1); err != nil {
			t.Fatal(err)
		}
		do(swap.after)
		if err := look.one(fd, listed[1]); err != nil {
			t.Fatal(err)
		}
		if (r.count > 0) != swap.rule && !look.found[inode(plain)] {
			t.Errorf("%s: %d rules, found %v", name, r.count, look.found)
		}
		unix.Close(fd)
		unix.Close(r.fd)
	}
}

// TestResolved: a path that has got a link in it since it was resolved is not opened.
func TestResolved(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b", "c/b"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if fd, err := resolved(filepath.Join(dir, "a/b"), unix.O_PATH); err != nil {
		t.Error(err)
	} else {
		unix.Close(fd)
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("c", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if fd, err := resolved(filepath.Join(dir, "a/b"), unix.O_PATH); err == nil {
		unix.Close(fd)
		t.Error("it was opened through a link")
	}
}
