package hookclient

import "syscall"

// onHangup calls gone, from a goroutine of its own, once the other side of fd has closed. An
// epoll set that asks for no event still reports errors and hang-ups, and nothing else: not
// the keys typed into a terminal, not room in a pipe. It returns nil if fd is of a kind that
// cannot hang up; else stop ends the goroutine and returns when it has ended.
func onHangup(fd int, gone func()) (stop func()) {
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	wake := []int{-1, -1} // closing the write end wakes the goroutine
	add := func(fd int) bool {
		return syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Fd: int32(fd)}) == nil
	}
	if !add(fd) || syscall.Pipe2(wake, syscall.O_CLOEXEC) != nil || !add(wake[0]) {
		closeAll(set, wake[0], wake[1])
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		events := make([]syscall.EpollEvent, 2)
		n, err := syscall.EpollWait(set, events, -1)
		for err == syscall.EINTR {
			n, err = syscall.EpollWait(set, events, -1)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == fd {
				gone()
			}
		}
	}()
	return func() {
		closeAll(wake[1])
		<-ended
		closeAll(set, wake[0])
	}
}
