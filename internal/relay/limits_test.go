package relay_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"assent/internal/relay"
	"assent/internal/relay/tunnel"
)

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// TestTokens: who has no valid token is refused, one whose token is taken away is disconnected, and a new one
// counts at once.
func TestTokens(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	refused := func(token tunnel.Token, status int) {
		t.Helper()
		session, err := w.dial(token)
		if err == nil {
			_ = session.Close()
		}
		if r := (*tunnel.RefusedError)(nil); !errors.As(err, &r) || r.Status != status {
			t.Errorf("%v: %v, want %d", token, err, status)
		}
	}
	stranger, err := tunnel.NewToken("box")
	if err != nil {
		t.Fatal(err)
	}
	refused(stranger, http.StatusUnauthorized)
	mine := w.token("box")
	refused(stranger, http.StatusUnauthorized)
	if other, err := tunnel.ParseToken(strings.Replace(mine.Text(), "_box_", "_desk_", 1)); err != nil {
		t.Error(err)
	} else {
		refused(other, http.StatusUnauthorized)
	}
	session, err := w.dial(mine)
	if err != nil {
		t.Fatal(err)
	}
	refused(mine, http.StatusConflict)

	fresh := w.token("box") // takes the place of the first
	<-session.CloseChan()
	session, err = w.dial(fresh)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	refused(mine, http.StatusUnauthorized)
	if err := relay.RemoveToken(w.tokens, "box"); err != nil {
		t.Fatal(err)
	}
	<-session.CloseChan()
	eventually(t, "nobody is connected", func() bool { return len(w.server.Brokers()) == 0 })
	if said := w.log.String(); strings.Contains(said, mine.Text()) || strings.Contains(said, fresh.Text()) {
		t.Errorf("the log shows a token: %s", said)
	}
}

// TestSilentBrokerGivesWay: one whose connection has died without a word does not keep its own successor out.
func TestSilentBrokerGivesWay(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a ping that nobody answers, 10 s")
	}
	w := newWorld(t, relay.Limits{})
	token := w.token("box")
	hole := newHole(t, w.addr)
	dead, err := tunnel.Dial(context.Background(), hole.addr, w.url(), token, &tls.Config{RootCAs: w.pool})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dead.Close() }()
	hole.swallow()
	live, err := w.dial(token)
	if err != nil {
		t.Fatalf("the successor: %v", err)
	}
	_ = live.Close()
}

// TestLimitsOfAName: connections beyond those of a name and of a source are closed, and there is room again
// when others end. Another name has its own.
func TestLimitsOfAName(t *testing.T) {
	w := newWorld(t, relay.Limits{PerName: 3, PerSource: 2})
	w.broker(w.token("box"), http.HandlerFunc(ok))
	w.broker(w.token("desk"), http.HandlerFunc(ok))
	open := func(name, source string) (*tls.Conn, error) {
		d := tls.Dialer{
			NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}},
			Config:    &tls.Config{RootCAs: w.pool, ServerName: name + "." + domain},
		}
		c, err := d.Dial("tcp", w.addr)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = c.Close() })
		return c.(*tls.Conn), nil
	}
	var held []*tls.Conn
	for _, c := range []struct {
		name, source string
		ok           bool
	}{
		{"box", "127.0.0.2", true}, {"box", "127.0.0.2", true}, {"box", "127.0.0.2", false}, {"desk", "127.0.0.2", true},
		{"box", "127.0.0.3", true}, {"box", "127.0.0.4", false},
	} {
		conn, err := open(c.name, c.source)
		if (err == nil) != c.ok {
			t.Errorf("to %s from %s: %v", c.name, c.source, err)
		}
		if err == nil {
			held = append(held, conn)
		}
	}
	if n := w.server.Brokers(); n["box"] != 3 || n["desk"] != 1 {
		t.Errorf("relayed are %v", n)
	}
	_ = held[0].Close()
	eventually(t, "there is room again", func() bool { _, err := open("box", "127.0.0.4"); return err == nil })
}

// TestRelayItself: it says what it is, and serves nothing else.
func TestRelayItself(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	c := w.client("x")
	c.Transport.(*http.Transport).TLSClientConfig.ServerName = domain
	for path, want := range map[string]int{"/": 200, "/healthz": 204, "/v1/relay": 401, "/v1/hooks": 404, "/etc/passwd": 404} {
		res, err := c.Get("https://" + domain + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body) // it is short
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// TestHostileBroker: one that opens streams to the relay, or floods it with pings, is disconnected.
func TestHostileBroker(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	token := w.token("box")
	for what, do := range map[string]func(*tunnel.Session) error{
		"streams": func(s *tunnel.Session) error { _, err := s.OpenStream(); return err },
		"pings":   func(s *tunnel.Session) error { _, err := s.Ping(); return err },
	} {
		var session *tunnel.Session
		eventually(t, "the broker connects", func() (is bool) {
			var err error
			session, err = w.dial(token)
			return err == nil
		})
		for range 1000 {
			if do(session) != nil {
				break
			}
		}
		<-session.CloseChan()
		t.Log("disconnected after:", what)
	}
}

// TestBrokerComesBack: when the relay is gone and back, so is the broker, without anybody's doing.
func TestBrokerComesBack(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.broker(w.token("box"), http.HandlerFunc(ok))
	get := func() error {
		res, err := w.client("box").Get("https://box." + domain + "/")
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if err := get(); err == nil {
		t.Error("a relay that was stopped relays")
	}
	w.start(relay.Limits{}, w.addr)
	eventually(t, "the broker is back", func() bool { return get() == nil })
	if n := strings.Count(w.log.String(), "is away"); n != 1 {
		t.Errorf("the outage is told %d times: %s", n, w.log)
	}
}

// hole leads connections on until it swallows what comes.
type hole struct {
	addr string
	gone chan struct{}
}

func newHole(t *testing.T, to string) *hole {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{addr: l.Addr().String(), gone: make(chan struct{})}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = c.Close(); _ = up.Close() })
		go h.pass(up, c)
		h.pass(c, up)
	}()
	return h
}

func (h *hole) pass(to io.Writer, from io.Reader) {
	b := make([]byte, 4<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-h.gone:
			continue
		default:
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (h *hole) swallow() { close(h.gone) }
