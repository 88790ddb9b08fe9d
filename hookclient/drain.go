package hookclient

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"
)

// ErrDraining means that another process was draining the same spool for longer than Drain
// wanted to wait.
var ErrDraining = errors.New("another process is draining the spool")

// drainTimeout bounds the wait for another process that drains. No hook client drains for so long.
const drainTimeout = 2 * time.Second

// Drain calls fn with every waiting event for target (a socket path or a URL as ParseURL
// spells it), in the order in which they were spooled within a session, and returns how many
// fn took. An event that fn took is not handed out again, even if Drain ends early; after a
// crash, or beside a spool that is overflowing, it may be: consumers know it by its id. A
// file is removed when all events in it are taken; one with events for other targets stays.
//
// At the first error of fn Drain stops and returns it. Events that are appended meanwhile are
// handed out too. While fn runs, no lock that hook clients need is held. A missing directory
// is empty.
func Drain(dir, target string, fn func(SpoolRecord) error) (n int, err error) {
	s := spool{dir: dir}
	return s.drain(target, drainTimeout, fn)
}

// Keep writes an event to the spool directory dir, for Drain to hand out. Unless create is set it
// does so only if events of the same session wait there already, which are to come first; kept
// says whether it did.
func Keep(dir, session string, r SpoolRecord, create bool) (kept bool, err error) {
	s := spool{dir: dir}
	return s.appendTo(session, &r, create)
}

// Waiting is the size of what lies in the spool directory dir, for whichever broker.
func Waiting(dir string) (bytes int64, err error) {
	s := spool{dir: dir}
	for _, name := range s.files() {
		fi, e := os.Lstat(name)
		switch {
		case e == nil:
			bytes += fi.Size()
		case !errors.Is(e, fs.ErrNotExist): // drained meanwhile
			err = e
		}
	}
	return bytes, err
}

// drain is Drain. It waits no longer than timeout for another process that drains.
func (s *spool) drain(target string, timeout time.Duration, fn func(SpoolRecord) error) (n int, err error) {
	if s.empty() {
		return 0, nil
	}
	unlock, err := s.lock(drainFile, timeout)
	if errors.Is(err, errLocked) {
		return 0, ErrDraining
	}
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, name := range s.files() {
		k, err := s.drainFile(name, target, fn)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// drainFile drains one file. When it is exchanged under our hands (see shortenLocked) it begins
// again with the new one.
func (s *spool) drainFile(name, target string, fn func(SpoolRecord) error) (n int, err error) {
	for {
		k, exchanged, err := s.drainOpen(name, target, fn)
		n += k
		if err != nil || !exchanged {
			return n, err
		}
	}
}

func (s *spool) drainOpen(name, target string, fn func(SpoolRecord) error) (n int, exchanged bool, err error) {
	f, err := openFile(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	in := frames{in: f}
	foreign := 0
	for {
		more, exchanged, err := s.moreOrRemove(f, name, &in, foreign == 0)
		if err != nil || !more {
			return n, exchanged, err
		}
		for {
			fr, ok := in.next()
			if !ok {
				break
			}
			if fr.done {
				continue
			}
			body, ok := in.body(fr)
			if !ok {
				continue
			}
			r, err := decodeRecord(body)
			if err != nil {
				in.torn++
				continue
			}
			if r.Target != target {
				foreign++
				continue
			}
			if err := fn(r); err != nil {
				return n, false, err
			}
			n++
			if _, err := f.WriteAt([]byte{frameDone}, fr.off+4); err != nil {
				return n, false, err
			}
		}
	}
}

// moreOrRemove looks, under the lock, whether the file grew; if not, and if nothing in it is
// for others, it removes it.
func (s *spool) moreOrRemove(f *os.File, name string, in *frames, remove bool) (more, exchanged bool, err error) {
	unlock, err := s.lock(lockFile, lockTimeout)
	if err != nil {
		return false, false, err
	}
	defer unlock()
	fi, err := f.Stat()
	if err != nil {
		return false, false, err
	}
	now, err := os.Lstat(name)
	if err != nil || !os.SameFile(fi, now) {
		return false, err == nil, nil
	}
	if in.end = fi.Size(); in.off < in.end {
		return true, false, nil
	}
	if remove {
		s.countLocked(0, in.torn)
		return false, false, os.Remove(name)
	}
	return false, false, nil
}

// SpoolDir returns where hook clients with this environment spool: $XDG_STATE_HOME/assent/spool,
// by default below ~/.local/state. It is empty where neither that nor HOME is known. It does not
// follow ASSENT_STATE_DIR, so that client and broker find the same place.
func SpoolDir(env func(string) string) string {
	if d := stateHome(env); d != "" {
		return path.Join(d, "assent", "spool")
	}
	return ""
}

// stateHome is the base directory for state. Relative paths are ignored, as the XDG
// specification demands: they would lead into the agent's working directory.
func stateHome(env func(string) string) string {
	if d := env("XDG_STATE_HOME"); path.IsAbs(d) {
		return path.Clean(d)
	}
	if d := env("HOME"); path.IsAbs(d) {
		return path.Join(d, ".local", "state")
	}
	return ""
}
