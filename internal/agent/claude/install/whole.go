package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assent/internal/text/digest"
)

// A file that is assent's alone is written as a whole, and removed.

// ours reports whether a file there is what an install wrote, by its digest, or what this one would write. One
// that somebody has changed since, or that others wrote under the same name, is theirs.
func (o Options) ours(p Plan, old memory) bool {
	return digest.Of(p.Before) == old.After || bytes.Equal(p.Before, o.Format.Whole)
}

// installWhole plans to write the file of o.Format, which is assent's alone.
func (o Options) installWhole() (Plan, error) {
	p, old, err := o.openWhole()
	if err != nil {
		return Plan{}, err
	}
	if p.Before != nil && !o.ours(p, old) {
		return Plan{}, fmt.Errorf("%s is there, and not as assent install wrote it; move it away, and run this again", p.Path)
	}
	p.After, p.Events, p.Notes = o.Format.Whole, o.Format.Events, o.Format.Notes
	p.memory = &memory{Path: p.Target, Created: true, After: digest.Of(p.After), Made: old.Made}
	if p.Before == nil {
		p.memory.Made = missing(filepath.Dir(p.Target))
	}
	return p, nil
}

// uninstallWhole plans to remove it. What somebody else wrote there stays.
func (o Options) uninstallWhole() (Plan, error) {
	p, old, err := o.openWhole()
	if err != nil {
		return Plan{}, err
	}
	if p.Before != nil && !o.ours(p, old) {
		p.After = p.Before
		p.Notes = append(p.Notes, Note{Key: "not-ours", Text: p.Path + " is not as assent install wrote it, and stays; remove it yourself if it is to go"})
	}
	return p, nil
}

// openWhole is open for such a file, below directories that may not be there yet.
func (o Options) openWhole() (Plan, memory, error) {
	p := Plan{Path: o.Format.Path, memoryDir: o.memoryDir(), attributes: attributes{mode: 0o600}, whole: true}
	p.Target = p.Path
	t, err := filepath.EvalSymlinks(p.Path)
	switch {
	case err == nil:
		p.Target = t
	case !errors.Is(err, fs.ErrNotExist):
		return p, memory{}, fmt.Errorf("file %s: %w", p.Path, err)
	case isLink(p.Path):
		return p, memory{}, fmt.Errorf("%s is a link to nothing; remove it", p.Path)
	}
	if p.Before, err = read(p.Target, &p.attributes); err != nil {
		return p, memory{}, err
	}
	old := readMemory(p.memoryDir, p.Target)
	p.made = old.Made
	if old.After == "" {
		p.made = []string{filepath.Dir(p.Target)} // perhaps
	}
	return p, old, nil
}

// missing are the directories that are not there, from dir up.
func missing(dir string) []string {
	var list []string
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		list = append(list, dir)
	}
	return list
}

// putWhole writes or removes such a file; directories that are empty then, and were made by install, go
// with it.
func (p Plan) putWhole() error {
	if p.After != nil {
		if err := os.MkdirAll(filepath.Dir(p.Target), 0o700); err != nil {
			return err
		}
		return write(p.Target, p.After, p.attributes)
	}
	if err := os.Remove(p.Target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range p.made {
		_ = os.Remove(dir) // unless something else is in it
	}
	return nil
}
