package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/api"
	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
	"assent/internal/text/show"
)

// ShownFile keeps which requests assent showed to this user, so that a number that was mistyped allows
// nothing that nobody looked at. It is one line for each, an id and the digest of the input; losing it
// costs another look. The methods are for one goroutine; commands that write at the same time each
// append whole lines.
type ShownFile struct {
	path string // empty: nothing is kept, and nothing was shown
}

// mostShown bounds the file, in bytes; beyond that the older half goes. One command may add more than that, so more is read.
const (
	mostShown = 128 << 10
	maxShown  = 16 << 20
)

// NewShownFile is the file of the user whose environment that is.
func NewShownFile(env func(string) string) ShownFile {
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := env("HOME")
		if !filepath.IsAbs(home) {
			return ShownFile{}
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return ShownFile{filepath.Join(dir, "assent", "shown")}
}

func shownLine(r *api.Request) string { return show.Line(r.ID) + " " + show.Line(r.InputSHA256) }

// Has reports whether r was shown. A file that cannot be read says of nothing that it was.
func (s ShownFile) Has(r *api.Request) bool { return s.lines()[shownLine(r)] }

func (s ShownFile) lines() map[string]bool {
	if s.path == "" {
		return nil
	}
	text, err := regular.Read(s.path, maxShown, 0)
	if err != nil {
		return nil
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	return lines
}

// Add keeps that these were shown.
func (s ShownFile) Add(rs ...*api.Request) error {
	if s.path == "" {
		return nil
	}
	kept := s.lines()
	var text strings.Builder
	for _, r := range rs {
		if line := shownLine(r); !kept[line] {
			text.WriteString(line + "\n")
		}
	}
	if text.Len() == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("keep what was shown: %w", err)
	}
	if err := s.shorten(); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep what was shown: %w", err)
	}
	_, err = f.WriteString(text.String())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep what was shown: %w", err)
	}
	return nil
}

// shorten leaves the newer half of a file that is too large.
func (s ShownFile) shorten() error {
	fi, err := os.Stat(s.path)
	if err != nil || fi.Size() < mostShown {
		return nil
	}
	text, err := regular.Read(s.path, maxShown, 0)
	if err != nil {
		return fmt.Errorf("shorten what was shown: %w", err)
	}
	text = text[len(text)/2:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if err := wholefile.Write(s.path, text, 0o600); err != nil {
		return fmt.Errorf("shorten what was shown: %w", err)
	}
	return nil
}
