// Package wholefile replaces files in one step: whoever reads one sees the old text or the new, never a part. A symbolic
// link, pipe or device of the name is replaced, not followed.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Write puts a file with this text and mode in place, whatever the umask says, and returns when it would outlive a
// power cut. The error is a *fs.PathError, the same each time for the same trouble; then the file is what it was, but for
// an error of syncing its directory, after which both are possible.
func Write(path string, text []byte, mode fs.FileMode) error {
	return Replace(path, text, func(f *os.File) error { return named(f.Chmod(mode), path) })
}

// Replace is Write for a file that needs more than a mode: prepare gets it before it has its name, with the text in it
// and for its owner only. text may be nil, if prepare writes. An error of prepare is returned as it is.
func Replace(path string, text []byte, prepare func(*os.File) error) error {
	if err := put(path, text, prepare, true); err != nil {
		return err
	}
	err := SyncDir(filepath.Dir(path))
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that knows no such thing, as some below FUSE: it can do no more
	}
	return err
}

// WriteVolatile is Write, for its owner only, of what a power cut may take: it is made anew at the next start.
func WriteVolatile(path string, text []byte) error {
	return put(path, text, func(*os.File) error { return nil }, false)
}

func put(path string, text []byte, prepare func(*os.File) error, sync bool) error {
	sweep(path)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+suffix) // mode 0600
	if err != nil {
		return named(err, path)
	}
	_, err = f.Write(text)
	if err = named(err, path); err == nil {
		err = prepare(f)
	}
	if err == nil && sync {
		err = named(f.Sync(), path)
	}
	if closeErr := f.Close(); err == nil {
		err = named(closeErr, path)
	}
	if err == nil {
		err = named(os.Rename(f.Name(), path), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Temporary files end in suffix. One that nobody has written to for as long as stale was left by a writer that was killed.
const (
	suffix = ".new"
	stale  = time.Hour
)

// sweep removes what killed writers of a file have left, so that it does not become more and more.
func sweep(path string) {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // what is not seen is left
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), "."+filepath.Base(path)+".")
		number, isOurs := strings.CutSuffix(rest, suffix)
		if !is || !isOurs || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && time.Since(fi.ModTime()) > stale {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// named is an error with the file's own name in the place of the temporary one.
func named(err error, path string) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return &fs.PathError{Op: "replace", Path: path, Err: p.Err}
	case errors.As(err, &l):
		return &fs.PathError{Op: "replace", Path: path, Err: l.Err}
	}
	return err
}

// SyncDir has the names in a directory outlive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
