package server

import (
	"net"
	"os"
	"sync"
	"syscall"
)

// hangups sees the other sides of hooks' connections go away, in one goroutine for all of them, which begins with the
// first: one for each would take more memory than all else of a hook that waits. It knows connections on unix sockets
// only; what goes over TLS has to be read to be understood. The zero value works. Its methods may be called from any
// goroutine, close when nothing is watched any more.
type hangups struct {
	begin sync.Once
	file  *os.File        // an epoll(7) instance, which the runtime polls in its turn; nil where the system gives none
	epoll syscall.RawConn // of file
	ended chan struct{}

	mu   sync.Mutex
	last uint64               // guarded by mu; the newest key
	held map[uint64]*heldHook // guarded by mu
}

// start makes the epoll instance, and has a goroutine look at it.
func (s *hangups) start() {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // else the runtime would not poll it
		syscall.Close(fd)
		return
	}
	file := os.NewFile(uintptr(fd), "hangups")
	epoll, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return
	}
	s.file, s.epoll, s.ended, s.held = file, epoll, make(chan struct{}), map[uint64]*heldHook{}
	go func() {
		defer close(s.ended)
		s.run()
	}()
}

// close ends the goroutine.
func (s *hangups) close() {
	s.begin.Do(func() {})
	if s.file != nil {
		s.file.Close()
		<-s.ended
	}
}

// watch has h.finish called when the other side of its connection is gone, and reports whether it can see that. h
// must call forget then, or when it has its answer.
func (s *hangups) watch(h *heldHook) bool {
	raw := rawUnix(h.conn)
	if raw == nil {
		return false
	}
	if s.begin.Do(s.start); s.file == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	h.key, h.raw = s.last, raw
	s.held[h.key] = h
	// The key is no descriptor: that may be another connection's by the time an event is looked at.
	e := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP, Fd: int32(uint32(h.key)), Pad: int32(uint32(h.key >> 32))}
	added := syscall.EBADF
	_ = s.epoll.Control(func(on uintptr) {
		_ = raw.Control(func(fd uintptr) {
			added, _ = syscall.EpollCtl(int(on), syscall.EPOLL_CTL_ADD, int(fd), &e).(syscall.Errno)
		})
	})
	if added != 0 {
		delete(s.held, h.key)
		h.key, h.raw = 0, nil
	}
	return added == 0
}

// forget is called when the connection is closed, which took it out of the set.
func (s *hangups) forget(key uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, key)
}

// drop is called when the other side is gone. The connection leaves the set before it closes: writing an answer that
// nobody reads takes until its deadline, and all that time the end of the other side would be one more event.
func (s *hangups) drop(h *heldHook) {
	s.forget(h.key)
	_ = s.epoll.Control(func(on uintptr) {
		_ = h.raw.Control(func(fd uintptr) { _ = syscall.EpollCtl(int(on), syscall.EPOLL_CTL_DEL, int(fd), nil) })
	})
}

// rawUnix is the connection beneath a connection, nil if that is not on a unix socket.
func rawUnix(c net.Conn) syscall.RawConn {
	if x, ok := c.(*slot); ok {
		c = x.NetConn()
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// run looks at what happens until the epoll instance is closed.
func (s *hangups) run() {
	events, buf := make([]syscall.EpollEvent, 64), make([]byte, 512)
	for {
		n := 0
		err := s.epoll.Read(func(fd uintptr) bool {
			var err error
			if n, err = syscall.EpollWait(int(fd), events, 0); err != nil {
				n = 0
			}
			return n > 0
		})
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			s.mu.Lock()
			h := s.held[uint64(uint32(e.Fd))|uint64(uint32(e.Pad))<<32]
			s.mu.Unlock()
			if h != nil && gone(h.raw, buf) {
				s.drop(h)
				go h.leave()
			}
		}
	}
}

// gone reads what the other side has sent, which nobody wants, and reports whether it has closed.
func gone(raw syscall.RawConn, buf []byte) (is bool) {
	err := raw.Read(func(fd uintptr) bool {
		n, err := syscall.Read(int(fd), buf)
		is = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
		return true // if there is more, there is another event
	})
	return is || err != nil
}
