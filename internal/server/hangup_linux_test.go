package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/agent/claude"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// onSocket is a server with a broker on a real unix socket.
func onSocket(t testing.TB) (br *broker.Broker, ask func(t testing.TB) (id string, conn net.Conn), stop func()) {
	ctx := context.Background()
	br, err := broker.New(ctx, broker.Config{Log: logtest.New(), SingleReplica: true, Encode: server.Views{}.Encode, CallKey: claude.CallKey})
	if err != nil {
		t.Fatal(err)
	}
	who, err := auth.Open(ctx, auth.Config{KV: kvtest.New(), NoOwnerToken: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Broker: br, Auth: who, Publish: func(context.Context, hook.Event) (uint64, error) { return 1, nil }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := s.HTTPServer(s.Unix())
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(server.Bound(l, 10_000, false, false)) }()
	body := bash("true")
	ask = func(t testing.TB) (string, net.Conn) {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		id := uuid.NewString()
		if _, err := fmt.Fprintf(c, "POST /v1/hooks HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s: %s\r\n%s: 590000\r\n\r\n%s",
			len(body), hook.HeaderRequestID, id, hook.HeaderRemaining, body); err != nil {
			t.Fatal(err)
		}
		return id, c
	}
	return br, ask, func() {
		_ = br.Close()
		_ = srv.Close()
		<-done
		_ = s.Close()
		_ = who.Close()
	}
}

// eventually waits until what holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// Hooks that wait on the socket have no goroutine each. They are answered, and those that go are withdrawn, whatever they
// sent meanwhile.
func TestHeldHooksOnTheSocket(t *testing.T) {
	br, ask, stop := onSocket(t)
	defer stop()
	const n = 300
	before := runtime.NumGoroutine()
	ids, conns := make([]string, n), make([]net.Conn, n)
	for i := range conns {
		ids[i], conns[i] = ask(t)
	}
	eventually(t, "all wait, without a goroutine each", func() bool {
		return len(br.Pending()) == n && runtime.NumGoroutine() < before+n/4
	})
	for i, c := range conns {
		switch i % 3 {
		case 0:
			c.Close()
		case 1: // it has said all it wants to say: that is gone, too
			_ = c.(*net.UnixConn).CloseWrite()
		case 2:
			if _, err := c.Write(make([]byte, 3000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "a third still waits", func() bool { return len(br.Pending()) == n/3 })
	for i, id := range ids {
		v, err := br.Get(t.Context(), id)
		if want := map[bool]string{true: broker.Pending, false: broker.Ended}[i%3 == 2]; err != nil || v.State != want {
			t.Fatalf("%d: %s, want %s: %v", i, v.State, want, err)
		}
	}
	for i := 2; i < n; i += 3 {
		v, err := br.Get(t.Context(), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := br.Decide(t.Context(), v.ID, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: v.InputSHA256}, hook.Approver{Kind: "token"}); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conns[i]), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		conns[i].Close()
	}
}

// A broker that stops lets them go, and waits for that.
func TestHeldHooksAtTheEnd(t *testing.T) {
	br, ask, stop := onSocket(t)
	const n = 20
	var conns []net.Conn
	for range n {
		_, c := ask(t)
		conns = append(conns, c)
	}
	eventually(t, "all wait", func() bool { return len(br.Pending()) == n })
	stop()
	for _, c := range conns {
		if k, err := c.Read(make([]byte, 10)); k > 0 || err == nil {
			t.Errorf("it got %d bytes", k)
		}
		c.Close()
	}
}
