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
	"time"

	"go.uber.org/zap"

	"assent/internal/auth"
	"assent/internal/hook"
)

// hold takes the connection out of net/http's hands for the time of the wait, and reports
// whether it could (HTTP/2 cannot). net/http keeps some 20 KB of buffers, request and stack for
// a handler that blocks; two small goroutines need a quarter of it.
func (s *Server) hold(w http.ResponseWriter, req *hook.Request, p auth.Principal) bool {
	if !s.open(&s.held) {
		return false
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.held.Done()
		return false
	}
	header := w.Header() // what the checks before us have set
	go func() {
		defer s.held.Done()
		defer s.waiting.Add(-1)
		defer conn.Close()
		defer s.caught("/v1/hooks")
		s.serveHeld(conn, header, req, p)
	}()
	return true
}

// serveHeld is the wait of one hook. Revoking its token ends the connection.
func (s *Server) serveHeld(conn net.Conn, header http.Header, req *hook.Request, p auth.Principal) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer p.OnRevoke(cancel)()
	var reader sync.WaitGroup
	reader.Go(func() {
		awaitClose(conn)
		cancel()
	})
	defer reader.Wait()
	defer conn.Close() // ends the reader

	a := s.await(ctx, req)
	if !a.silent {
		s.answered(req.ID, a, writeHeld(conn, header, a, s.writeWait))
	}
}

// awaitClose returns when the other side has closed. What it still sends is not looked at: it
// was told nothing yet that it could answer.
func awaitClose(conn net.Conn) {
	var b [16]byte
	for {
		if _, err := conn.Read(b[:]); err != nil {
			return
		}
	}
}

// writeHeld writes the answer as the last one on its connection.
func writeHeld(conn net.Conn, header http.Header, a answer, patience time.Duration) error {
	if a.body != nil {
		header.Set("Content-Type", a.contentType)
	}
	res := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
	var b bytes.Buffer
	if err := res.Write(&b); err != nil {
		return fmt.Errorf("compose the answer: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
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
