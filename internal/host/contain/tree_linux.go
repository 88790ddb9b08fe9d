//go:build linux && (amd64 || arm64)

package contain

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"assent/internal/policy/secrets"
)

// Bounds of a look for secrets. A project that has more is read by nobody who is contained.
const (
	maxEntries = 400_000
	maxDepth   = 256
	maxLook    = 2 * time.Second
)

// tree looks through a directory for secrets, and makes rules for everything else in it. Landlock knows
// no exceptions, so what has a secret somewhere below gets rules for each of its other entries.
//
// Every directory is opened from the one above it and through no link. A name that a rule is made for
// later is opened again; if another directory has the name by then, it gets no rule.
type tree struct {
	rules   *rules
	top     int // the depth of the directory that is looked through
	entries int
	until   time.Time
	buf     []byte
	linked  map[uint64]bool // files that are a secret under another name
	found   map[uint64]bool // secrets with several names; linked of a second look
	secrets map[uint64]bool // all files and directories of secrets that came by
	logs    bool            // what is looked at are logs of a repository
	hidden  hidden
}

// entry is what a directory lists.
type entry struct {
	name string
	dir  bool
	file bool
	link bool
	open bool // a pipe or a device: to open it does something
	ino  uint64

	unsure bool // the file system does not say what it is
}

// dirent takes the first entry off what the kernel gave, which is well formed.
func dirent(b []byte) (entry, []byte) {
	d := (*unix.Dirent)(unsafe.Pointer(&b[0]))
	n := min(max(int(d.Reclen), int(unsafe.Offsetof(d.Name))), len(b))
	name := b[unsafe.Offsetof(d.Name):n]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return entry{name: string(name), dir: d.Type == unix.DT_DIR, file: d.Type == unix.DT_REG, link: d.Type == unix.DT_LNK,
		open: d.Type == unix.DT_FIFO || d.Type == unix.DT_CHR || d.Type == unix.DT_BLK, ino: d.Ino, unsure: d.Type == unix.DT_UNKNOWN}, b[n:]
}

func (e *entry) ask(fd int) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return // it is gone
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.dir = true
	case unix.S_IFREG:
		e.file = true
	case unix.S_IFLNK:
		e.link = true
	case unix.S_IFIFO, unix.S_IFCHR, unix.S_IFBLK:
		e.open = true
	}
}

// allow makes rules so that everything below a directory can be read but for secrets, and reports
// whether there is none.
func (t *tree) allow(dir string) error {
	fd, err := resolved(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return Refusal(oneLine(dir) + ": " + err.Error())
	}
	defer unix.Close(fd)
	for p := range strings.SplitSeq(dir, "/") {
		if secrets.Directory(p) {
			return Refusal("the name " + oneLine(p) + " in " + oneLine(dir) + " is one of a directory of secrets")
		}
	}
	at := secrets.Top(dir)
	// Names tell no secret: each of them can be listed.
	if err := t.rules.add(fd, readDir); err != nil {
		return err
	}
	t.top = at.Depth()
	clean, err := t.look(fd, at)
	if err == nil && clean {
		err = t.rules.add(fd, readFile|readDir|execute)
	}
	return err
}

// resolved opens a path without links in it. One that has got a link meanwhile is another one.
func resolved(name string, flags uint64) (fd int, err error) {
	how := &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		if fd, err = unix.Openat2(unix.AT_FDCWD, name, how); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// look reports whether a directory holds no secret. If it does, what else is there has its rules
// afterwards; if not, the caller makes one for all of it.
func (t *tree) look(fd int, at secrets.Place) (clean bool, err error) {
	if at.Depth() > maxDepth+t.top {
		return false, Refusal("directories lie deeper than " + strconv.Itoa(maxDepth))
	}
	all, err := t.names(fd)
	if err != nil {
		return false, err
	}
	clean = true
	repository := isRepository(all)
	good := all[:0]
	for _, e := range all {
		if e.name == "owner.token" { // assent's own state
			return false, nil
		}
		switch {
		case e.link:
			if at.Secret(e.name, true) {
				t.follow(fd, e)
			}
		case at.Secret(e.name, e.file), e.file && t.tells(fd, e.name, repository, t.logs):
			clean = false
			t.hidden.add(e)
			if err := t.secret(fd, e, at.Depth()); err != nil {
				return false, err
			}
		case e.open, t.linked[e.ino]:
			clean = false
			t.hidden.add(e)
		case e.dir:
			logs := t.logs
			t.logs = logs || repository && e.name == "logs"
			ok, err := t.child(fd, &e, at.Below(e.name))
			t.logs = logs
			if err != nil {
				return false, err
			}
			if clean = clean && ok; ok {
				good = append(good, e)
			}
		case e.file:
			good = append(good, e)
		}
	}
	if clean {
		return true, nil
	}
	for _, e := range good {
		if err := t.one(fd, e); err != nil {
			return false, err
		}
	}
	return false, nil
}

// child looks into one directory. One that cannot be read cannot be shown either.
func (t *tree) child(fd int, e *entry, at secrets.Place) (bool, error) {
	sub, err := unix.Openat(fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return false, nil
	case err != nil:
		return false, Refusal(oneLine(e.name) + ": " + err.Error())
	}
	defer unix.Close(sub)
	var st unix.Stat_t
	if err := unix.Fstat(sub, &st); err != nil {
		return false, nil
	}
	e.ino = st.Ino // where another file system begins, the list has another number
	return t.look(sub, at)
}

// secret remembers files that hold a secret and have another name, which may be a harmless one.
func (t *tree) secret(fd int, e entry, depth int) error {
	if e.link {
		t.follow(fd, e)
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		t.found[e.ino] = true // it is gone, perhaps to a harmless name: so look again
		return nil
	}
	t.secrets[st.Ino] = true
	if !e.dir {
		if st.Nlink > 1 {
			t.found[st.Ino], t.found[e.ino] = true, true // which an overlay may list under another number
		}
		return nil
	}
	sub, err := unix.Openat(fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil || depth > maxDepth+t.top {
		return nil
	}
	defer unix.Close(sub)
	all, err := t.names(sub)
	for _, e := range all {
		if err == nil {
			err = t.secret(sub, e, depth+1)
		}
	}
	return err
}

// follow remembers what a link with the name of a secret leads to, which may have a harmless name.
func (t *tree) follow(fd int, e entry) {
	var st unix.Stat_t
	if unix.Fstatat(fd, e.name, &st, 0) == nil {
		t.found[st.Ino], t.secrets[st.Ino] = true, true
	}
}

// one makes the rule for an entry that was found to hold no secret.
func (t *tree) one(fd int, e entry) error {
	sub, err := unix.Openat(fd, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // it is gone
	}
	defer unix.Close(sub)
	var st unix.Stat_t
	if err := unix.Fstat(sub, &st); err != nil || st.Ino != e.ino && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil
	}
	if t.secrets[st.Ino] { // it has come to this name since the directory was listed
		t.found[st.Ino] = true
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if !e.dir {
			return nil
		}
		return t.rules.add(sub, readFile|readDir|execute)
	case unix.S_IFREG:
		return t.rules.add(sub, readFile|execute)
	}
	return nil
}

// names reads the names of a directory. Links lead to what has its own rule or none. Sockets are left
// out, as none can be opened.
func (t *tree) names(fd int) ([]entry, error) {
	var all []entry
	for {
		n, err := unix.ReadDirent(fd, t.buf)
		if err != nil {
			return nil, Refusal("a directory of the project cannot be read: " + err.Error())
		}
		if n <= 0 {
			return all, nil
		}
		for b := t.buf[:n]; len(b) > 0; {
			e, rest := dirent(b)
			b = rest
			if e.name == "." || e.name == ".." || e.name == "" {
				continue
			}
			if t.entries++; t.entries > maxEntries {
				return nil, Refusal("the project has more than " + strconv.Itoa(maxEntries) + " files to look through for secrets")
			}
			if e.unsure {
				e.ask(fd)
			}
			if e.dir || e.file || e.link || e.open {
				all = append(all, e)
			}
		}
		if time.Now().After(t.until) {
			return nil, Refusal("looking through the project for secrets took longer than " + maxLook.String())
		}
	}
}
