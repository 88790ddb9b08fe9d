package hookclient

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assent/internal/hook"
)

const (
	// SpoolLimit is how many bytes all spool files together may have; to make room the oldest
	// events are dropped, and counted.
	SpoolLimit = 64 << 20
	// spoolFiles is how many sessions may have one.
	spoolFiles = 1024
	// lockTimeout bounds the wait for another process that holds the lock, which nobody
	// holds while waiting for anything but the disk.
	lockTimeout = 300 * time.Millisecond

	lockFile  = ".lock"  // taken for every change of a file but the marking of frames
	drainFile = ".drain" // the lock of a process that drains
	lostFile  = ".lost"  // two counters, see Lost
	newFile   = ".new"   // a file that is being shortened
)

var errLocked = errors.New("another process holds the spool's lock")

// spool is a directory with a file for each session that has events waiting. Files of its own
// begin with a dot.
type spool struct{ dir string }

// fileName is the name of a session's file.
func fileName(session string) string {
	if hook.PlainToken(session) {
		return session
	}
	return "_" // no session, or no name for a file: they share one
}

// empty reports whether nothing waits.
func (s *spool) empty() bool { return len(s.files()) == 0 }

// appendTo adds r to the session's file. Unless create is set it does so only if the file
// exists, and reports whether it did.
func (s *spool) appendTo(session string, r *SpoolRecord, create bool) (queued bool, err error) {
	if s.dir == "" {
		return false, nil
	}
	name := path.Join(s.dir, fileName(session))
	if !create && !exists(name) {
		return false, nil
	}
	if create {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return false, err
		}
	}
	unlock, err := s.lock(lockFile, lockTimeout)
	if err != nil {
		return false, err
	}
	defer unlock()
	if !create && !exists(name) {
		return false, nil // drained meanwhile
	}
	b := r.encode()
	s.makeRoomLocked(name, int64(len(b)))
	f, err := openFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false, err
	}
	if _, err := f.Write(b); err != nil {
		_ = f.Truncate(fi.Size()) // what stays is passed by as torn
		return false, err
	}
	return true, nil
}

func exists(name string) bool {
	fi, err := os.Lstat(name)
	return err == nil && fi.Mode().IsRegular()
}

// lock takes one of the lock files. They are never removed, so that everybody locks the same.
func (s *spool) lock(name string, timeout time.Duration) (unlock func(), err error) {
	f, err := openFile(path.Join(s.dir, name), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(end) {
			f.Close()
			return nil, errLocked
		}
	}
}

// files returns the paths of the sessions' files, by name.
func (s *spool) files() []string {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(s.dir, e.Name()))
		}
	}
	return names
}

// makeRoomLocked drops the oldest events until need more bytes fit, and the oldest file if
// name would be one too many.
func (s *spool) makeRoomLocked(name string, need int64) {
	files := s.files()
	size := need
	for _, f := range files {
		if fi, err := os.Lstat(f); err == nil {
			size += fi.Size()
		}
	}
	dropped, torn := 0, 0
	for len(files) > 0 && (size > SpoolLimit || len(files) >= spoolFiles && !exists(name)) {
		oldest := oldestFile(files)
		want := int64(SpoolLimit / 8) // not again for every event that comes
		if len(files) >= spoolFiles {
			want = SpoolLimit
		}
		freed, d, t, err := s.shortenLocked(files[oldest], want)
		if err != nil || freed == 0 {
			files = append(files[:oldest], files[oldest+1:]...)
			continue
		}
		size -= freed
		dropped, torn = dropped+d, torn+t
		if !exists(files[oldest]) {
			files = append(files[:oldest], files[oldest+1:]...)
		}
	}
	s.countLocked(dropped, torn)
}

// openFile opens a file of the spool, or of its counters. Anything else in its place, such as a pipe or a link, is not waited for.
func openFile(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, errNoFile
	}
	return f, nil
}

var errNoFile = errors.New("what stands in the place of a file of the spool is none")

// oldestFile returns which of the files begins with the oldest event.
func oldestFile(files []string) int {
	oldest, when := 0, int64(1<<63-1)
	for i, name := range files {
		t := int64(0) // one that cannot be read goes first
		if f, err := openFile(name, os.O_RDONLY); err == nil {
			if fi, err := f.Stat(); err == nil {
				in := frames{in: f, end: fi.Size()}
				if fr, ok := in.next(); ok {
					t = fr.time
				}
			}
			f.Close()
		}
		if t < when {
			oldest, when = i, t
		}
	}
	return oldest
}

// shortenLocked takes frames of at least want bytes off the front of a file, or removes it if
// it has no more. A process that has it open goes on with the old file, see Drain.
func (s *spool) shortenLocked(name string, want int64) (freed int64, dropped, torn int, err error) {
	f, err := openFile(name, os.O_RDONLY)
	if err != nil {
		return 0, 0, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, 0, err
	}
	in := frames{in: f, end: fi.Size()}
	for in.off < want {
		fr, ok := in.next()
		if !ok {
			break
		}
		if !fr.done {
			dropped++
		}
	}
	if in.off >= in.end {
		return in.end, dropped, in.torn, os.Remove(name)
	}
	to, err := openFile(path.Join(s.dir, newFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return 0, 0, 0, err
	}
	_, err = io.Copy(to, io.NewSectionReader(f, in.off, in.end-in.off))
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(to.Name(), name)
	}
	if err != nil {
		// No room for the copy: then the whole file has to go.
		os.Remove(to.Name())
		for _, ok := in.next(); ok; _, ok = in.next() {
			dropped++
		}
		return in.end, dropped, in.torn, os.Remove(name)
	}
	return in.off, dropped, in.torn, nil
}

// countLocked adds to the counters.
func (s *spool) countLocked(dropped, torn int) {
	if dropped == 0 && torn == 0 {
		return
	}
	d, t, err := Lost(s.dir)
	if err != nil {
		d, t = 0, 0
	}
	line := strconv.Itoa(d+dropped) + " " + strconv.Itoa(t+torn) + "\n"
	f, err := openFile(path.Join(s.dir, lostFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line) // a full disk: the counters stay behind
	f.Close()
}

// Lost returns how many events of a spool directory were ever dropped because newer ones
// needed the room, and how many records could not be read back.
func Lost(dir string) (dropped, torn int, err error) {
	f, err := openFile(path.Join(dir, lostFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 64))
	f.Close()
	if err != nil {
		return 0, 0, err
	}
	d, t, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if dropped, err = strconv.Atoi(d); err != nil {
		return 0, 0, err
	}
	if torn, err = strconv.Atoi(t); err != nil {
		return 0, 0, err
	}
	return dropped, torn, nil
}
