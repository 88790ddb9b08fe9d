package main

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A call that is being answered when the broker stops is answered.
func TestFinishLetsCallsEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, stopping := make(chan struct{}), make(chan struct{})
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-stopping
		_, _ = io.WriteString(w, "recorded")
	})}
	srv.RegisterOnShutdown(func() { close(stopping) })
	go func() { _ = srv.Serve(l) }()
	type reply struct {
		body string
		err  error
	}
	got := make(chan reply, 1)
	go func() {
		res, err := http.Post("http://"+l.Addr().String(), "", nil)
		if err != nil {
			got <- reply{err: err}
			return
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		got <- reply{string(b), err}
	}()
	<-begun
	finish(srv)
	if r := <-got; r.err != nil || r.body != "recorded" {
		t.Errorf("the call got %q, %v", r.body, r.err)
	}
}

// One that does not end is cut off, so that the next broker can start.
func TestFinishHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		srv := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
		l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		l.conn <- server
		go func() { _ = srv.Serve(l) }()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		finish(srv)
		if took := time.Since(start); took != stopPatience {
			t.Errorf("it took %v", took)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
