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
	"time"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/host/regular"
)

// MaxText is the longest text that a look brings along, in bytes.
const MaxText = 256 << 10

const (
	maxRead     = 8 << 20                // bytes of a file whose lines are counted
	lookTimeout = 250 * time.Millisecond // of a request, for the look at its file
	maxLooks    = 4                      // at once; one that hangs in its file system keeps its place
)

// looks has an element for each look that is under way.
var looks = make(chan struct{}, maxLooks)

// Found is what a look has seen.
type Found struct {
	// Overwrites is nil where nothing could be seen: no right to, no answer, or no regular file.
	Overwrites *hook.Overwrites
	// Text is all that the file holds; nil where Why says why it is not here, and where there is no file.
	Text *string
	Why  string // one of the values of hook.Before.Why
}

// Look says what is at path now, an absolute path. hidden, which may itself have to wait for the file
// system, says of a path whether the text behind it must stay unread; nil: so must all.
func Look(path string, hidden func(path string) bool) Found {
	return within(lookTimeout, func() Found { return look(path, hidden) })
}

func within(limit time.Duration, look func() Found) Found {
	select {
	case looks <- struct{}{}:
	default:
		return unseen() // others hang
	}
	found := make(chan Found, 1)
	go func() {
		defer func() { <-looks }()
		found <- look()
	}()
	enough := time.NewTimer(limit)
	defer enough.Stop()
	select {
	case f := <-found:
		return f
	case <-enough.C:
		return unseen()
	}
}

func unseen() Found { return Found{Why: hook.BeforeUnseen} }

func look(path string, hidden func(string) bool) Found {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return unseen()
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return unseen() // a link to what is not there: who writes through it makes another file
		}
		return Found{Overwrites: &hook.Overwrites{}}
	}
	if err != nil || kernels(real) {
		return unseen()
	}
	// Nothing but a regular file is opened, and opening one that took its place does not wait.
	if i, err := os.Stat(real); err != nil || !i.Mode().IsRegular() {
		return unseen()
	}
	f, i, err := regular.Open(real, os.O_RDONLY, regular.NoLink)
	if err != nil {
		return unseen()
	}
	defer f.Close()
	found := Found{Overwrites: &hook.Overwrites{Exists: true, Bytes: i.Size()}}
	switch {
	case hidden == nil:
		found.Why = hook.BeforeUnseen
	case hidden(path) || hidden(real):
		found.Why = hook.BeforeSecret
	case i.Size() > MaxText:
		found.Why = hook.BeforeLarge
	default:
		return found.read(f)
	}
	if i.Size() <= maxRead {
		found.Overwrites.Lines = lines(io.LimitReader(f, maxRead))
	}
	return found
}

// read takes the text of a file along.
func (found Found) read(f io.Reader) Found {
	b, err := regular.All(f, MaxText)
	switch {
	case errors.Is(err, regular.ErrLarge): // it has grown
		found.Why = hook.BeforeLarge
		return found
	case err != nil:
		found.Why = hook.BeforeUnseen
		return found
	}
	found.Overwrites.Lines = lines(bytes.NewReader(b))
	if found.Overwrites.Lines == nil || !utf8.Valid(b) {
		found.Why = hook.BeforeBinary
		return found
	}
	text := string(b)
	found.Text = &text
	return found
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
