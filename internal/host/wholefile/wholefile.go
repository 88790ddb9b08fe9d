// Package wholefile replaces files in one step: whoever reads one sees the old text or the new, never a part. A symbolic
// link, pipe or device of the name is replaced, not followed.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write puts a file with this text and mode in place, whatever the umask says, and returns when it would outlive a
// power cut. The error is a *fs.PathError or what prepare returned, the same each time for the same trouble; then the file is what it was, but for
// an error of syncing its directory, after which both are possible.
func Write(path string, text []byte, mode fs.FileMode) error {
	return Replace(path, text, func(f *os.File) error { return f.Chmod(mode) })
}

// Replace is Write for a file that needs more than a mode: prepare gets it before it has its name, with the text in it
// and for its owner only. text may be nil, if prepare writes.
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
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.new") // mode 0600
	if err != nil {
		return named(err, path)
	}
	_, err = f.Write(text)
	if err == nil {
		err = prepare(f)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return named(err, path)
	}
	return nil
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
