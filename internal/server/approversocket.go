package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/text/strictjson"
)

// maxTickets bounds the tickets that are out, each for one WebSocket; the oldest goes first.
const maxTickets = 64

// tickets are those of the page's WebSockets, each with the bearer that it stands for. Its zero value is good.
type tickets struct {
	mu    sync.Mutex
	m     map[string]string // guarded by mu
	order []string          // guarded by mu
}

func (t *tickets) put(bearer string) (ticket string) {
	ticket = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = map[string]string{}
	}
	if len(t.order) >= maxTickets {
		delete(t.m, t.order[0])
		t.order = t.order[1:]
	}
	t.m[ticket], t.order = bearer, append(t.order, ticket)
	return ticket
}

func (t *tickets) take(ticket string) (bearer string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bearer, ok = t.m[ticket]
	delete(t.m, ticket)
	return bearer, ok
}

// ticket is POST /v1/ws/ticket: one of ours, because what the WebSocket brings is read with the caller's bearer. Whether that is
// good, the broker says.
func (a *approver) ticket(w http.ResponseWriter, r *http.Request) {
	var t api.Ticket
	if err := a.cfg.Client.With(bearer(r)).Call(r.Context(), http.MethodPost, "/v1/ws/ticket", nil, &t); err != nil {
		a.failed(w, err)
		return
	}
	t.Ticket = a.tickets.put(bearer(r))
	a.writeJSON(w, r, http.StatusOK, t)
}

// socket is GET /v1/ws: the broker's messages, with every request as it is read here.
func (a *approver) socket(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	secret, ok := a.tickets.take(q.Get("ticket"))
	if !ok {
		writeProblem(w, problem{Status: http.StatusUnauthorized, Detail: "no such ticket: ask for another one"})
		return
	}
	q.Del("ticket")
	conn, err := a.upgrader().Upgrade(w, r, nil) // answers by itself when it refuses
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	as := a.cfg.Client.With(secret)
	var both sync.WaitGroup
	defer both.Wait()
	defer conn.Close() // ends the reader
	both.Go(func() {
		defer cancel()
		a.readSocket(conn)
	})
	messages := make(chan []byte)
	ended := make(chan error, 1)
	both.Go(func() { ended <- as.Listen(ctx, "?"+q.Encode(), messages, func() {}) })
	defer cancel()

	out := &socketWriter{conn: conn, wait: a.writeWait}
	code, why := a.passOn(ctx, as, out, messages, ended)
	out.close(code, why)
}

// passOn sends what comes until one of the two ends. It returns what to close the page's WebSocket with.
func (a *approver) passOn(ctx context.Context, as *api.Client, out *socketWriter, messages <-chan []byte, ended <-chan error) (code int, why string) {
	ping := time.NewTicker(a.pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case m := <-messages:
			if m, err = a.message(ctx, as, m); err == nil {
				err = out.message(m)
			}
		case <-ping.C:
			err = out.ping()
		case err := <-ended:
			var closed *websocket.CloseError
			if errors.As(err, &closed) && closed.Code == closeRevoked {
				return closeRevoked, "revoked"
			}
			return websocket.CloseGoingAway, "the broker is gone"
		case <-ctx.Done():
			return websocket.CloseGoingAway, ""
		}
		if err != nil {
			if ctx.Err() == nil {
				a.log.Warn("a WebSocket ended", zap.String("error", line(err.Error())))
			}
			return websocket.CloseGoingAway, ""
		}
	}
}

// message is a message of the broker's as the page gets it. One that two readers could read in two ways is an error.
func (a *approver) message(ctx context.Context, as *api.Client, text []byte) ([]byte, error) {
	members, err := strictjson.Object(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotData, err)
	}
	_, repeated := strictjson.Repeated(members)
	if _, varied := strictjson.Variant(members, "type", "requests", "changes"); repeated || varied {
		return nil, fmt.Errorf("%w: a member twice", errNotData)
	}
	var out bytes.Buffer
	for i, m := range members {
		value := m.Value
		switch m.Key {
		case "requests":
			var list []*api.Request
			if err := json.Unmarshal(value, &list); err != nil {
				return nil, fmt.Errorf("%w: %w", errNotData, err)
			}
			if value, err = json.Marshal(a.readAll(ctx, as, list)); err != nil {
				return nil, err
			}
		case "changes":
			if value, err = a.changes(ctx, as, value); err != nil {
				return nil, err
			}
		}
		out.WriteByte("{,"[min(i, 1)])
		out.Write(m.Name)
		out.WriteByte(':')
		out.Write(value)
	}
	if len(members) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// changes are those of a message.
func (a *approver) changes(ctx context.Context, as *api.Client, text []byte) ([]byte, error) {
	var changes []struct {
		Seq     uint64       `json:"seq"`
		Request *api.Request `json:"request"`
	}
	if err := json.Unmarshal(text, &changes); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotData, err)
	}
	list := make([]*api.Request, len(changes))
	for i, c := range changes {
		list[i] = c.Request
	}
	for i, r := range a.readAll(ctx, as, list) {
		changes[i].Request = r
	}
	return json.Marshal(changes)
}
