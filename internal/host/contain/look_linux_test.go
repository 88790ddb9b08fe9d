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
		t := &tree{rules: r, linked: map[uint64]bool{}, found: map[uint64]bool{}, buf: make([]byte, 16<<10), until: time.Now().Add(time.Minute)}
		if err := t.allow(dir); err != nil {
			b.Fatal(err)
		}
		unix.Close(r.fd)
	}
}
