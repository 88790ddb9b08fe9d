//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// streams are the descriptors 0, 1 and 2 of a command. A pipe and /dev/null are handed on as they are.
// A socket, a terminal, a file and everything else could be used for more than to read or to write: to
// type into a terminal, to cut a log. So the command gets a pipe instead, and the bytes are carried.
type streams struct {
	child  [3]uintptr
	opened []int // the command's ends, to be closed here when it has started
	carry  []func()
	output sync.WaitGroup
	over   [2]int // a pipe that is closed when nobody is left who writes; -1 without carried output
	flags  [3]int // of what is handed on, which others have as well; -1: not handed on
}

type nature int

const (
	harmless nature = iota // a pipe, /dev/null
	file                   // a regular file
	terminal
	foreign
)

func natureOf(fd int) (nature, unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return foreign, st, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return harmless, st, nil
	case unix.S_IFREG:
		return file, st, nil
	case unix.S_IFCHR:
		if st.Rdev == unix.Mkdev(1, 3) {
			return harmless, st, nil
		}
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return terminal, st, nil
		}
	}
	return foreign, st, nil
}

// newStreams looks at what this program was given.
func newStreams() (*streams, error) {
	s := &streams{over: [2]int{-1, -1}, flags: [3]int{-1, -1, -1}}
	if err := s.input(); err != nil {
		return nil, err
	}
	var first unix.Stat_t
	carried := -1 // the pipe of descriptor 1
	for fd := 1; fd <= 2; fd++ {
		n, st, err := natureOf(fd)
		if err != nil {
			return nil, Refusal("standard output: " + err.Error())
		}
		if n == harmless {
			s.child[fd] = uintptr(fd)
			s.remember(fd)
			continue
		}
		// What goes to one place keeps its order.
		if fd == 2 && carried >= 0 && st.Dev == first.Dev && st.Ino == first.Ino {
			s.child[fd] = uintptr(carried)
			continue
		}
		if s.over[0] < 0 {
			if s.over[0], s.over[1], err = pipe(); err != nil {
				return nil, err
			}
		}
		r, w, err := pipe()
		if err == nil {
			err = unix.SetNonblock(r, true)
		}
		if err != nil {
			return nil, err
		}
		first, carried = st, w
		s.child[fd] = uintptr(w)
		s.opened = append(s.opened, w)
		s.output.Add(1)
		s.carry = append(s.carry, func() {
			defer s.output.Done()
			carry(fd, r, s.over[0])
			unix.Close(r) // whoever still writes is told, as by a pipe that nobody reads
		})
	}
	return s, nil
}

// input: a terminal is not read at all. It belongs to the person at it.
func (s *streams) input() error {
	n, st, err := natureOf(0)
	if err != nil {
		return Refusal("standard input: " + err.Error())
	}
	if n == harmless {
		s.remember(0)
		return nil
	}
	if n == file {
		if flags, err := unix.FcntlInt(0, unix.F_GETFL, 0); err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY && flags&unix.O_PATH == 0 {
			s.remember(0)
			return nil
		}
	}
	if n == terminal || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return Refusal("/dev/null: " + err.Error())
		}
		s.child[0] = uintptr(null)
		s.opened = append(s.opened, null)
		return nil
	}
	r, w, err := pipe()
	if err != nil {
		return err
	}
	s.child[0] = uintptr(r)
	s.opened = append(s.opened, r)
	s.carry = append(s.carry, func() {
		carry(w, 0, -1)
		unix.Close(w)
	})
	return nil
}

// remember keeps whether a descriptor blocks, which is one flag for all who have it.
func (s *streams) remember(fd int) {
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
		s.flags[fd] = flags
	}
}

// restore sets those flags again.
func (s *streams) restore() {
	for fd, flags := range s.flags {
		if now, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags >= 0 && err == nil && now != flags {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags) // nothing to be done
		}
	}
}

func pipe() (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, Refusal("a pipe: " + err.Error())
	}
	return p[0], p[1], nil
}

// started lets the bytes flow. The command has its ends.
func (s *streams) started() {
	for _, fd := range s.opened {
		unix.Close(fd)
	}
	for _, c := range s.carry {
		go c()
	}
}

// finish waits until all is carried. The processes are dead; but a descriptor that one of them sent through a pair of
// sockets and nobody took lives on until the kernel finds it, so that the end of a pipe may never come.
func (s *streams) finish() {
	if s.over[1] >= 0 {
		unix.Close(s.over[1])
	}
	s.output.Wait()
}

// carry copies until one of the ends is closed, or until nothing is there and over is closed, which may be -1. Either
// end may be set not to block.
func carry(to, from, over int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(from, buf)
		if err != nil {
			if again(from, over, unix.POLLIN, err) {
				continue
			}
			return
		}
		if n == 0 {
			return
		}
		for rest := buf[:n]; len(rest) > 0; {
			m, err := unix.Write(to, rest)
			if err != nil && !again(to, -1, unix.POLLOUT, err) {
				return
			}
			rest = rest[max(m, 0):]
		}
	}
}

// again waits where a descriptor would block, and says whether to go on: not if another one, over, is closed
// and there is nothing.
func again(fd, over int, events int16, err error) bool {
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		p := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(over)}} // of -1 poll takes no notice
		_, err := unix.Poll(p, -1)
		if err != nil {
			return errors.Is(err, unix.EINTR)
		}
		return p[0].Revents&unix.POLLNVAL == 0 && (p[0].Revents != 0 || p[1].Revents == 0)
	}
	return false
}
