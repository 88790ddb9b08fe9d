package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assent/internal/host/gitrepo"
	"assent/internal/host/regular"
)

const (
	excludeFile = "info/exclude"
	excludeLine = "/" + dirName + "/"
	maxExclude  = 1 << 20 // bytes of it that are read
)

// exclude keeps the ledger out of git: without it, git add -A would commit what agents did. The
// work trees of a repository share one such file.
func exclude(root string) error {
	common := gitrepo.CommonDir(root)
	if common == "" {
		return ErrGone
	}
	real, err := filepath.EvalSymlinks(common)
	if err != nil {
		return err
	}
	if real != common {
		return fmt.Errorf("%w: the git directory is really %s", ErrElsewhere, real)
	}
	r, err := os.OpenRoot(common)
	if err != nil {
		return err
	}
	defer r.Close()
	// A work tree's .git may be a file that names any directory. Only a repository is written to.
	for _, name := range []string{"objects", "refs"} {
		if fi, err := r.Stat(name); err != nil || !fi.IsDir() {
			return fmt.Errorf("%w: %s is no git directory", ErrGone, common)
		}
	}
	if err := addLine(r, filepath.Join(common, excludeFile)); err != nil {
		return fmt.Errorf("keep the ledger out of git: %w; or add %s to %s yourself", err, excludeLine, filepath.Join(common, excludeFile))
	}
	return nil
}

// addLine appends the line if it is not there. Reading may go through a link, for some people keep
// the file elsewhere; writing may not.
func addLine(r *os.Root, path string) error {
	have, err := readExclude(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(have) {
		if string(bytes.TrimRight(line, " \t\r\n")) == excludeLine {
			return nil
		}
	}
	for _, name := range []string{filepath.Dir(excludeFile), excludeFile} {
		if fi, err := r.Lstat(name); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%w: %s is one", ErrElsewhere, name)
		}
	}
	if err := r.Mkdir(filepath.Dir(excludeFile), 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	line := excludeLine + "\n"
	if len(have) > 0 && have[len(have)-1] != '\n' {
		line = "\n" + line
	}
	f, err := r.OpenFile(excludeFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// readExclude returns the file, which need not be there.
func readExclude(path string) ([]byte, error) {
	b, err := regular.Read(path, maxExclude, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case errors.Is(err, regular.ErrRefused), errors.Is(err, regular.ErrLarge):
		return nil, fmt.Errorf("%s is too large, or no file", path)
	}
	return b, err
}
