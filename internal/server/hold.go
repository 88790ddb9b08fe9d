package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"assent/internal/auth"
	"assent/internal/intake"
)

// hold takes the connection out of net/http's hands for the time of the wait, and reports
// whether it could (HTTP/2 cannot). net/http keeps some 20 KB of buffers, request and stack for a
// handler that blocks; one small goroutine needs a fraction.
func (s *Server) hold(w http.ResponseWriter, pending *intake.Pending, size int64, p auth.Principal) bool {
	if !s.open(&s.held) {
		return false
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.held.Done()
		return false
	}
	h := &heldHook{s: s, conn: conn, pending: pending, size: size}
	if header := w.Header(); len(header) > 0 {
		h.header = header
	}
	h.unrevoke = p.OnRevoke(func() { conn.Close() })
	// Who has a credential may lose it, which closes the connection: a read sees that, a poll does not.
	if p.Approver.Kind != "" || !s.hangups.watch(h) {
		go h.watch()
	}
	pending.Notify(func() { go h.finish(context.Background()) })
	return true
}

// heldHook is a connection whose hook waits. That the other side goes away hangups sees, or a goroutine of its
// own; the answer brings one for as long as it takes to write it.
type heldHook struct {
	s        *Server
	conn     net.Conn
	header   http.Header // what the checks before us have set; nil: nothing
	pending  *intake.Pending
	size     int64 // of the payload
	unrevoke func() bool

	// Set by hangups.watch, before anybody else has h.
	key uint64 // 0: a goroutine reads the connection
	raw syscall.RawConn

	mu   sync.Mutex
	over bool    // guarded by mu
	b    [1]byte // owned by watch
}

// watch ends when the connection has closed and finish has done its work. What the other side
// still sends is ignored: it has no answer yet that it could react to.
func (h *heldHook) watch() {
	defer h.s.held.Done()
	for {
		if _, err := h.conn.Read(h.b[:]); err != nil {
			break
		}
	}
	h.leave()
}

// leave ends the wait of a hook that has gone.
func (h *heldHook) leave() {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	h.finish(gone)
}

// finish ends the wait, once: with the broker's answer, or, when ctx is done, without.
func (h *heldHook) finish(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	s := h.s
	if h.key != 0 {
		defer s.held.Done()
		defer s.hangups.forget(h.key)
	}
	defer s.release(h.pending, h.size)
	defer h.conn.Close()
	defer h.unrevoke()
	defer s.caught("/v1/hooks")
	if a := s.await(ctx, h.pending); !a.silent {
		s.written(h.pending, a, writeHeld(h.conn, h.header, a, s.writeWait))
	}
}

// writeHeld writes the answer as the last one on its connection.
func writeHeld(conn net.Conn, header http.Header, a answer, timeout time.Duration) error {
	if header == nil {
		header = http.Header{}
	}
	a.setHeader(header)
	res := http.Response{
		StatusCode: a.status(), ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
	}
	var b bytes.Buffer
	if err := res.Write(&b); err != nil {
		return fmt.Errorf("compose the answer: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := conn.Write(b.Bytes())
	return err
}

// caught is deferred where a panic would end the process.
func (s *Server) caught(path string) {
	if v := recover(); v != nil {
		s.logPanic(path, v)
	}
}

// logPanic logs the type of the value only: the value could quote a payload.
func (s *Server) logPanic(path string, v any) {
	s.log.Error("panic while answering", zap.String("type", fmt.Sprintf("%T", v)), zap.String("path", line(path)), zap.ByteString("stack", debug.Stack()))
}
