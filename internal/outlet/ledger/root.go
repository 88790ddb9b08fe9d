package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"assent/internal/host/gitrepo"
)

// maxRoot is the longest root that is looked at, in bytes.
const maxRoot = 4 << 10

// checkRoot refuses a root that is not, on this machine and by its real name, the top of a git
// work tree. A hook says what the root is, and nobody has to believe it.
func checkRoot(root string) error {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root || len(root) > maxRoot {
		return fmt.Errorf("%w: %.200q is not the absolute path of a directory", ErrGone, root)
	}
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	if real != root {
		return fmt.Errorf("%w: the work tree is really %s", ErrElsewhere, real)
	}
	// Its owner could put anything in our way, between a look and a write too.
	if top, err := os.Lstat(root); err != nil {
		return err
	} else if err := owned("the work tree", top); err != nil {
		return err
	}
	git, err := os.Lstat(filepath.Join(root, ".git"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	if git.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%w: .git is one", ErrElsewhere)
	}
	return nil
}

// untracked refuses a ledger that git tracks: git commit -a would commit what is added to it.
func untracked(root string) error {
	if gitrepo.CommonDir(root) == "" {
		return ErrGone
	}
	tracked, err := gitrepo.Tracked(root, dirName)
	if err != nil {
		return fmt.Errorf("look whether git tracks %s: %w; see git status", dirName, err)
	}
	if tracked {
		return fmt.Errorf("git tracks %s, which came with the repository or was added to it, and would commit what is written there; take it out of git: git rm -r --cached %s", dirName, dirName)
	}
	return nil
}

// makeFile makes the directory and the empty file, or sees that those that are there are our own
// and no links.
func makeFile(root string) (fs.FileInfo, error) {
	r, err := os.OpenRoot(root) // what is done in it stays in it
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.Mkdir(dirName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	dir, err := r.Lstat(dirName)
	if err != nil {
		return nil, err
	}
	if err := ours(dirName, dir, fs.ModeDir); err != nil {
		return nil, err
	}
	if err := ignore(r); err != nil {
		return nil, err
	}
	name := filepath.Join(dirName, fileName)
	f, err := r.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	file, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := ours(name, file, 0); err != nil {
		return nil, err
	}
	for _, suffix := range besides {
		fi, err := r.Lstat(name + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = ours(name+suffix, fi, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return file, nil
}

// besides are the ends of the names of files that SQLite looks for beside a file, and reads and
// writes without a question: from a FIFO it would read for ever, and write into whatever has a
// second name there.
var besides = []string{"-journal", "-wal", "-shm"}

// ignore makes a .gitignore in the directory. A repository's own may say that the ledger is to be
// committed, and counts more than info/exclude; the one beside the ledger counts most.
func ignore(r *os.Root) error {
	const all = "*\n"
	name := filepath.Join(dirName, ".gitignore")
	fi, err := r.Lstat(name)
	if err == nil {
		err = ours(name, fi, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() == 0:
		return r.WriteFile(name, []byte(all), 0o600)
	case err != nil:
		return err
	}
	if fi.Size() == int64(len(all)) {
		if have, err := r.ReadFile(name); err != nil || string(have) == all {
			return err
		}
	}
	return fmt.Errorf("%s is not the one that assent makes, and git could commit the ledger; remove it", name)
}

// ours refuses what is not of the type want, or belongs to somebody else: they could read what is
// written there.
func ours(name string, fi fs.FileInfo, want fs.FileMode) error {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%w: %s is one", ErrElsewhere, name)
	case fi.Mode().Type() != want:
		return fmt.Errorf("%s is not what it should be, but %s; move it away", name, fi.Mode())
	}
	if err := owned(name, fi); err != nil {
		return err
	}
	// What came with a repository git makes readable for others, unless the umask says otherwise.
	if fi.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (%s), or came with the repository; remove it, or chmod go= if it is yours", name, fi.Mode())
	}
	if n := links(fi); want == 0 && n != 1 {
		return fmt.Errorf("%w: %s has %d names", ErrElsewhere, name, n)
	}
	return nil
}

// links is how many names a file has, 1 where that cannot be seen.
func links(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// owned refuses what belongs to another user.
func owned(name string, fi fs.FileInfo) error {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d); run assent ledger consume as that user", name, st.Uid)
	}
	return nil
}
