package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/diff"
)

// Plan is a change of one settings file that has not happened yet.
type Plan struct {
	// Path is the file as Claude Code names it, Target what is written: another one if Path is
	// a symlink.
	Path, Target string
	// Before and After are the file's text; nil means no file.
	Before, After []byte
	// Events are those that assent's hook runs for then.
	Events []string
	Notes  []Note

	attributes attributes
	memoryDir  string
	memory     *memory  // nil: forget
	whole      bool     // the file is assent's alone
	made       []string // directories that an install of such a file made, the innermost first
	madeDir    bool     // the directory is not there yet; for uninstall: was made by install
}

// Changed reports whether there is anything to do.
func (p Plan) Changed() bool {
	return !bytes.Equal(p.Before, p.After) || (p.Before == nil) != (p.After == nil)
}

// Diff is the change in the unified format; "" if there is none.
func (p Plan) Diff() string {
	old, new := p.Target, p.Target
	if p.Before == nil {
		old = os.DevNull
	}
	if p.After == nil {
		new = os.DevNull
	}
	text := string(diff.Diff(old, p.Before, new, p.After))
	_, text, _ = strings.Cut(text, "\n") // the line that names the command
	return text
}

// Writable says why the plan cannot be carried out, as far as can be told before; nil if it can.
func (p Plan) Writable() error {
	if !p.Changed() || p.whole && p.Before == nil { // its directories are made
		return nil
	}
	return writable(p.Target, p.Before != nil)
}

// lockWait bounds the wait for another install.
const lockWait = 10 * time.Second

// keepBackups is how many backups of one file are kept.
const keepBackups = 10

// Apply does what was planned. It returns where the old text was saved, "" if there was none.
// Whatever fails, the settings file is as it was or as it should be.
func (p Plan) Apply() (backup string, err error) {
	if !p.Changed() {
		return "", nil
	}
	if err := p.Writable(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(p.memoryDir, 0o700); err != nil {
		return "", fmt.Errorf("directory for backups: %w", err)
	}
	lock := flock.New(filepath.Join(p.memoryDir, "lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return "", fmt.Errorf("another assent install is at work (%s is locked): %w; try again", lock.Path(), err)
	}
	defer lock.Unlock()

	now, err := p.unchanged()
	if err != nil {
		return "", err
	}
	if bytes.Equal(now, p.After) && (now == nil) == (p.After == nil) {
		return "", nil // another install did the same meanwhile
	}
	old := readMemory(p.memoryDir, p.Target)
	if backup, err = p.backup(); err != nil {
		return "", err
	}
	// The memory comes first: a crash in between leaves one that fits no file, and is passed over.
	if err := keep(p.memoryDir, p.Target, p.memory); err != nil {
		return "", err
	}
	if err := p.put(); err != nil {
		var was *memory
		if old.After != "" {
			was = &old
		}
		return "", errors.Join(fmt.Errorf("write the settings: %w; nothing was changed", err), keep(p.memoryDir, p.Target, was))
	}
	return backup, nil
}

// unchanged reads the file once more, and refuses if somebody else wrote it since.
func (p Plan) unchanged() ([]byte, error) {
	t, err := p.Target, error(nil)
	if !p.whole {
		t, err = target(p.Path)
	}
	if err != nil {
		return nil, err
	}
	var a attributes
	now, err := read(t, &a)
	if err != nil {
		return nil, err
	}
	same := func(b []byte) bool { return bytes.Equal(now, b) && (now == nil) == (b == nil) }
	if t != p.Target || !same(p.Before) && !same(p.After) {
		return nil, fmt.Errorf("%s was changed by another program meanwhile; nothing was written, run the command again", p.Path)
	}
	return now, nil
}

// put writes, or removes, the file itself.
func (p Plan) put() error {
	if p.whole {
		return p.putWhole()
	}
	dir := filepath.Dir(p.Target)
	if p.After == nil {
		if err := os.Remove(p.Target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p.madeDir {
			_ = os.Remove(dir) // unless something else is in it by now
		}
		return nil
	}
	if p.Before == nil && p.madeDir {
		mode := fs.FileMode(0o700)
		if p.attributes.mode&0o044 != 0 {
			mode = 0o755
		}
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	err := write(p.Target, p.After, p.attributes)
	if err != nil && p.Before == nil && p.madeDir {
		_ = os.Remove(dir)
	}
	return err
}

// backup saves the old text, and drops the oldest of many.
func (p Plan) backup() (string, error) {
	if p.Before == nil {
		return "", nil
	}
	prefix := key(p.Target) + "."
	path := filepath.Join(p.memoryDir, prefix+time.Now().UTC().Format("20060102T150405.000000000")+".backup")
	if err := write(path, p.Before, attributes{mode: 0o600}); err != nil {
		return "", fmt.Errorf("back up the settings: %w; nothing was changed", err)
	}
	p.dropOldBackups(prefix)
	return path, nil
}

func (p Plan) dropOldBackups(prefix string) {
	files, err := os.ReadDir(p.memoryDir) // sorted by name, so by time
	if err != nil {
		return // leftovers do no harm
	}
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool {
		return !strings.HasPrefix(f.Name(), prefix) || !strings.HasSuffix(f.Name(), ".backup")
	})
	for _, f := range files[:max(0, len(files)-keepBackups)] {
		_ = os.Remove(filepath.Join(p.memoryDir, f.Name()))
	}
}
