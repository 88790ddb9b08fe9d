//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package hookclient

import "syscall"

// onHangup calls gone, from a goroutine of its own, once the other side of fd has closed: that
// is what EV_EOF on the write side means. It returns nil if fd is of a kind that cannot hang
// up; else stop ends the goroutine and returns when it has ended.
func onHangup(fd int, gone func()) (stop func()) {
	queue, err := syscall.Kqueue()
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(queue)
	wake := []int{-1, -1} // closing the write end wakes the goroutine
	if syscall.Pipe(wake) != nil {
		closeAll(queue)
		return nil
	}
	syscall.CloseOnExec(wake[0])
	syscall.CloseOnExec(wake[1])
	changes := make([]syscall.Kevent_t, 2)
	// EV_CLEAR: reported once that there is space, which we do not want to know, and then again
	// when the other side closes.
	syscall.SetKevent(&changes[0], fd, syscall.EVFILT_WRITE, syscall.EV_ADD|syscall.EV_CLEAR)
	syscall.SetKevent(&changes[1], wake[0], syscall.EVFILT_READ, syscall.EV_ADD)
	if _, err := syscall.Kevent(queue, changes, nil, nil); err != nil {
		closeAll(queue, wake[0], wake[1])
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		events := make([]syscall.Kevent_t, 2)
		for {
			n, err := syscall.Kevent(queue, nil, events, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return
			}
			for _, e := range events[:n] {
				switch {
				case e.Filter == syscall.EVFILT_READ:
					return
				case e.Flags&syscall.EV_EOF != 0:
					gone()
					return
				}
			}
		}
	}()
	return func() {
		closeAll(wake[1])
		<-ended
		closeAll(queue, wake[0])
	}
}
