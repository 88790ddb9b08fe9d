package hookclient

import (
	"os"
	"syscall"
)

// onHangup calls gone, from a goroutine of its own, once the other side of fd has closed. An
// epoll set that asks for no event still reports errors and hang-ups, and nothing else: not
// the keys typed into a terminal, not room in a pipe. It returns nil if fd is of a kind that
// cannot hang up; else stop ends the goroutine and returns when it has ended.
func onHangup(fd int, gone func()) (stop func()) {
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	if err := syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Fd: int32(fd)}); err != nil {
		syscall.Close(set)
		return nil
	}
	// Closing the write end of this pipe wakes the goroutine.
	wake, end, err := os.Pipe()
	if err != nil {
		syscall.Close(set)
		return nil
	}
	var wakeFD int
	if raw, err := wake.SyscallConn(); err == nil {
		raw.Control(func(p uintptr) { //nolint:errcheck // then EpollCtl fails
			wakeFD = int(p)
			err = syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, wakeFD, &syscall.EpollEvent{Fd: int32(wakeFD)})
		})
		if err != nil {
			wake.Close()
			end.Close()
			syscall.Close(set)
			return nil
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var events [2]syscall.EpollEvent
		for {
			n, err := syscall.EpollWait(set, events[:], -1)
			if err == syscall.EINTR {
				continue
			}
			for _, e := range events[:max(n, 0)] {
				if int(e.Fd) == fd {
					gone()
				}
			}
			return
		}
	}()
	return func() {
		end.Close()
		<-ended
		wake.Close()
		syscall.Close(set)
	}
}
