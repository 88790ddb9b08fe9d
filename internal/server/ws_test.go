package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"assent/internal/auth"
	"assent/internal/server"
)

type wsDoc struct {
	Type     string
	Epoch    string
	Seq      uint64
	Requests []requestDoc
	Sessions []json.RawMessage
	Changes  []struct {
		Seq     uint64
		Request requestDoc
	}
}

// follower reads a WebSocket as a page does: it applies what comes to what it has.
type follower struct {
	t     *testing.T
	conn  *websocket.Conn
	epoch string
	seq   uint64
	state map[string]requestDoc
	kinds []string
}

func (g *rig) follow(query string) *follower {
	g.t.Helper()
	conn, _, err := g.socket(query, g.tokens[auth.RoleView], nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return &follower{t: g.t, conn: conn, state: map[string]requestDoc{}}
}

// next reads and applies one message.
func (f *follower) next() wsDoc {
	f.t.Helper()
	_, b, err := f.conn.ReadMessage()
	if err != nil {
		f.t.Fatal(err)
	}
	valid(f.t, "ws/Message", string(b))
	m := decode[wsDoc](f.t, string(b))
	f.kinds = append(f.kinds, m.Type)
	if m.Type == "snapshot" {
		f.state = map[string]requestDoc{}
		for _, q := range m.Requests {
			f.state[q.ID] = q
		}
	} else {
		want := f.seq
		for _, c := range m.Changes {
			if want++; c.Seq != want {
				f.t.Errorf("change %d, want %d", c.Seq, want)
			}
			f.state[c.Request.ID] = c.Request
		}
		if m.Seq != want || m.Epoch != f.epoch {
			f.t.Errorf("message ends at %s %d, want %s %d", m.Epoch, m.Seq, f.epoch, want)
		}
	}
	f.epoch, f.seq = m.Epoch, m.Seq
	return m
}

// until reads until ok.
func (f *follower) until(ok func() bool) {
	f.t.Helper()
	for !ok() {
		f.next()
	}
}

func TestSocketFollows(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		early := g.raise(call{unix: true, body: bash("early")})
		f := g.follow("")
		defer f.conn.Close()
		m := f.next()
		if m.Type != "snapshot" || len(m.Requests) != 1 || m.Requests[0].ID != early.id || m.Requests[0].Shown == nil || len(m.Sessions) != 1 {
			t.Fatalf("%+v", m)
		}
		late := g.raise(call{unix: true, body: bash("late")})
		f.until(func() bool { return f.state[late.id].State == "pending" })
		g.decide(early.id, `{"behavior":"deny","inputSha256":"`+g.get(early.id).InputSHA256+`","message":"no"}`)
		f.until(func() bool { return f.state[early.id].Delivery == "delivered" })
		if q := f.state[early.id]; q.Outcome != "denied" || q.DecidedBy == nil || !strings.Contains(string(q.Response), `"no"`) {
			t.Errorf("%+v", q)
		}
		late.cancel()
		f.until(func() bool { return f.state[late.id].Outcome == "withdrawn" })
		if kinds := strings.Join(f.kinds[1:], " "); strings.Contains(kinds, "snapshot") {
			t.Errorf("messages: %s", kinds)
		}
		// Go on where that was: nothing is sent twice, nothing is missed.
		_ = f.conn.Close()
		third := g.raise(call{unix: true, body: bash("third")})
		again := g.follow(fmt.Sprintf("?epoch=%s&after=%d", f.epoch, f.seq))
		defer again.conn.Close()
		again.epoch, again.seq = f.epoch, f.seq
		if m := again.next(); m.Type != "changes" || len(m.Changes) != 1 || m.Changes[0].Request.ID != third.id {
			t.Errorf("resumed: %+v", m)
		}
		for _, q := range []string{"?epoch=other&after=1", "?after=1", "?epoch=" + f.epoch + "&after=99999"} {
			n := g.follow(q)
			if m := n.next(); m.Type != "snapshot" || len(m.Requests) != 1 {
				t.Errorf("%s: %+v", q, m)
			}
			_ = n.conn.Close()
		}
	})
}

// A client that does not read is dropped; another hears all of it.
func TestSlowSocketIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		slow, quick := g.follow(""), g.follow("")
		defer slow.conn.Close()
		defer quick.conn.Close()
		quick.next()
		start := time.Now()
		var ids []string
		for i := range 50 {
			ids = append(ids, g.raise(call{unix: true, body: bash(fmt.Sprint(i))}).id)
			quick.until(func() bool { return quick.state[ids[i]].State == "pending" })
		}
		if time.Since(start) != 0 {
			t.Errorf("the quick one waited %v for the slow one", time.Since(start))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
		for _, want := range []string{"assent_websockets 1\n", "assent_websockets_dropped_total 1\n"} {
			if !strings.Contains(m.body, want) {
				t.Errorf("no %s in\n%s", want, m.body)
			}
		}
	})
}

// A client that lags beyond what the broker keeps gets a snapshot and is right again.
func TestLaggingSocketGetsSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		f := g.follow("")
		defer f.conn.Close()
		f.next()
		last := g.raise(call{unix: true, body: bash("last")})
		f.until(func() bool { return f.state[last.id].State == "pending" })
		resume := fmt.Sprintf("?epoch=%s&after=%d", f.epoch, f.seq)
		_ = f.conn.Close()
		for range 2100 { // two changes each: more than the broker keeps
			w := g.raise(call{unix: true, body: bash("x")})
			w.cancel()
			<-w.reply
			synctest.Wait()
		}
		n := g.follow(resume)
		defer n.conn.Close()
		if m := n.next(); m.Type != "snapshot" || len(m.Requests) != 1 || m.Requests[0].ID != last.id {
			t.Errorf("%+v", m)
		}
	})
}

// A peer that died without a word is noticed; one that only answers pings is kept.
func TestSilentSocketIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		silent, alive := g.follow(""), g.follow("")
		defer silent.conn.Close()
		defer alive.conn.Close()
		silent.conn.SetPingHandler(func(string) error { return nil })
		for _, f := range []*follower{silent, alive} {
			go func() {
				for {
					if _, _, err := f.conn.NextReader(); err != nil {
						return
					}
				}
			}()
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
		if !strings.Contains(m.body, "assent_websockets 1\n") {
			t.Errorf("after 31 s:\n%s", m.body)
		}
	})
}

// Changes that never pause must not keep the pings from a client that is there.
func TestBusySocketIsPinged(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		f := g.follow("")
		defer f.conn.Close()
		stop := make(chan struct{})
		go func() {
			for {
				w := g.raise2(bash("x"))
				select {
				case <-stop:
					w.cancel()
					return
				case <-time.After(5 * time.Second):
					w.cancel()
				}
			}
		}()
		start := time.Now()
		for time.Since(start) < time.Minute {
			f.next()
		}
		close(stop)
	})
}

// raise2 is raise without waiting for rest, for other goroutines than the test's.
func (g *rig) raise2(body string) *waiting {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{reply: make(chan reply, 1), cancel: cancel}
	go func() { w.reply <- g.do(ctx, call{unix: true, method: "POST", path: "/v1/hooks", body: body}) }()
	return w
}

func TestSocketEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(g *rig, conn *websocket.Conn, id string)
		code int
	}{
		{"token revoked", func(g *rig, _ *websocket.Conn, id string) {
			if err := g.auth.RevokeToken(context.Background(), id); err != nil {
				g.t.Error(err)
			}
		}, 4401},
		{"token revoked on another replica", func(g *rig, _ *websocket.Conn, id string) {
			other, err := auth.Open(context.Background(), auth.Config{KV: g.kv, NoOwnerToken: true})
			if err != nil {
				g.t.Fatal(err)
			}
			defer other.Close()
			if err := other.RevokeToken(context.Background(), id); err != nil {
				g.t.Error(err)
			}
		}, 4401},
		{"token ran out", func(*rig, *websocket.Conn, string) {}, 4401},
		{"broker stops", func(g *rig, _ *websocket.Conn, _ string) { _ = g.broker.Close() }, websocket.CloseGoingAway},
		{"server closes", func(g *rig, _ *websocket.Conn, _ string) { go g.server.Close() }, websocket.CloseGoingAway},
		{"too long a message", func(_ *rig, conn *websocket.Conn, _ string) {
			go func() { _ = conn.WriteMessage(websocket.TextMessage, make([]byte, 5<<10)) }()
		}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				secret, token, err := g.auth.CreateToken(context.Background(), auth.RoleView, "x", 20*time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				conn, _, err := g.socket("", secret, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, _, err := conn.ReadMessage(); err != nil {
					t.Fatal(err)
				}
				tt.end(g, conn, token.ID)
				if code := closeCode(conn); code != tt.code && !(tt.code == -1 && code > 0) {
					t.Errorf("closed with %d, want %d", code, tt.code)
				}
				synctest.Wait()
				if n := g.openSockets(); n != "0" {
					t.Errorf("%s sockets are open", n)
				}
			})
		})
	}
}

func (g *rig) openSockets() string {
	r := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
	_, rest, _ := strings.Cut(r.body, "\nassent_websockets ")
	n, _, _ := strings.Cut(rest, "\n")
	return n
}

func TestSocketRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{MaxSockets: 1})
		defer g.stop()
		tests := []struct {
			name, query, token string
			header             http.Header
			want               int
		}{
			{"no credential", "", "", nil, 401},
			{"unknown ticket", "?ticket=x", "", nil, 401},
			{"unknown ticket with a good token", "?ticket=x", g.tokens[auth.RoleView], nil, 401},
			{"submit", "", g.tokens[auth.RoleSubmit], nil, 403},
			{"another origin", "", g.tokens[auth.RoleView], http.Header{"Origin": {"http://evil.example"}}, 403},
			{"our name, another port", "", g.tokens[auth.RoleView], http.Header{"Origin": {"http://127.0.0.1:3000"}}, 403},
			{"cross-site", "", g.tokens[auth.RoleView], http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
			{"another host", "", g.tokens[auth.RoleView], http.Header{"Host": {"evil.example"}}, 421},
			{"bad after", "?after=x", g.tokens[auth.RoleView], nil, 400},
		}
		for _, tt := range tests {
			_, res, err := g.socket(tt.query, tt.token, tt.header)
			if err == nil || res == nil || res.StatusCode != tt.want {
				t.Errorf("%s: %v, want %d", tt.name, err, tt.want)
			}
		}
		f := g.follow("")
		if _, res, err := g.socket("", g.tokens[auth.RoleView], nil); err == nil || res.StatusCode != 503 {
			t.Errorf("one too many: %v", err)
		}
		_ = f.conn.Close()
		synctest.Wait()
		f = g.follow("")
		_ = f.conn.Close()
	})
}
