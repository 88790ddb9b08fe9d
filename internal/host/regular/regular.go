// Package regular reads files that somebody else may have put in their place: an agent, which runs as the user whose
// files they are. A pipe would keep its reader waiting, a device would never end, and a link leads to another file.
package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Want is what a file has to be, besides regular.
type Want uint8

const (
	NoLink   Want = 1 << iota // no symbolic link; to open one is syscall.ELOOP
	Mine                      // it belongs to the user who runs this
	Private                   // nobody but its owner may read or write it
	NoWriter                  // nobody but its owner may write it
	OneName                   // no second name leads to it
)

var (
	// ErrRefused says that a file is not what was wanted of it, or no regular file.
	ErrRefused = errors.New("no file such as is read here")
	// ErrLarge says that there is more than is read.
	ErrLarge = errors.New("the file is larger than is read")
)

type refused string

func (r refused) Error() string     { return string(r) }
func (r refused) Is(err error) bool { return err == ErrRefused }

// Open opens a file that is there, and never waits: flag is os.O_RDONLY, os.O_WRONLY or os.O_RDWR.
func Open(path string, flag int, want Want) (*os.File, fs.FileInfo, error) {
	flag |= syscall.O_NONBLOCK
	if want&NoLink != 0 {
		flag |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := Check(f, want)
	if err != nil {
		f.Close()
		return nil, nil, named(err, path)
	}
	return f, fi, nil
}

// Check is Open for a file that was opened otherwise, below an os.Root perhaps. It cannot tell of NoLink.
func Check(f *os.File, want Want) (fs.FileInfo, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !fi.Mode().IsRegular():
		return nil, refused("it is no regular file")
	case want&Mine != 0 && int(st.Uid) != os.Geteuid():
		return nil, refused("it belongs to another user")
	case want&Private != 0 && fi.Mode().Perm()&0o077 != 0:
		return nil, refused("it is open to others than its owner")
	case want&NoWriter != 0 && fi.Mode().Perm()&0o022 != 0:
		return nil, refused("others than its owner may write it")
	case want&OneName != 0 && st.Nlink != 1:
		return nil, refused("it has a second name")
	}
	return fi, nil
}

// Read returns what a file of at most most bytes holds.
func Read(path string, most int64, want Want) ([]byte, error) {
	f, _, err := Open(path, os.O_RDONLY, want)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := All(f, most)
	return b, named(err, path)
}

// named is an error of this package with the path, as those of os have it.
func named(err error, path string) error {
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrLarge) {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return err
}

// All reads to the end, of at most most bytes. With ErrLarge it returns these and one more, however much there is.
func All(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = ErrLarge
	}
	return b, err
}
