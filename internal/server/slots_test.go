package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// bounded serves TCP over a listener of n slots in the rig's place.
func (g *rig) bounded(n int) *server.Slots {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	slots := server.Bound(l, n, true, false)
	srv := g.server.HTTPServer(g.server.TCP())
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(slots) }()
	g.stops = append(g.stops, func() { _ = srv.Close(); <-done })
	g.tcp = l
	return slots
}

// hold opens a connection, sends text and keeps it open.
func (g *rig) keepOpen(text string) net.Conn {
	g.t.Helper()
	c, err := g.tcp.dial(context.Background(), "", "")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	go func() { _, _ = io.WriteString(c, text) }()
	synctest.Wait()
	return c
}

const slotsN = 8

// Whatever strangers and hooks do with their connections, an approver's call gets one.
func TestApproversGetASlot(t *testing.T) {
	head := func(method, path, token string, length int) string {
		h := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1:7717\r\nContent-Length: %d\r\n", method, path, length)
		if token != "" {
			h += "Authorization: Bearer " + token + "\r\n"
		}
		return h + "\r\n"
	}
	for name, text := range map[string]func(g *rig) string{
		"nothing":              func(*rig) string { return "" },
		"half a head":          func(*rig) string { return "GET / HTTP/1.1\r\nHost: 127" },
		"idle after an answer": func(*rig) string { return head("GET", "/healthz", "", 0) },
		"half a stranger's":    func(*rig) string { return head("POST", "/v1/pair/redeem", "", 1000) + "{" },
		"half a hook's":        func(g *rig) string { return head("POST", "/v1/hooks", g.tokens[auth.RoleSubmit], 1000) + "{" },
		"idle approvers":       func(g *rig) string { return head("GET", "/v1/requests", g.tokens[auth.RoleApprove], 0) },
		"hooks, as many as may": func(g *rig) string {
			return head("POST", "/v1/hooks", g.tokens[auth.RoleSubmit], len(bash("x"))) + bash("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, server.Config{MaxRemote: slotsN / 2})
				defer g.stop()
				slots := g.bounded(slotsN)
				for range 3 * slotsN {
					c := g.keepOpen(text(g))
					go func() { _, _ = io.Copy(io.Discard, c) }()
					synctest.Wait()
				}
				if n := slots.Open(); n > slotsN {
					t.Errorf("%d connections are open", n)
				}
				for range 3 {
					if r := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}); r.status != http.StatusOK {
						t.Fatalf("an approver gets %d %s", r.status, r.body)
					}
				}
			})
		})
	}
}

// Hooks that wait over TCP are bounded by themselves, and one beyond is told so at once. Those that
// wait are not closed for others.
func TestWaitingHooksKeepTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{MaxRemote: slotsN / 2})
		defer g.stop()
		slots := g.bounded(slotsN)
		var waits []*waiting
		for i := range slotsN / 2 {
			waits = append(waits, g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash(fmt.Sprint(i))}))
		}
		beyond := g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash("beyond")})
		if r := <-beyond.reply; r.status != http.StatusServiceUnavailable {
			t.Errorf("one beyond got %d %s", r.status, r.body)
		}
		plain := g.raise(call{token: g.tokens[auth.RoleSubmit], header: map[string]string{hook.HeaderRequestID: ""}, body: bash("plain")})
		if r := <-plain.reply; r.status != http.StatusServiceUnavailable {
			t.Errorf("an agent's own HTTP hook beyond got %d %s", r.status, r.body)
		}
		local := g.raise(call{unix: true, body: bash("local")})
		for range 3 * slotsN {
			g.keepOpen("")
		}
		if n := slots.Open(); n != slotsN {
			t.Errorf("%d connections are open", n)
		}
		for _, w := range append(waits, local) {
			g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
			if r := <-w.reply; r.body != allowed {
				t.Errorf("a hook that waited got %d %s, %v", r.status, r.body, r.err)
			}
		}
		synctest.Wait() // a hook has its answer a moment before it is counted off
		m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
		if !strings.Contains(m.body, "assent_hooks_waiting 0\n") {
			t.Error("hooks are still counted")
		}
		again := g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash("again")})
		g.wantPending(again)
	})
}

// Where nobody makes room a new connection is answered at once, whatever it has sent, and told
// nothing where that would not be understood.
func TestNoSlotIsAnAnswer(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		l, err := net.Listen("unix", t.TempDir()+"/s")
		if err != nil {
			t.Fatal(err)
		}
		slots := server.Bound(l, 1, false, quiet)
		defer slots.Close()
		accepted := make(chan net.Conn, 10)
		go func() {
			for {
				c, err := slots.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		dial := func() net.Conn {
			c, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			_ = c.SetDeadline(time.Now().Add(time.Minute)) // only there to stop it
			return c
		}
		dial()
		first := <-accepted
		for range 5 {
			c := dial()
			_, _ = io.WriteString(c, strings.Repeat("x", 64<<10)) // it may break: nobody reads
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if quiet && err == nil || !quiet && (err != nil || res.StatusCode != http.StatusServiceUnavailable) {
				t.Errorf("quiet %v: %v, %v", quiet, res, err)
			}
		}
		_ = first.Close()
		_ = first.Close() // gives back one slot, not two
		dial()
		<-accepted
		if n := slots.Open(); n != 1 {
			t.Errorf("%d connections are open", n)
		}
	}
}

// Bodies that are on their way share a bound, and the largest gives way: small ones get through
// beside any number of large ones that do not come to an end.
func TestHalfSentBodiesHaveABoundTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{MaxArriving: 4 << 20})
		defer g.stop()
		start := func(unix bool, path, token string, announced int, sent string) chan reply {
			pr, pw := io.Pipe()
			out := make(chan reply, 1)
			l := g.tcp
			if unix {
				l = g.unix
			}
			go func() {
				r, err := http.NewRequest("POST", origin+path, pr)
				if err != nil {
					panic(err)
				}
				r.ContentLength = int64(announced)
				r.Header.Set("Authorization", "Bearer "+token)
				tr := &http.Transport{DialContext: l.dial, DisableKeepAlives: true}
				res, err := tr.RoundTrip(r)
				if err != nil {
					out <- reply{err: err}
					return
				}
				_ = res.Body.Close()
				out <- reply{status: res.StatusCode}
			}()
			go func() { _, _ = io.WriteString(pw, sent) }() // and then nothing
			g.stops = append(g.stops, func() { _ = pw.CloseWithError(io.ErrUnexpectedEOF) })
			synctest.Wait()
			return out
		}
		var large []chan reply
		for i := range 12 {
			unix, path, token, announced := i%2 == 0, "/v1/hooks", g.tokens[auth.RoleSubmit], 14<<20
			switch i % 4 {
			case 1:
				path, token, announced = "/v1/requests/"+uuid.NewString()+"/decision", g.tokens[auth.RoleApprove], 4<<20
			case 2:
				announced = -1
			}
			large = append(large, start(unix, path, token, announced, strings.Repeat(" ", 1<<20)))
			if r := g.call(call{unix: unix, method: "POST", path: "/v1/hooks", token: g.tokens[auth.RoleSubmit], body: `{"hook_event_name":"Stop","session_id":"s"}`}); r.status != http.StatusNoContent {
				t.Errorf("a small one beside %d large: %d %s", i+1, r.status, r.body)
			}
		}
		gave := 0
		for _, c := range large {
			select {
			case r := <-c:
				if r.status != http.StatusServiceUnavailable && r.err == nil {
					t.Errorf("one that gave way got %d", r.status)
				}
				gave++
			default:
			}
		}
		if gave < 9 {
			t.Errorf("of 12 bodies of 1 MB, %d gave way to have 4 MB", gave)
		}
	})
}

// Wrong credentials are counted and slowed down, good ones never.
func TestWrongCredentialsAreSlowed(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		good := func() {
			t.Helper()
			if r := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}); r.status != http.StatusOK {
				t.Fatalf("the good one gets %d %s", r.status, r.body)
			}
			if r := g.call(call{method: "POST", path: "/v1/hooks", token: g.tokens[auth.RoleSubmit], body: `{"hook_event_name":"Stop"}`}); r.status != http.StatusNoContent {
				t.Fatalf("the good hook gets %d %s", r.status, r.body)
			}
		}
		try := func(n int) map[int]int {
			t.Helper()
			got := map[int]int{}
			for i := range n {
				c := call{path: "/v1/requests", token: fmt.Sprintf("assent_view_%043d", i)}
				switch i % 3 {
				case 1:
					c = call{method: "POST", path: "/v1/hooks", token: fmt.Sprintf("assent_submit_%043d", i), body: "{}"}
				case 2:
					c = call{path: "/v1/ws?ticket=x", header: map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}}
				}
				r := g.call(c)
				if got[r.status]++; r.status == http.StatusTooManyRequests && r.header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
				}
				good()
			}
			return got
		}
		if got := try(100); got[401] != 60 || got[429] != 40 {
			t.Errorf("of 100: %v", got)
		}
		for range 100 { // nothing was presented: nobody guesses
			if r := g.call(call{path: "/v1/requests"}); r.status != http.StatusUnauthorized {
				t.Fatalf("without a credential: %d", r.status)
			}
		}
		time.Sleep(10 * time.Second)
		if got := try(20); got[401] != 10 || got[429] != 10 {
			t.Errorf("of 20 after 10 s: %v", got)
		}
		m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
		if !strings.Contains(m.body, "\nassent_credentials_refused_total 120\n") {
			t.Error("they are not counted")
		}
		if n := strings.Count(g.lines.String(), "many wrong credentials"); n != 1 {
			t.Errorf("%d log lines", n)
		}
	})
}

// Few connections are let in at a time, but who stands still keeps nobody out for long, and who is through, for no time.
func TestConnectionsComeAFewAtATime(t *testing.T) {
	head := "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:7717\r\n\r\n"
	for _, c := range []struct {
		name string
		text func(g *rig) string
		want time.Duration
	}{
		{"nothing yet", func(*rig) string { return "" }, server.ComesWithin},
		{"half a head", func(*rig) string { return head[:20] }, server.ComesWithin},
		{"an answer", func(*rig) string { return head }, 0},
		{"a hook that waits", func(g *rig) string {
			return fmt.Sprintf("POST /v1/hooks HTTP/1.1\r\nHost: 127.0.0.1:7717\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
				g.tokens[auth.RoleSubmit], len(bash("x")), bash("x"))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, server.Config{MaxRemote: server.MostComing})
				defer g.stop()
				g.bounded(2 * server.MostComing)
				var open []net.Conn
				for range server.MostComing {
					conn := g.keepOpen(c.text(g))
					go func() { _, _ = io.Copy(io.Discard, conn) }()
					synctest.Wait()
					open = append(open, conn)
				}
				came := func() time.Duration {
					began := time.Now()
					if r := g.call(call{path: "/healthz"}); r.status != http.StatusNoContent {
						t.Fatalf("got %d %s", r.status, r.body)
					}
					return time.Since(began)
				}
				if d := came(); d != c.want {
					t.Errorf("one more was let in after %s, want %s", d, c.want)
				}
				_ = open[0].Close()
				synctest.Wait()
				if d := came(); d != 0 {
					t.Errorf("where one has gone it took %s", d)
				}
			})
		})
	}
}
