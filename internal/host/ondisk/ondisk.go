// Package ondisk looks at what a file holds that a tool is about to replace, for whoever is asked.
// It never waits long: a path may lead to a file system that does not answer.
package ondisk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assent/internal/hook"
)

const (
	maxRead     = 8 << 20                // bytes of a file whose lines are counted
	lookTimeout = 250 * time.Millisecond // of a request, for the look at its file
	maxLooks    = 4                      // at once; one that hangs in its file system keeps its place
)

// looks has an element for each look that is under way.
var looks = make(chan struct{}, maxLooks)

// Look says what is at path now, an absolute path. It returns nil where that cannot be seen: no
// right to, no answer, or no regular file.
func Look(path string) *hook.Overwrites {
	return within(lookTimeout, func() *hook.Overwrites { return look(path) })
}

func within(limit time.Duration, look func() *hook.Overwrites) *hook.Overwrites {
	select {
	case looks <- struct{}{}:
	default:
		return nil // others hang
	}
	found := make(chan *hook.Overwrites, 1)
	go func() {
		defer func() { <-looks }()
		found <- look()
	}()
	enough := time.NewTimer(limit)
	defer enough.Stop()
	select {
	case o := <-found:
		return o
	case <-enough.C:
		return nil
	}
}

func look(path string) *hook.Overwrites {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil // a link to what is not there: who writes through it makes another file
		}
		return &hook.Overwrites{}
	}
	if err != nil || kernels(real) {
		return nil
	}
	// Nothing but a regular file is opened, and opening one that took its place does not wait.
	if i, err := os.Stat(real); err != nil || !i.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil || !i.Mode().IsRegular() {
		return nil
	}
	o := &hook.Overwrites{Exists: true, Bytes: i.Size()}
	if i.Size() <= maxRead {
		o.Lines = lines(io.LimitReader(f, maxRead))
	}
	return o
}

// kernels says whether a path leads to what is no file of anybody's: reading there can do things.
func kernels(path string) bool {
	for _, root := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}

// lines counts the lines of a text, the last one also without a line feed; nil: it is no text.
func lines(r io.Reader) *int64 {
	var n int64
	last := byte('\n')
	buf := make([]byte, 64<<10)
	for {
		k, err := r.Read(buf)
		if bytes.IndexByte(buf[:k], 0) >= 0 {
			return nil
		}
		if n += int64(bytes.Count(buf[:k], []byte{'\n'})); k > 0 {
			last = buf[k-1]
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil
		}
	}
	if last != '\n' {
		n++
	}
	return &n
}
