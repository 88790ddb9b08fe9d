package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/auth"
	"assent/internal/store/history"
)

// closeRevoked is the close code for a credential that was revoked or ran out.
const closeRevoked = 4401

// Why a WebSocket ends.
var (
	errRevoked = errors.New("the credential was revoked or ran out")
	errPeer    = errors.New("the client closed or was silent")
)

// webSocket is GET /v1/ws: the live state, or with feed=SESSION the feed of one session. It is
// let in by a ticket, or by a bearer where the client can send one; epoch and after, or after and
// last for a feed, ask to go on where an earlier connection was.
func (s *Server) webSocket(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var p auth.Principal
	var err error
	switch {
	case q.Has("ticket") && !websocket.IsWebSocketUpgrade(r): // a plain GET of the address does not spend the ticket
		writeProblem(w, problem{Status: http.StatusBadRequest, Detail: "a ticket is for a WebSocket handshake"})
		return
	case q.Has("ticket"):
		p, err = s.cfg.Auth.RedeemTicket(q.Get("ticket"))
	default:
		p, err = s.cfg.Auth.Authenticate(bearer(r))
	}
	if err != nil {
		s.unknown(w, r, q.Get("ticket")+bearer(r), err)
		return
	}
	if !p.Role.Includes(auth.RoleView) {
		writeProblem(w, lacking(auth.RoleView))
		return
	}
	uses(r, stays)
	var after uint64
	if text := q.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 63); err != nil {
			writeProblem(w, badField("after", "want a sequence number"))
			return
		}
	}
	if q.Has("feed") && q.Get("feed") == "" {
		writeProblem(w, badField("feed", "want the id of a session"))
		return
	}
	if q.Has("feed") && s.cfg.History == nil {
		s.fail(w, r, history.ErrNotReady)
		return
	}
	left, ok := s.enterSocket(w, r)
	if !ok {
		return
	}
	defer left()
	messages := s.messagesSoFar()                // before the client knows of the socket, and reads what came before it
	conn, err := s.upgrader().Upgrade(w, r, nil) // answers by itself when it refuses
	if err != nil {
		return
	}
	s.metrics.sockets.Inc()
	defer s.metrics.sockets.Dec()
	if p.Role.Includes(auth.RoleApprove) && !q.Has("feed") {
		defer s.metrics.watches(p.Approver.Kind)()
		s.watchers.Add(1)
		defer s.watchers.Add(-1)
		if p.Approver.Kind == "device" {
			s.pages.Add(1)
			defer s.pages.Add(-1)
		}
	}
	send := func(ctx context.Context, out *socketWriter) error {
		watcher := s.cfg.Broker.Watch(q.Get("epoch"), after)
		defer watcher.Close()
		return s.follow(ctx, watcher, q.Get("epoch"), messages, out)
	}
	if q.Has("feed") {
		send = func(ctx context.Context, out *socketWriter) error {
			return s.followFeed(ctx, q.Get("feed"), feedCursor{after, q.Get("last")}, out)
		}
	}
	s.serveSocket(conn, p, send)
}

// open counts one more connection that net/http no longer does, unless the server is closing.
func (s *Server) open(kind *sync.WaitGroup) bool {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	kind.Add(1)
	return true
}

func (s *Server) upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		HandshakeTimeout: 5 * time.Second,
		ReadBufferSize:   1 << 10,
		WriteBufferSize:  16 << 10,
		WriteBufferPool:  &s.writeBuffers, // an idle WebSocket holds none
		CheckOrigin:      s.originOK,
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			writeProblem(w, problem{Status: status, Detail: reason.Error()})
		},
	}
}

// serveSocket has send send until the client goes, the credential ends or the server closes. It
// is the only writer of conn; the reader that it starts has ended when it returns.
func (s *Server) serveSocket(conn *websocket.Conn, p auth.Principal, send func(context.Context, *socketWriter) error) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	defer p.OnRevoke(func() { cancel(errRevoked) })()
	if !p.ExpiresAt.IsZero() {
		t := time.AfterFunc(time.Until(p.ExpiresAt), func() { cancel(errRevoked) })
		defer t.Stop()
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		s.readSocket(conn)
		cancel(errPeer)
	})
	defer reader.Wait()
	defer conn.Close() // ends the reader

	out := &socketWriter{conn: conn, wait: s.writeWait}
	err := send(ctx, out)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRevoked):
		out.close(closeRevoked, "revoked")
	case s.ctx.Err() != nil || errors.Is(err, broker.ErrStopping):
		out.close(websocket.CloseGoingAway, "the broker is stopping")
	case errors.Is(err, errSlow):
		s.metrics.dropped.Inc()
		s.log.Info("a WebSocket was dropped: its client was too slow", zap.String("kind", p.Approver.Kind), zap.String("name", line(p.Approver.Name)))
	}
}

// readSocket takes what the client sends, which is only its answers to pings, until it is gone
// or silent for too long.
func (s *Server) readSocket(conn *websocket.Conn) {
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(s.deadAfter)) }
	conn.SetReadLimit(4 << 10)
	conn.SetPongHandler(alive)
	conn.SetPingHandler(func(string) error { return nil }) // answering would be a second writer
	conn.SetCloseHandler(func(int, string) error { return nil })
	if alive("") != nil {
		return
	}
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

// follow sends what the watcher has, the states of sessions and rules, and a ping in between, until ctx is
// done or sending fails. epoch is the broker's if the watcher goes on from an earlier
// connection; else a snapshot comes first and tells it. sentMessages is the last change of messages
// that the client can read by itself.
func (s *Server) follow(ctx context.Context, watcher *broker.Watcher, epoch string, sentMessages uint64, out *socketWriter) error {
	ping := s.pinger(out)
	var sentSessions uint64                      // the last change of the session index
	sessions, changed := context.WithCancel(ctx) // done when sessions changed
	changed()                                    // a client that resumes has an old state of them
	rules, sentRules := sessions, ""             // done when there is news of the rules
	halt, sentHalt := sessions, haltSent{}       // done when something was stopped or paused, or no longer is
	messages := sessions                         // done when a message changed
	agents, sentAgents := sessions, uint64(0)    // done when an agent did
	timer := time.AfterFunc(time.Until(ping.next), watcher.Wake)
	defer timer.Stop()
	var wake waker
	defer wake.stop()
	for {
		wake.on(watcher.Wake, sessions, rules, halt, messages, agents)
		batch, err := watcher.Next(ctx)
		if ctx.Err() != nil { // whatever there is: the credential may be gone
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if batch.Snapshot != nil {
			epoch = batch.Snapshot.Epoch
		}
		if err := s.sendBatch(out, epoch, batch, &sentSessions); err != nil {
			return err
		}
		if sessions, err = s.sendSessions(out, &sentSessions); err != nil {
			return err
		}
		if rules, err = s.sendRules(out, &sentRules); err != nil {
			return err
		}
		if halt, err = s.sendHalt(out, &sentHalt); err != nil {
			return err
		}
		if messages, err = s.sendMessages(out, &sentMessages); err != nil {
			return err
		}
		if agents, err = s.sendAgents(out, &sentAgents); err != nil {
			return err
		}
		if time.Now().Before(ping.next) {
			continue
		}
		if err := ping.due(); err != nil {
			return err
		}
		timer.Reset(time.Until(ping.next))
	}
}

// waker calls a function when one of several contexts is done. It asks only those that are others than the last
// time: a burst wakes each socket a thousand times, and most of what it waits for stays as it is.
type waker []struct {
	ctx  context.Context
	stop func() bool
}

// on is called with as many contexts each time, each kind in its place.
func (w *waker) on(wake func(), kinds ...context.Context) {
	if *w == nil {
		*w = make(waker, len(kinds))
	}
	for i, ctx := range kinds {
		if k := &(*w)[i]; k.ctx != ctx {
			if k.stop != nil {
				k.stop()
			}
			k.ctx, k.stop = ctx, context.AfterFunc(ctx, wake)
		}
	}
}

// stop is for the end.
func (w *waker) stop() {
	for _, k := range *w {
		k.stop()
	}
}

// pinger sends a ping whenever one is due.
type pinger struct {
	out   *socketWriter
	every time.Duration
	next  time.Time
}

func (s *Server) pinger(out *socketWriter) *pinger {
	return &pinger{out, s.pingEvery, time.Now().Add(s.pingEvery)}
}

func (p *pinger) due() error {
	now := time.Now()
	if now.Before(p.next) {
		return nil
	}
	p.next = now.Add(p.every)
	return p.out.ping()
}

// socketWriter writes to one WebSocket, each piece within wait.
type socketWriter struct {
	conn *websocket.Conn
	wait time.Duration
}

// errSlow says that the client did not take a piece in time.
var errSlow = errors.New("the client is too slow")

// pieceSize is how much a client must take within writeWait.
const pieceSize = 64 << 10

// message sends one text message made of parts.
func (o *socketWriter) message(parts ...[]byte) error {
	if err := o.conn.SetWriteDeadline(time.Now().Add(o.wait)); err != nil {
		return err
	}
	w, err := o.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return slow(err)
	}
	for _, p := range parts {
		for len(p) > 0 {
			n := min(len(p), pieceSize)
			if err := o.conn.SetWriteDeadline(time.Now().Add(o.wait)); err != nil {
				return err
			}
			if _, err := w.Write(p[:n]); err != nil {
				return slow(err)
			}
			p = p[n:]
		}
	}
	return slow(w.Close())
}

func (o *socketWriter) ping() error {
	return slow(o.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(o.wait)))
}

// close says why, if the client still takes it; a second is enough for that.
func (o *socketWriter) close(code int, why string) {
	_ = o.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
}

func slow(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errSlow
	}
	return err
}

// enterSocket counts one more WebSocket, until left is called; where there are too many, or the broker stops, it
// answers and ok is false.
func (s *Server) enterSocket(w http.ResponseWriter, r *http.Request) (left func(), ok bool) {
	select {
	case s.slots <- struct{}{}:
	default:
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "too many WebSockets are open"})
		return nil, false
	}
	if !s.open(&s.sockets) {
		<-s.slots
		s.fail(w, r, broker.ErrStopping)
		return nil, false
	}
	return func() {
		s.sockets.Done()
		<-s.slots
	}, true
}
