package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/host/regular"
	"assent/internal/policy"
)

// maxFile and maxRepoFile are how large a file of rules may be, in bytes.
const (
	maxFile     = 1 << 20
	maxRepoFile = 256 << 10
)

// file is one of the files that are looked at all the time. Its fields are guarded by
// Book.loading.
type file struct {
	path  string
	layer policy.Layer
	root  bool // must belong to root
	named bool // must be there

	// signature is where a signature of it may stand; empty: nowhere.
	signature string

	seen seen // what stood there when it was last read
	// good is what is in force of it; nil: nothing.
	good       []byte
	goodSigned *hook.RulesSignature // who signed that
	goodPath   string               // where that stands, if that is not path
	loadedAt   time.Time
}

// seen is what stands at the path of a file, and at that of its signature.
type seen struct{ file, signature stamp }

// look says what stands there now.
func (f *file) look() seen {
	s := seen{file: look(f.path)}
	if f.signature != "" {
		s.signature = look(f.signature)
	}
	return s
}

// signedBy reads who signed data, which the file holds; nil where nobody did. The error says why a signature that is there does
// not count.
func (f *file) signedBy(data []byte) (*hook.RulesSignature, error) {
	if f.signature == "" {
		return nil, nil
	}
	text, err := (&file{path: f.signature, layer: f.layer, root: f.root}).read()
	if text == nil || err != nil {
		return nil, err
	}
	return signed.ReadRules(text, string(data))
}

// stamp tells one content of a file from another, without reading it.
type stamp struct {
	there    bool
	mode     fs.FileMode
	size     int64
	modified time.Time
	inode    uint64
	uid      uint32
	dir      dirStamp
}

// dirStamp is who may write to a file's directory.
type dirStamp struct {
	mode fs.FileMode
	uid  uint32
}

func stampOf(fi fs.FileInfo) stamp {
	s := stamp{there: true, mode: fi.Mode(), size: fi.Size(), modified: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode, s.uid = st.Ino, st.Uid
	}
	return s
}

// look returns the stamp of what stands at a path now.
func look(path string) stamp {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return stamp{}
	}
	fi, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	s := stampOf(fi)
	if fi, err := os.Stat(filepath.Dir(path)); err == nil {
		dir := stampOf(fi)
		s.dir = dirStamp{dir.mode, dir.uid}
	}
	return s
}

// read returns the content of the file, or why it cannot be trusted. Nil without an error: it is
// not there.
func (f *file) read() ([]byte, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if f.named {
			return nil, errors.New("there is no such file")
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := f.trustsWay(f.path); err != nil {
		return nil, err
	}
	if err := f.trusted(filepath.Dir(path), true); err != nil {
		return nil, err
	}
	in, fi, err := regular.Open(path, os.O_RDONLY, regular.NoLink)
	if errors.Is(err, regular.ErrRefused) {
		return nil, errors.Unwrap(err) // without the path, which who is told knows
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := f.trusts(path, fi, false); err != nil {
		return nil, err
	}
	return whole(in, maxFile)
}

// trustsWay looks at the links on the way to a path: who can turn one chooses which file counts,
// of those that may be trusted. A link counts like the file: its owner, and who may write to its
// directory.
func (f *file) trustsWay(to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	const maxLinks = 40
	links, at := 0, "/"
	rest := strings.Split(to, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		fi, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return errors.New("too many links lead to it")
		}
		if err := f.trusted(at, true); err != nil {
			return fmt.Errorf("the link %s on the way to it: %w", next, err)
		}
		if err := f.owns("the link "+next, next, fi); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

func (f *file) trusted(path string, dir bool) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	return f.trusts(path, fi, dir)
}

// trusts says why somebody else could have written here. A directory matters because its writers
// can put another file in place of ours.
func (f *file) trusts(path string, fi fs.FileInfo, dir bool) error {
	what := "it"
	if dir {
		what = "its directory " + path
	} else if !fi.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if err := f.owns(what, path, fi); err != nil {
		return err
	}
	if fi.Mode().Perm()&0o022 != 0 && (!dir || fi.Mode()&os.ModeSticky == 0) {
		return fmt.Errorf("others may write to %s, and so write any rule; run: chmod go-w %s", what, path)
	}
	return nil
}

// whole reads an open file that nobody writes to meanwhile.
func whole(in *os.File, most int64) ([]byte, error) {
	before, err := regular.Check(in, 0)
	if err != nil {
		return nil, err
	}
	b, err := regular.All(in, most)
	if errors.Is(err, regular.ErrLarge) {
		return nil, fmt.Errorf("it is larger than %d bytes", most)
	}
	if err != nil {
		return nil, err
	}
	after, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if stampOf(before) != stampOf(after) {
		return nil, errors.New("it is being written")
	}
	return b, nil
}

// owns says why what belongs to somebody else.
func (f *file) owns(what, path string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	chown := "chown"
	if fi.Mode()&fs.ModeSymlink != 0 {
		chown = "chown -h"
	}
	switch {
	case !ok || st.Uid == 0:
	case f.root:
		return fmt.Errorf("%s must belong to root and belongs to uid %d; run: %s root %s", what, st.Uid, chown, path)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user (uid %d), who could write any rule; run: %s %d %s", what, st.Uid, chown, os.Geteuid(), path)
	}
	return nil
}

func (f *file) problem(err error) hook.RuleProblem {
	return hook.RuleProblem{File: f.path, Message: clip(policy.WithoutPath(err).Error())}
}
