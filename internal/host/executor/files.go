package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"assent/internal/host/process"
	"assent/internal/host/regular"
)

// errDamaged says that what a session's directory holds cannot be believed. Nothing more may happen to the session.
var errDamaged = errors.New("the session cannot be gone on with; move its directory away")

// openRegular opens a session's file, which has to be a regular one of this user's, and to be written to without
// another name: a link that somebody put there leads to another file, and a pipe never ends. It never waits.
func openRegular(path string, flags int) (*os.File, error) {
	want := regular.NoLink | regular.Mine
	if flags&os.O_RDWR != 0 {
		want |= regular.OneName
	}
	f, _, err := regular.Open(path, flags, want)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		err = fmt.Errorf("%s is no file: %w", path, errDamaged)
	case errors.Is(err, regular.ErrRefused):
		err = fmt.Errorf("%s is not a file of this user's, and of nothing else: %w", path, errDamaged)
	}
	return f, err
}

// makeFile makes an empty file in the place of whatever stands there, which it leaves as it is.
func makeFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

// readFile reads a session's file of at most most bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := regular.All(f, most)
	if errors.Is(err, regular.ErrLarge) {
		err = fmt.Errorf("%s is larger than is read: %w", path, errDamaged)
	}
	return text, err
}

// replaced says what of a session's files is not any more what the session works with. The agent can do that: it would
// write where nobody reads, or not read what it is told.
func (s *session) replaced() error {
	if err := s.journal.intact(); err != nil {
		return err
	}
	for _, f := range []*os.File{s.in, s.out} {
		there, err := os.Lstat(f.Name())
		ours, err2 := f.Stat()
		switch {
		case err != nil || err2 != nil || !os.SameFile(there, ours):
			return fmt.Errorf("%s was removed or replaced by another program", f.Name())
		case f == s.out && (s.lines.Cut() || ours.Size() < s.lines.End()):
			return fmt.Errorf("%s was cut off by another program", f.Name())
		}
	}
	return nil
}

// strange says why the process that the journal names is not the agent, whose output is read here and who reads what is
// written here; empty where it is, or is gone. What an agent wrote into the journal itself is not believed that way.
func (s *session) strange() string {
	fds := "/proc/" + strconv.Itoa(s.process.PID) + "/fd/"
	ours := marked(s.process.PID, []byte(mark+"="+s.meta.Session))
	for fd, f := range map[string]*os.File{"0": s.in, "1": s.out} {
		there, err := os.Stat(fds + fd)
		mine, err2 := f.Stat()
		ours = ours && err == nil && err2 == nil && os.SameFile(there, mine)
	}
	if ours || process.Look(s.process.PID, s.process.ID) != process.Runs {
		return ""
	}
	return fmt.Sprintf("process %d is not the session's agent, or works with other files than the session's", s.process.PID)
}
