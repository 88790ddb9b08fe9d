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

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/agent/claude"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// BenchmarkWaiting says what one waiting hook costs in memory, connection, broker and all,
// where 4,000 wait on the unix socket. The test's own side is raw connections: its share, a
// descriptor and no goroutine, is counted too.
func BenchmarkWaiting(b *testing.B) {
	const n = 4000
	ctx := context.Background()
	br, err := broker.New(ctx, broker.Config{Log: logtest.New(), SingleReplica: true, Encode: server.Views{}.Encode, CallKey: claude.CallKey})
	if err != nil {
		b.Fatal(err)
	}
	who, err := auth.Open(ctx, auth.Config{KV: kvtest.New(), NoOwnerToken: true})
	if err != nil {
		b.Fatal(err)
	}
	defer who.Close()
	s, err := server.New(server.Config{Broker: br, Auth: who, Publish: func(context.Context, hook.Event) (uint64, error) { return 1, nil }})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	srv := s.HTTPServer(s.Unix())
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	defer func() { _ = br.Close(); _ = srv.Close(); <-done; _ = s.Close() }()

	for b.Loop() {
		before := inUse()
		conns := make([]net.Conn, n)
		watcher := br.Watch("", 0)
		body := bash("touch /home/dev/project/out.txt")
		for i := range conns {
			c, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			conns[i] = c
			if _, err := fmt.Fprintf(c, "POST /v1/hooks HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s: %s\r\n%s: 590000\r\n%s: /home/dev/project\r\n\r\n%s",
				len(body), hook.HeaderRequestID, uuid.NewString(), hook.HeaderRemaining, hook.HeaderRepoRoot, body); err != nil {
				b.Fatal(err)
			}
		}
		for seq := uint64(0); seq < n; {
			batch, err := watcher.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if batch.Snapshot != nil {
				seq = batch.Snapshot.Seq
			} else {
				seq = batch.Changes[len(batch.Changes)-1].Seq
			}
		}
		watcher.Close()
		b.ReportMetric(float64(inUse()-before)/n, "B/waiting")
		for _, v := range br.Pending() {
			if _, err := br.Decide(ctx, v.ID, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: v.InputSHA256}, hook.Approver{Kind: "token"}); err != nil {
				b.Fatal(err)
			}
		}
		for _, c := range conns {
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				b.Fatal(res, err)
			}
			_ = c.Close()
		}
	}
}

// inUse is what the process holds for heap and stacks after the garbage is gone.
func inUse() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
