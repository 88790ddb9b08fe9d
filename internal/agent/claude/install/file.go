package install

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// maxSettings bounds a settings file, in bytes.
const maxSettings = 4 << 20

// Path is the settings file that the options mean.
func (o Options) Path() (string, error) {
	if o.Format != nil {
		return o.Format.Path, nil
	}
	switch o.Scope {
	case User:
		if o.ConfigDir != "" {
			return filepath.Join(o.ConfigDir, "settings.json"), nil
		}
		if o.Home == "" {
			return "", errors.New("where your settings are is not known: HOME is not set")
		}
		return filepath.Join(o.Home, ".claude", "settings.json"), nil
	case Managed:
		return filepath.Join(cmp.Or(o.ManagedDir, managedDir()), "managed-settings.json"), nil
	case Project:
		return filepath.Join(o.Dir, ".claude", "settings.json"), nil
	case Local:
		return filepath.Join(o.Dir, ".claude", "settings.local.json"), nil
	}
	return "", fmt.Errorf("scope %q: want user, project, local or managed", o.Scope)
}

// open reads the file that the options mean, and what is remembered of it, and says whether it
// can be written. The plan it returns changes nothing yet.
func (o Options) open() (Plan, memory, error) {
	path, err := o.Path()
	if err != nil {
		return Plan{}, memory{}, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return Plan{}, memory{}, fmt.Errorf("settings file: %w", err)
	}
	p := Plan{Path: path, memoryDir: o.memoryDir(), attributes: attributes{mode: 0o600}}
	if o.Scope == Project || o.Scope == Managed {
		p.attributes.mode = 0o644
	}
	if p.Target, err = target(path); err != nil {
		return Plan{}, memory{}, err
	}
	if err := o.inside(p.Target); err != nil {
		return Plan{}, memory{}, err
	}
	if p.Before, err = read(p.Target, &p.attributes); err != nil {
		return Plan{}, memory{}, err
	}
	if _, err := os.Lstat(filepath.Dir(p.Target)); errors.Is(err, fs.ErrNotExist) {
		p.madeDir = true
	}
	return p, readMemory(p.memoryDir, p.Target), nil
}

// target follows symlinks to the file that is to be written, which need not be there yet.
func target(path string) (string, error) {
	t, err := filepath.EvalSymlinks(path)
	if err == nil {
		return t, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("settings file %s: %w", path, err)
	}
	if to, err := os.Readlink(path); err == nil {
		return "", fmt.Errorf("%s is a symlink to %s, and nothing is there; make that file (with {} in it) or remove the link", path, to)
	}
	// The file is missing, or its directory too.
	dir := filepath.Dir(path)
	if to, err := os.Readlink(dir); err == nil {
		if _, err := os.Stat(dir); err != nil {
			return "", fmt.Errorf("%s is a symlink to %s, and nothing is there; make that directory or remove the link", dir, to)
		}
	}
	if t, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(t, filepath.Base(path)), nil
	}
	if t, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		return filepath.Join(t, filepath.Base(dir), filepath.Base(path)), nil
	}
	return "", fmt.Errorf("settings file %s: there is no directory %s", path, filepath.Dir(dir))
}

// inside refuses a link that leads out of a project: what is in a project may come from strangers.
func (o Options) inside(target string) error {
	if o.Scope == User || o.Scope == Managed {
		return nil
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return fmt.Errorf("project directory: %w", err)
	}
	if rel, err := filepath.Rel(dir, target); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		path, _ := o.Path()
		return fmt.Errorf("%s is a link to %s, outside of the project; remove the link, or install with --scope user", path, target)
	}
	return nil
}

// attributes are what a file keeps when its text is replaced.
type attributes struct {
	mode     fs.FileMode
	owned    bool // uid and gid are known
	uid, gid int
	links    uint64
	extended map[string][]byte // access lists, labels, notes
}

// read returns the text of the settings file, nil if there is none, and its attributes.
func read(path string, a *attributes) ([]byte, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	switch {
	case fi.IsDir():
		return nil, fmt.Errorf("%s is a directory, where Claude Code wants a file; move it away", path)
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file; move it away", path)
	case fi.Size() > maxSettings:
		return nil, fmt.Errorf("%s has %d MiB, which is no settings file; settings may have %d MiB", path, fi.Size()>>20, maxSettings>>20)
	}
	// It may have been replaced by a pipe meanwhile, which would never open.
	f, _, err := regular.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w; make the file readable for you", err)
	}
	defer f.Close()
	b, err := regular.All(f, maxSettings)
	if err != nil {
		return nil, fmt.Errorf("read the settings %s: %w", path, err)
	}
	a.mode = fi.Mode().Perm()
	a.extended = extended(f)
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		a.owned, a.uid, a.gid, a.links = true, int(st.Uid), int(st.Gid), uint64(st.Nlink)
	}
	return b, nil
}

// writable says why a file should not be written. It looks at the permission bits too: they do
// not stop root, but somebody set them.
func writable(path string, there bool) error {
	dir := filepath.Dir(path)
	if store := immutableStore(path); store != "" {
		return fmt.Errorf("%s lies in %s, where nothing can be changed; add the hooks where that file is made (assent install --print shows them)", path, store)
	}
	if there {
		if err := mayWrite(path, unix.W_OK); err != nil {
			return fmt.Errorf("%s is read-only (%w); if it is made by another program, add the hooks there (assent install --print shows them), else: chmod u+w", path, err)
		}
	}
	err := mayWrite(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Dir(dir)
		err = mayWrite(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be replaced: the directory %s is read-only (%w); chmod u+w, or choose another --scope", path, dir, err)
	}
	return nil
}

func mayWrite(path string, want uint32) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("mode %04o", fi.Mode().Perm())
	}
	return unix.Access(path, want)
}

// immutableStore returns the store of a package manager that a file lies in, "" for none.
func immutableStore(path string) string {
	for _, s := range []string{"/nix/store/", "/gnu/store/"} {
		if i := strings.Index(path, s); i >= 0 {
			return path[:i] + strings.TrimSuffix(s, "/")
		}
	}
	return ""
}

// write replaces a file, or makes it, in one step: a reader sees the old text or the new one.
func write(path string, b []byte, a attributes) error {
	return wholefile.Replace(path, b, func(f *os.File) error {
		if a.owned && (a.uid != os.Geteuid() || a.gid != os.Getegid()) {
			if err := f.Chown(a.uid, a.gid); err != nil {
				return fmt.Errorf("keep its owner: %w", err)
			}
		}
		if err := f.Chmod(a.mode); err != nil {
			return err
		}
		return a.extend(f)
	})
}
