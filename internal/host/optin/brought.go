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
	"assent/internal/host/gitrepo"
	"assent/internal/host/regular"
	"assent/internal/text/show"
)

// Bounds of what a project brings along.
const (
	maxBroughtFiles   = 1000
	maxBroughtEntries = 5000 // files and directories, those with nothing in them too
	maxBroughtBytes   = 8 << 20
	maxOthers         = 300 // bytes of the names of settings that are shown
)

// Brought is what a checkout has for Claude Code, and so for whoever starts it there: settings with hooks
// and permissions, commands and skills that allow themselves tools, servers to start. Headless it asks
// nobody whether to trust them. Whatever is there counts: which of it is harmless is not ours to know.
type Brought struct {
	Files  []string // relative to the project: first its own, sorted, then those of the directories above it
	Says   []string // what stands in settings, for people, a line each
	Digest string   // of the names and the contents, 64 hexadecimal digits; "" where there is nothing

	sums map[string][sha256.Size]byte // of the contents, by Files
}

// broughtDir and broughtFile are what Claude Code reads in a project, beside texts for the model. Work trees are
// checkouts of their own, each looked at by itself: see NothingNew.
const (
	broughtDir  = ".claude"
	broughtFile = ".mcp.json"
	worktrees   = "worktrees"
)

// Tree is the directory of a project's work tree of this name, where Claude Code has it.
func Tree(project, name string) string {
	return filepath.Join(project, broughtDir, worktrees, name)
}

// InPlace is why a work tree is not where Tree says: it has to be a directory, with no link on the way to it, which an agent
// can put there to have another place taken for it. The error is fs.ErrNotExist where there is none.
func InPlace(project, tree string) error {
	for _, dir := range []string{filepath.Join(project, broughtDir), filepath.Join(project, broughtDir, worktrees), tree} {
		if fi, err := os.Lstat(dir); err != nil {
			return err
		} else if !fi.IsDir() {
			return fmt.Errorf("%s is no directory", dir)
		}
	}
	return nil
}

// NothingNew is why an agent must not be started in a work tree of a project: it brings what the project, as it was
// accepted, does not. A commit holds other files than the directory that was looked at, and what worked in the
// tree before may have changed them.
func NothingNew(project, tree, home string) error {
	if err := InPlace(project, tree); err != nil {
		return err
	}
	was, err := Bring(project, home)
	if err != nil {
		return err
	}
	is, err := Bring(tree, home)
	if err != nil {
		return err
	}
	for _, name := range is.Files {
		path, known := filepath.Join(tree, name), name
		if strings.HasPrefix(name, "../") { // above it is the project, and what is above that was looked at with it
			if known, err = filepath.Rel(project, path); err != nil {
				return err
			}
		}
		if sum, ok := was.sums[known]; !ok || sum != is.sums[name] {
			return fmt.Errorf("%s is not as it was accepted in %s: commit there what you accept, or take it out of the commit", path, project)
		}
	}
	return nil
}

// Bring looks at a project, and at what counts there although it stands above it: the servers of .mcp.json in each
// directory up to the root, and where no git work tree ends the search, .claude, but for that of home, the person's
// own. The error says what cannot be looked at, and so cannot be accepted.
func Bring(project, home string) (Brought, error) {
	b := Brought{sums: map[string][sha256.Size]byte{}}
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
		text, err := unlinked(path, left)
		if errors.Is(err, regular.ErrLarge) {
			return fmt.Errorf("what the project has for Claude Code is larger than %d MiB", maxBroughtBytes>>20)
		}
		if err != nil {
			return err
		}
		left -= int64(len(text))
		b.Files = append(b.Files, rel)
		b.sums[rel] = sha256.Sum256(text)
		for _, part := range [][]byte{[]byte(rel), text} { // with its length, so that no two trees have one digest
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(part)))
			sum.Write(n[:])
			sum.Write(part)
		}
		return nil
	}
	seen := 0
	var below func(top, dir string) error
	below = func(top, dir string) error {
		entries, err := list(dir, maxBroughtEntries-seen)
		if err != nil {
			return err
		}
		seen += len(entries)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case path == filepath.Join(top, worktrees) && e.IsDir():
			case e.IsDir():
				err = below(top, path)
			default:
				err = add(path)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	tree := func(dir string) error {
		switch fi, err := os.Lstat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !fi.IsDir():
			return add(dir)
		}
		return below(dir, dir)
	}
	dir := filepath.Join(project, broughtDir)
	if err := tree(dir); err != nil {
		return Brought{}, err
	}
	if err := add(filepath.Join(project, broughtFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Brought{}, err
	}
	own := len(b.Files)
	alone := gitrepo.Find(project).Root == ""
	for at := project; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if err := add(filepath.Join(at, broughtFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Brought{}, err
		}
		if alone && at != filepath.Clean(home) {
			if err := tree(filepath.Join(at, broughtDir)); err != nil {
				return Brought{}, err
			}
		}
	}
	for _, name := range b.Files[own:] { // in a directory such as /tmp it may be anybody's
		path := filepath.Join(project, name)
		fi, err := os.Lstat(path)
		if err == nil {
			err = writers(path, fi, false)
		}
		if err != nil {
			return Brought{}, err
		}
	}
	if len(b.Files) > 0 {
		b.Digest = hex.EncodeToString(sum.Sum(nil))
	}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		if says := settingsSay(filepath.Join(dir, name)); says != "" {
			b.Says = append(b.Says, says)
		}
	}
	return b, nil
}

// list is what stands in a directory, in the order of the names; more than most is an error, and not read.
func list(dir string, most int) ([]fs.DirEntry, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.ReadDir(most + 1)
	switch {
	case len(all) > most:
		return nil, fmt.Errorf("%s holds more than is looked at, %d files and directories", dir, maxBroughtEntries)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// unlinked reads a file that is one, of at most most bytes. Links are not followed: what they lead to can change elsewhere.
func unlinked(path string, most int64) ([]byte, error) {
	text, err := regular.Read(path, most, regular.NoLink)
	switch {
	case errors.Is(err, syscall.ELOOP):
		err = fmt.Errorf("%s is a link, so what it brings can change elsewhere; put the file itself there", path)
	case errors.Is(err, regular.ErrRefused):
		err = fmt.Errorf("%s is no file", path)
	case errors.Is(err, regular.ErrLarge):
		err = regular.ErrLarge
	}
	return text, err
}

// settingsSay is what one settings file has of hooks and permissions, "" if nothing.
func settingsSay(path string) string {
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
	if len(s.Others) > 0 { // which of them start programs differs from version to version
		parts = append(parts, show.Short("sets "+strings.Join(s.Others, ", "), maxOthers))
	}
	if len(parts) == 0 {
		return ""
	}
	return path + ": " + strings.Join(parts, "; ")
}
