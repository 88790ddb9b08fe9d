package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Consumer reads hook events as a program does that knows nothing of assent: with nats.go and
// what stands in nats-info.json.
type Consumer struct {
	mu   sync.Mutex
	seen []Message // guarded by mu
}

// Message is one of the event stream.
type Message struct {
	Subject string
	ID      string // Nats-Msg-Id
	Agent   string // Assent-Agent
	Data    string
	Spooled bool
}

// Connect connects with the token of nats-info.json.
func Connect(t *testing.T, d *Daemon) (*nats.Conn, string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.State, ".runtime", "nats-info.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ URL, Token, Stream, Subjects string }
	if err := json.Unmarshal(b, &info); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(info.URL, nats.Token(info.Token), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, info.Stream
}

// Consume starts to read all that is in the stream, and what comes.
func Consume(t *testing.T, d *Daemon) *Consumer {
	t.Helper()
	nc, stream := Connect(t, d)
	return ConsumeOn(t, nc, stream)
}

// ConsumeOn reads a stream on a connection, from its beginning.
func ConsumeOn(t *testing.T, nc *nats.Conn, stream string) *Consumer {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	jc, err := js.OrderedConsumer(t.Context(), stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"hooks.>"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Consumer{}
	cc, err := jc.Consume(func(m jetstream.Msg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, Message{m.Subject(), m.Headers().Get("Nats-Msg-Id"), m.Headers().Get("Assent-Agent"), string(m.Data()), m.Headers().Get("Assent-Spooled") != ""})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cc.Stop)
	return c
}

// Take returns what came since the last call.
func (c *Consumer) Take() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := c.seen
	c.seen = nil
	return ms
}

// Flood sends n events of about size bytes through the broker's socket, over a few connections
// that stay: it is about the stream, not about processes.
func (d *Daemon) Flood(t *testing.T, n, size int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 8,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.Socket)
		},
	}}
	defer client.CloseIdleConnections()
	filling := strings.Repeat("x", size)
	var wg sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range work {
				body := fmt.Appendf(nil, `{"session_id":"flood","hook_event_name":"Notification","n":%d,"message":%q}`, i, filling)
				// 503 is a busy disk, where a hook would spool.
				id, tick, end := uuid.NewString(), time.NewTicker(5*time.Millisecond), time.Now().Add(3*Soon)
				for !d.Send(client, id, body) {
					if <-tick.C; time.Now().After(end) {
						t.Errorf("event %d is not taken", i)
						break
					}
				}
				tick.Stop()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// Send posts an event as a hook client would and reports whether it is stored.
func (d *Daemon) Send(client *http.Client, id string, body []byte) bool {
	req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
	if err != nil {
		panic(err) // a bug in the test
	}
	req.Header.Set("Assent-Request-Id", id)
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Body.Close() == nil && res.StatusCode == http.StatusNoContent
}
