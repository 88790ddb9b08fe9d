package executor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errDamaged says that what a session's directory holds cannot be believed. Nothing more may happen to the session.
var errDamaged = errors.New("the session cannot be gone on with; move its directory away")

// openRegular opens a session's file, which has to be a regular one of this user's, and to be written to without
// another name: a link that somebody put there leads to another file, and a pipe never ends. It never waits.
func openRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("%s is no file: %w", path, errDamaged)
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || !fi.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || flags&os.O_RDWR != 0 && st.Nlink != 1 {
			err = fmt.Errorf("%s is not a file of this user's, and of nothing else: %w", path, errDamaged)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// makeFile makes an empty file in the place of whatever stands there, which it leaves as it is.
func makeFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

// putFile makes a file with this text, whole or not at all, also when the machine stops.
func putFile(path string, text []byte) error {
	f, err := makeFile(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir has the names in a directory outlive the machine.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readFile reads a session's file of at most most bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than is read: %w", path, errDamaged)
	}
	return text, err
}
