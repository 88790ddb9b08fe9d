package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
)

// notHijackable hides what HTTP/2 does not have.
type notHijackable struct{ w http.ResponseWriter }

func (n notHijackable) Header() http.Header         { return n.w.Header() }
func (n notHijackable) Write(b []byte) (int, error) { return n.w.Write(b) }
func (n notHijackable) WriteHeader(status int)      { n.w.WriteHeader(status) }
func (n notHijackable) Flush()                      { n.w.(http.Flusher).Flush() }
func (n notHijackable) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(n.w).SetReadDeadline(t)
}
func (n notHijackable) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(n.w).SetWriteDeadline(t)
}

// Where a connection cannot be taken over, the hook waits inside net/http with the same result.
func TestWaitWithoutHijack(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		h := g.server.Unix()
		g.unix = g.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(notHijackable{w}, r) }))
		w := g.raise(call{unix: true, body: bash("x")})
		time.Sleep(2 * time.Minute) // longer than a body or an answer may take
		r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
		if strings.TrimSpace(r.body) != `{"delivery":"delivered"}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := <-w.reply; r.body != allowed {
			t.Errorf("the hook got %d %s", r.status, r.body)
		}
		gone := g.raise(call{unix: true, body: bash("y")})
		gone.cancel()
		<-gone.reply
		time.Sleep(time.Second)
		if q := g.get(gone.id); q.Outcome != "withdrawn" {
			t.Errorf("%+v", q)
		}
		stopped := g.raise(call{unix: true, body: bash("z")})
		if err := g.broker.Close(); err != nil {
			t.Error(err)
		}
		if r := <-stopped.reply; r.err == nil {
			t.Errorf("the hook got %d %s, want a closed connection", r.status, r.body)
		}
	})
}

// An answer on a connection that was taken over has all that other answers have.
func TestHeldAnswerOnTCPHasTheHeaders(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		c := call{token: g.tokens[auth.RoleSubmit], body: bash("x"), method: "POST", path: "/v1/hooks"}
		w := g.raise(c)
		g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
		r := <-w.reply
		g.checkReply(c, r)
		if r.status != http.StatusOK || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %v", r.status, r.header)
		}
	})
}

// What a hook sends while it waits changes nothing.
func TestBytesAfterTheRequestAreIgnored(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		conn, err := g.unix.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := bash("x")
		id := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		write := func(s string) {
			if _, err := conn.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		write("POST /v1/hooks HTTP/1.1\r\nHost: x\r\nAssent-Request-Id: " + id + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
		time.Sleep(time.Millisecond)
		write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(time.Millisecond)
		if q := g.get(id); q.State != "pending" || q.Detached {
			t.Fatalf("%+v", q)
		}
		decided := make(chan reply, 1)
		sum := g.get(id).InputSHA256
		go func() {
			decided <- g.do(t.Context(), call{method: "POST", path: "/v1/requests/" + id + "/decision", token: g.tokens[auth.RoleApprove], body: `{"behavior":"allow","inputSha256":"` + sum + `"}`})
		}()
		b := make([]byte, 4096)
		n, err := conn.Read(b)
		if err != nil || !strings.HasPrefix(string(b[:n]), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(b[:n]), "\r\n\r\n"+allowed) {
			t.Errorf("%q %v", b[:n], err)
		}
		if n, err := conn.Read(b); err == nil {
			t.Errorf("and then %q", b[:n])
		}
		if r := <-decided; r.status != http.StatusOK {
			t.Errorf("decision: %d %s", r.status, r.body)
		}
	})
}

// An answer that the hook does not take was not delivered.
func TestAnswerNobodyTakes(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		conn, err := g.unix.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := bash("x")
		id := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		if _, err := conn.Write([]byte("POST /v1/hooks HTTP/1.1\r\nHost: x\r\nAssent-Request-Id: " + id + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r := g.decide(id, `{"behavior":"allow","inputSha256":"`+g.get(id).InputSHA256+`"}`)
		if strings.TrimSpace(r.body) != `{"delivery":"recorded"}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		time.Sleep(time.Minute)
		if q := g.get(id); q.Delivery != "recorded" {
			t.Errorf("%+v", q)
		}
	})
}

// Revoking a token closes what it opened, a waiting hook too.
func TestRevokedTokenEndsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash("x")})
		other := g.raise(call{unix: true, body: bash("y")})
		if err := g.auth.RevokeToken(t.Context(), g.ids[auth.RoleSubmit]); err != nil {
			t.Fatal(err)
		}
		if r := <-w.reply; r.err == nil {
			t.Errorf("the hook got %d %s, want a closed connection", r.status, r.body)
		}
		time.Sleep(time.Minute)
		if q := g.get(w.id); q.Outcome != "withdrawn" || q.Reason != "detached" {
			t.Errorf("%+v", q)
		}
		if q := g.get(other.id); q.State != "pending" {
			t.Errorf("another: %+v", q)
		}
	})
}
