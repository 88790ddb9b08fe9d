package notify

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// How often the file of notices is looked at, and how long one must be the same before it is read:
// an editor may write it piece by piece.
const (
	lookEvery = 2 * time.Second
	settle    = 300 * time.Millisecond
)

// noticesStamp is what stands at a path, as far as one can tell without reading it.
type noticesStamp struct {
	size     int64
	modified time.Time
	mode     fs.FileMode
	inode    uint64
	uid      uint32
}

// stampOf returns that of path; zero if there is nothing.
func stampOf(path string) (s noticesStamp) {
	fi, err := os.Stat(path)
	if err != nil {
		return s
	}
	s = noticesStamp{size: fi.Size(), modified: fi.ModTime(), mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode, s.uid = st.Ino, st.Uid
	}
	return s
}

// watchNotices reads the file of notices again whenever it has changed, until ctx is done.
func (p *Push) watchNotices(ctx context.Context) {
	path := p.cfg.NoticesFile
	read, before := p.readNotices(), noticesStamp{}
	for {
		wait := lookEvery
		switch now := stampOf(path); {
		case now == read:
		case now == before:
			read = p.readNotices()
		default:
			before, wait = now, settle
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// readNotices takes in the file of notices, and returns what stood there just before. One that
// cannot be used leaves things as they are, and is logged once.
func (p *Push) readNotices() noticesStamp {
	stamp := stampOf(p.cfg.NoticesFile)
	list, err := ReadNotices(p.cfg.NoticesFile)
	problem := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && !p.cfg.NoticesWanted:
	case err != nil:
		problem = err.Error()
	}
	p.mu.Lock()
	news := problem != p.problem
	p.problem = problem
	if problem == "" {
		p.notices = list
	}
	before := len(p.notices)
	p.mu.Unlock()
	switch {
	case !news:
	case problem == "":
		p.cfg.Logf("the file of notices is in order again")
	case before > 0:
		p.cfg.Logf("notices stay as they were: %s", problem)
	default:
		p.cfg.Logf("nobody is told by notices: %s", problem)
	}
	p.wake()
	return stamp
}
