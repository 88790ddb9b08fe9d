package hostlink

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/executor"
	"assent/internal/store/retry"
)

const (
	handshakeTimeout = 10 * time.Second
	writeTimeout     = 10 * time.Second
	readTimeout      = 30 * time.Second // the broker pings three times in it
	maxInFlight      = 32               // frames that are not acknowledged, on one connection
	maxProblems      = 32               // of the broker's that are told
	agentsEvery      = time.Second
	leastPause       = time.Second
	mostPause        = 30 * time.Second
)

// Close codes of the broker's.
const codeRevoked = 4401

// Executor does what is ordered. executor.Host is one.
type Executor interface {
	Offer(executor.Order)
	Refuse(id, reason string)
	Held([]api.HeldMessage)
	Acked(frame string, ok bool)
	Halt(stopped bool)
	Forget(sessions []string)
	Forgotten() []string
	Disconnected()
	// Stoppers are the keys whose cancels of a session are obeyed where Config.Accept fails.
	Stoppers(session string) []string
	Outbox() []api.HostFrame
	Agents() []api.Agent
	// Answer is called beside all others.
	Answer(context.Context, api.HostAsk) api.HostAnswer
}

// Config is what Run needs. All members but TLS, Find, Proxy and Logf are required.
type Config struct {
	URL, Token string // of the broker; the token's role is host
	TLS        *tls.Config
	// Find, unless nil, says before each connection where the broker is now, in place of URL and TLS: one that
	// begins again may have another port.
	Find          func() (url string, tls *tls.Config, err error)
	Proxy         func(*http.Request) (*url.URL, error)
	Name, Version string // of this machine, and of this program
	// ID is this host as messages are signed for it, see Identity.
	ID       string
	Executor Executor
	// Accept are the thumbprints of the keys that are obeyed, as they are now.
	Accept func() ([]string, error)
	// Changed has an element when Outbox or Agents may have changed.
	Changed <-chan struct{}
	Logf    func(format string, args ...any)
}

// RefusedError says that the broker does not take this host, and that trying again is of no use.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Run keeps the connection until ctx ends, whose error it returns then. A *RefusedError ends it, too.
func Run(ctx context.Context, cfg Config) error {
	b := retry.Backoff{First: leastPause, Most: mostPause}
	for {
		at := time.Now()
		err := connect(ctx, cfg)
		cfg.Executor.Disconnected()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refused *RefusedError
		if errors.As(err, &refused) {
			return err
		}
		if time.Since(at) > mostPause {
			b.Succeeded()
		}
		pause, news := b.Failed(err)
		if news {
			cfg.Logf("not connected to the broker, and trying again: %v", err)
		}
		if !retry.Wait(ctx, pause/2+rand.N(pause)) {
			return ctx.Err()
		}
	}
}

// connect is one connection, from its beginning to its end, which is never without an error.
func connect(ctx context.Context, cfg Config) error {
	if cfg.Find != nil {
		var err error
		if cfg.URL, cfg.TLS, err = cfg.Find(); err != nil {
			return err
		}
	}
	dialer := websocket.Dialer{TLSClientConfig: cfg.TLS, Proxy: cfg.Proxy, HandshakeTimeout: handshakeTimeout}
	header := http.Header{"Authorization": {"Bearer " + cfg.Token}}
	conn, res, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(strings.TrimSuffix(cfg.URL, "/"), "http")+"/v1/host/ws", header)
	if err != nil {
		if res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
			return &RefusedError{"the broker refuses the token (" + res.Status + "); make one there: assent token create --role host --name " + cfg.Name}
		}
		if res != nil && res.StatusCode == http.StatusNotFound {
			return &RefusedError{"the broker there knows no hosts; update it"}
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetReadLimit(api.MaxBrokerFrame)
	l := &link{cfg: cfg, conn: conn, sent: map[string]bool{}, answers: make(chan api.HostFrame, 1)}
	if err := l.write(api.HostFrame{Type: api.HostHello, Host: cfg.Name, Version: cfg.Version, Agents: l.agents()}); err != nil {
		return err
	}
	in := make(chan api.BrokerFrame)
	over, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		over <- read(ctx, conn, in)
	}()
	err = l.serve(ctx, in, over)
	cancel()
	conn.Close()
	<-done
	l.asking.Wait()
	return err
}

// read hands on what the broker says until the connection ends.
func read(ctx context.Context, conn *websocket.Conn, in chan<- api.BrokerFrame) error {
	alive := func() { _ = conn.SetReadDeadline(time.Now().Add(readTimeout)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(text string) error { alive(); return pong(text) })
	for {
		alive()
		_, text, err := conn.ReadMessage()
		if err != nil {
			return closed(err)
		}
		var f api.BrokerFrame
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("the broker's frame: %w", err)
		}
		select {
		case in <- f:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// closed makes the reason of an end of it.
func closed(err error) error {
	var c *websocket.CloseError
	if errors.As(err, &c) {
		switch c.Code {
		case codeRevoked:
			return &RefusedError{"the token was revoked; make another one at the broker: assent token create --role host"}
		case api.HostClosed:
			return &RefusedError{"another host connected with the same token; each machine needs its own (assent token create --role host)"}
		}
	}
	return err
}

// link is one connection. It belongs to one goroutine.
type link struct {
	cfg      Config
	conn     *websocket.Conn
	welcome  bool
	sent     map[string]bool // frames that are not acknowledged
	told     []api.Agent
	agentsAt time.Time
	answers  chan api.HostFrame // of what is asked; one at a time
	asked    bool
	asking   sync.WaitGroup
}

func (l *link) serve(ctx context.Context, in <-chan api.BrokerFrame, over <-chan error) error {
	tick := time.NewTicker(agentsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-over:
			return err
		case f := <-in:
			if err := l.take(ctx, f); err != nil {
				return err
			}
		case f := <-l.answers:
			l.asked = false
			if err := l.write(f); err != nil {
				return err
			}
		case <-l.cfg.Changed:
		case <-tick.C:
		}
		if !l.welcome {
			continue
		}
		if err := l.flush(); err != nil {
			return err
		}
	}
}

// take is one frame of the broker.
func (l *link) take(ctx context.Context, f api.BrokerFrame) error {
	switch f.Type {
	case api.BrokerWelcome:
		if !l.welcome {
			l.cfg.Logf("connected to %s", l.cfg.URL)
		}
		l.welcome = true
		for _, p := range f.Problems[:min(len(f.Problems), maxProblems)] {
			l.cfg.Logf("the broker says: %.300s", p)
		}
		l.cfg.Executor.Halt(f.Stopped)
		l.cfg.Executor.Held(f.Held)
	case api.BrokerMessage:
		if f.Message == nil {
			return errors.New("the broker sent a message without one")
		}
		l.order(*f.Message)
	case api.BrokerHalt:
		l.cfg.Executor.Halt(f.Stopped)
	case api.BrokerForget:
		l.cfg.Executor.Forget(f.Sessions)
	case api.BrokerAck:
		if !f.OK {
			l.cfg.Logf("the broker does not record %.100s: %.300s", f.ID, f.Detail)
		}
		delete(l.sent, f.ID)
		l.cfg.Executor.Acked(f.ID, f.OK)
	case api.BrokerAsks:
		return l.answer(ctx, f)
	}
	return nil
}

// answer has what is asked answered, while the connection goes on.
func (l *link) answer(ctx context.Context, f api.BrokerFrame) error {
	if f.Ask == nil {
		return errors.New("the broker asked for nothing")
	}
	answer := api.HostFrame{Type: api.HostAnswers, ID: f.ID}
	if l.asked {
		answer.Answer = &api.HostAnswer{Status: http.StatusServiceUnavailable, Detail: "its host is looking at something else; try again"}
		return l.write(answer)
	}
	l.asked = true
	l.asking.Go(func() {
		a := l.cfg.Executor.Answer(ctx, *f.Ask)
		answer.Answer = &a
		l.answers <- answer // it has room for the one
	})
	return nil
}

// order hands a message on if it is to be obeyed.
func (l *link) order(m hook.Message) {
	accept, err := l.cfg.Accept()
	if err != nil && m.Kind == hook.MessageCancel {
		accept, err = l.cfg.Executor.Stoppers(m.SessionID), nil
	}
	if err != nil {
		l.cfg.Executor.Refuse(m.ID, "agents.yaml on the host: "+err.Error())
		return
	}
	o, why := orderOf(m, l.cfg.ID, accept)
	if why != "" {
		l.cfg.Executor.Refuse(m.ID, why)
		return
	}
	l.cfg.Executor.Offer(o)
}

// flush writes what the broker does not have yet.
func (l *link) flush() error {
	for _, f := range l.cfg.Executor.Outbox() {
		if len(l.sent) >= maxInFlight {
			break
		}
		if l.sent[f.ID] {
			continue
		}
		if f.Type == api.HostEnded || f.Type == api.HostLost {
			// Until now the message tells the broker whose the session is.
			if err := l.tellAgents(); err != nil {
				return err
			}
		}
		if err := l.write(f); err != nil {
			return err
		}
		l.sent[f.ID] = true
	}
	if done := l.cfg.Executor.Forgotten(); len(done) > 0 {
		if err := l.write(api.HostFrame{Type: api.HostForgot, Sessions: done}); err != nil {
			return err
		}
	}
	if time.Since(l.agentsAt) < agentsEvery {
		return nil
	}
	return l.tellAgents()
}

// tellAgents says what the agents and their sessions are if that is not what was said last.
func (l *link) tellAgents() error {
	before := l.told
	if agents := l.agents(); !reflect.DeepEqual(agents, before) {
		return l.write(api.HostFrame{Type: api.HostAgents, Agents: agents})
	}
	return nil
}

func (l *link) agents() []api.Agent {
	l.agentsAt, l.told = time.Now(), slices.Clone(l.cfg.Executor.Agents())
	for i := range l.told {
		l.told[i].HostID = l.cfg.ID
	}
	return l.told
}

func (l *link) write(f api.HostFrame) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return l.conn.WriteJSON(f)
}
