package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"assent/internal/hook"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// serving returns a client of a server that answers with h.
func serving(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	c := NewClient(ClientConfig{URL: srv.URL + "/", Token: "secret", Hint: "start it"})
	t.Cleanup(func() {
		c.transport.CloseIdleConnections()
		srv.Close()
	})
	return c
}

func TestCallSendsAndDecodes(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "POST" || r.URL.String() != "/v1/tokens?x=1" || string(body) != `{"role":"view","name":"n"}` ||
			r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s %v %v", r.Method, r.URL, body, r.Header, err)
		}
		_, _ = io.WriteString(w, `{"id":"i","token":"t"}`+"\n")
	})
	var out CreatedToken
	if err := c.Call(t.Context(), "POST", "/v1/tokens?x=1", NewToken{Role: "view", Name: "n"}, &out); err != nil || out.ID != "i" || out.Secret != "t" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestCallKeepsRawBytes(t *testing.T) {
	const doc = "[ {\"a\" : 1.0} ]\n"
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "" {
			t.Errorf("%v", r.Header)
		}
		_, _ = io.WriteString(w, doc)
	})
	var raw json.RawMessage
	if err := c.Call(t.Context(), "GET", "/", nil, &raw); err != nil || string(raw) != doc {
		t.Errorf("%q, %v", raw, err)
	}
	if err := c.Call(t.Context(), "GET", "/", nil, nil); err != nil {
		t.Error(err)
	}
	var wrong struct{ A int }
	if err := c.Call(t.Context(), "GET", "/", nil, &wrong); err == nil || !strings.Contains(err.Error(), "the broker's answer: ") {
		t.Errorf("%v", err)
	}
}

func TestCallReturnsProblems(t *testing.T) {
	for _, row := range []struct {
		name, body, want string
		status           int
	}{
		{"conflict", `{"title":"Conflict","status":409,"detail":"already over","outcome":"denied","decidedBy":{"kind":"device","name":"phone"}}`, "already over (denied by phone, device)", 409},
		{"field", `{"title":"Bad Request","status":400,"detail":"too long","field":"name"}`, "name: too long", 400},
		{"a proxy's page", `<html>`, "502 Bad Gateway", 502},
		{"nothing", ``, "403 Forbidden", 403},
		{"controls", `{"detail":"a\u001bb"}`, "a⟦U+001B⟧b", 500},
		{"a redirect", ``, "302 Found", 302},
	} {
		t.Run(row.name, func(t *testing.T) {
			calls := 0
			c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			var p *Problem
			err := c.Call(t.Context(), "GET", "/", nil, nil)
			if !errors.As(err, &p) || p.Status != row.status || err.Error() != row.want || calls != 1 {
				t.Errorf("%v after %d calls, want %s", err, calls, row.want)
			}
		})
	}
}

func TestProblemNamesWhoDecidedOnce(t *testing.T) {
	p := &Problem{Detail: "already allowed by owner", Outcome: hook.Allowed, DecidedBy: &hook.Approver{Kind: "owner-cli", Name: "owner"}}
	if got := p.Error(); got != "already allowed by owner" {
		t.Error(got)
	}
}

func TestCallIsBounded(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `"`+strings.Repeat("x", 8)+`"`)
	})
	c.maxAnswer = 10
	var s string
	if err := c.Call(t.Context(), "GET", "/", nil, &s); err != nil || len(s) != 8 {
		t.Errorf("%q, %v", s, err)
	}
	c.maxAnswer = 9
	if err := c.Call(t.Context(), "GET", "/", nil, &s); err == nil || !strings.Contains(err.Error(), "larger than 9 bytes") {
		t.Errorf("%v", err)
	}
	c.Timeout = time.Millisecond
	var away *UnreachableError
	if err := c.Call(t.Context(), "GET", "/slow", nil, nil); !errors.As(err, &away) || !strings.Contains(err.Error(), "; start it") {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	_ = l.Close()
	c := NewClient(ClientConfig{URL: url, Hint: "start it"})
	var away *UnreachableError
	_, err = c.Status(t.Context(), "/readyz")
	if !errors.As(err, &away) || away.Untrusted || !strings.HasPrefix(err.Error(), "the broker at "+url+" does not answer (connection refused)") || !strings.HasSuffix(err.Error(), "; start it") {
		t.Errorf("%v", err)
	}
}

// A URL with https for a port that speaks http says so, and not that the broker may be down.
func TestWrongScheme(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	c := NewClient(ClientConfig{URL: strings.Replace(srv.URL, "http:", "https:", 1), Hint: "start it"})
	err := c.Call(t.Context(), "GET", "/", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "should the URL begin with http://?") || strings.Contains(err.Error(), "start it") {
		t.Errorf("%v", err)
	}
}

func TestUntrusted(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	c := NewClient(ClientConfig{URL: srv.URL, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Hint: "start it", UntrustedHint: "name it"})
	var away *UnreachableError
	err := c.Call(t.Context(), "GET", "/", nil, nil)
	if !errors.As(err, &away) || !away.Untrusted || !strings.Contains(err.Error(), " is not trusted (") || !strings.HasSuffix(err.Error(), "; name it") {
		t.Errorf("%v", err)
	}
}

func TestStatusSendsNoCredential(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"]) > 0 {
			t.Errorf("%v", r.Header)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if status, err := c.Status(t.Context(), "/readyz"); err != nil || status != 503 {
		t.Errorf("%d, %v", status, err)
	}
}

func TestListen(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/ws?feed=s" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for _, m := range []string{`{"type":"snapshot"}`, `{"type":"changes"}`} {
			if err := conn.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
				t.Error(err)
			}
		}
		_, _, _ = conn.ReadMessage() // until the client goes
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, ended, connected := make(chan []byte), make(chan error, 1), make(chan struct{})
	go func() { ended <- c.Listen(ctx, "?feed=s", out, func() { close(connected) }) }()
	<-connected
	for _, want := range []string{MessageSnapshot, MessageChanges} {
		var m Message
		if err := json.Unmarshal(<-out, &m); err != nil || m.Type != want {
			t.Errorf("%+v, %v", m, err)
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

func TestListenSaysWhenItIsRefused(t *testing.T) {
	for _, row := range []struct {
		status  int
		refused bool
	}{{401, true}, {403, true}, {421, false}} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(row.status) })
		var no *HandshakeError
		err := c.Listen(t.Context(), "", nil, func() { t.Error("connected") })
		if !errors.As(err, &no) || no.Code != row.status || no.Refused() != row.refused || !strings.HasPrefix(err.Error(), "the broker refused: ") {
			t.Errorf("%d: %v", row.status, err)
		}
	}
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	var no *HandshakeError
	if err := c.Listen(t.Context(), "", nil, func() {}); err == nil || errors.As(err, &no) {
		t.Errorf("%v", err)
	}
}
