package optin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"assent/internal/agent/claude/install"
	"assent/internal/text/show"
)

// Bounds of what a project brings along.
const (
	maxBroughtFiles = 1000
	maxBroughtBytes = 8 << 20
)

// Brought is what a checkout has for Claude Code, and so for whoever starts it there: settings with hooks
// and permissions, commands and skills that allow themselves tools, servers to start. Headless it asks
// nobody whether to trust them. Whatever is there counts: which of it is harmless is not ours to know.
type Brought struct {
	Files  []string // relative to the project, sorted
	Says   []string // what stands in settings, for people, a line each
	Digest string   // of the names and the contents, 64 hexadecimal digits; "" where there is nothing
}

// broughtDir and broughtFile are what Claude Code reads in a project, beside texts for the model. Work
// trees, which it makes itself, are checkouts of their own and hold this one's files.
const (
	broughtDir   = ".claude"
	broughtFile  = ".mcp.json"
	worktreesDir = ".claude/worktrees"
)

// Bring looks at a project. The error says what cannot be looked at, and so cannot be accepted.
func Bring(project string) (Brought, error) {
	var b Brought
	left := int64(maxBroughtBytes)
	sum := sha256.New()
	add := func(path string) error {
		rel, err := filepath.Rel(project, path)
		if err != nil {
			return err
		}
		if len(b.Files) == maxBroughtFiles {
			return fmt.Errorf("%s has more than %d files", filepath.Join(project, broughtDir), maxBroughtFiles)
		}
		text, err := regular(path, left)
		if errors.Is(err, errTooLarge) {
			return fmt.Errorf("what the project has for Claude Code is larger than %d MiB", maxBroughtBytes>>20)
		}
		if err != nil {
			return err
		}
		left -= int64(len(text))
		b.Files = append(b.Files, rel)
		for _, part := range [][]byte{[]byte(rel), text} { // with its length, so that no two trees have one digest
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(part)))
			sum.Write(n[:])
			sum.Write(part)
		}
		return nil
	}
	dir := filepath.Join(project, broughtDir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == dir:
			return nil
		case err != nil:
			return err
		case path == filepath.Join(project, worktreesDir) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return add(path)
	})
	if err != nil {
		return Brought{}, err
	}
	if err := add(filepath.Join(project, broughtFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Brought{}, err
	}
	if len(b.Files) > 0 {
		b.Digest = hex.EncodeToString(sum.Sum(nil))
	}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		if says := said(filepath.Join(dir, name)); says != "" {
			b.Says = append(b.Says, says)
		}
	}
	return b, nil
}

var errTooLarge = errors.New("the file is larger than is read")

// regular reads a file that is one, of at most most bytes. Links are not followed: what they lead to can change elsewhere.
func regular(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a link, so what it brings can change elsewhere; put the file itself there", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = errTooLarge
	}
	return text, err
}

// said is what one settings file has of hooks and permissions, "" if nothing.
func said(path string) string {
	s, ok := install.Read(path)
	if !ok {
		return ""
	}
	if s.Err != nil {
		return path + " cannot be read as settings"
	}
	var parts []string
	if len(s.Hooks) > 0 {
		var events []string
		for _, h := range s.Hooks {
			if !slices.Contains(events, h.Event) {
				events = append(events, h.Event)
			}
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", show.Count(len(s.Hooks), "hook"), strings.Join(events, ", ")))
	}
	if len(s.Allow) > 0 {
		parts = append(parts, "permission for "+strings.Join(s.Allow, ", "))
	}
	if s.DefaultMode != "" {
		parts = append(parts, "mode "+s.DefaultMode)
	}
	if s.DisableAllHooks {
		parts = append(parts, "hooks switched off")
	}
	if len(parts) == 0 {
		return ""
	}
	return path + ": " + strings.Join(parts, "; ")
}
