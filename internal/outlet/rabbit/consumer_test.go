package rabbit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/outlet/rabbit"
)

// sink is what a Consumer stores into. Bodies that begin with "bad" cannot be stored while it is
// broken.
type sink struct {
	mu     sync.Mutex
	broken bool     // guarded by mu
	stored []string // guarded by mu
	tried  []string // guarded by mu
	log    []string // guarded by mu
}

func (s *sink) store(_ context.Context, bodies [][]byte) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(bodies))
	for i, b := range bodies {
		s.tried = append(s.tried, string(b))
		if s.broken && strings.HasPrefix(string(b), "bad") {
			errs[i] = errors.New("it is bad")
			continue
		}
		s.stored = append(s.stored, string(b))
	}
	return errs
}

func (s *sink) logf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *sink) fix(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// has returns how often each of these was stored.
func (s *sink) has(bodies ...string) (n []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bodies {
		k := 0
		for _, x := range s.stored {
			if x == b {
				k++
			}
		}
		n = append(n, k)
	}
	return n
}

func (s *sink) said(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.log, func(l string) bool { return strings.Contains(l, text) })
}

// consume runs a Consumer until stop is called.
func consume(t *testing.T, url string, s *sink) (stop func()) {
	t.Helper()
	c, err := rabbit.NewConsumer(rabbit.ConsumerConfig{URL: url, Queue: "own", Store: s.store, Logf: s.logf})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func send(t *testing.T, url, exchange, key string, bodies ...string) {
	t.Helper()
	ch := channel(t, url)
	for _, b := range bodies {
		if err := ch.Publish(exchange, key, false, false, amqp.Publishing{Body: []byte(b), DeliveryMode: amqp.Persistent, Timestamp: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ch.Close(); err != nil { // an answer: what was sent is there
		t.Fatal(err)
	}
}

// waiting is how many messages are in a queue, -1 if it is not there.
func waiting(t *testing.T, url, queue string) int {
	t.Helper()
	n := -1
	inPassing(t, url, func(ch *amqp.Channel) {
		if q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil); err == nil {
			n = q.Messages
		}
	})
	return n
}

// inPassing looks at something over a connection that is gone afterwards: who waits looks often.
func inPassing(t *testing.T, url string, look func(*amqp.Channel)) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	look(ch)
}

// aside is the messages in own.failed, each once, in alphabetical order; they stay there. A message
// may be there twice: who sweeps publishes it again before the old one is acknowledged, and RabbitMQ
// may end in between.
func aside(t *testing.T, url string) string {
	t.Helper()
	var bodies []string
	inPassing(t, url, func(ch *amqp.Channel) {
		for {
			m, ok, err := ch.Get("own.failed", false) // given back when the connection ends
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return
			}
			bodies = append(bodies, string(m.Body))
		}
	})
	slices.Sort(bodies)
	return strings.Join(slices.Compact(bodies), ", ")
}

func TestConsumer(t *testing.T) {
	t.Parallel()
	r := node(t, "")
	url := r.URL()
	s := &sink{broken: true}
	stop := consume(t, url, s)
	eventually(t, "it reads", func() bool { return s.said("reading from queue own") })

	// What cannot be stored is set aside and holds up nothing.
	send(t, url, rabbit.Exchange, "tool.mutation.write", "one", "bad two", "three")
	send(t, url, rabbit.Exchange, "other", "not ours")
	eventually(t, "the good ones are stored", func() bool { return slices.Equal(s.has("one", "three"), []int{1, 1}) })
	eventually(t, "the bad one is set aside", func() bool { return waiting(t, url, "own.failed") == 1 })

	// A queue that somebody removes is made again; what cannot be set aside is not acknowledged.
	if _, err := channel(t, url).QueueDelete("own.failed", false, false, false); err != nil {
		t.Fatal(err)
	}
	send(t, url, rabbit.Exchange, "tool.mutation.write", "bad four")
	eventually(t, "it is set aside all the same", func() bool { return waiting(t, url, "own.failed") == 1 })
	if _, err := channel(t, url).QueueDelete("own", false, false, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the queue is made again", func() bool { return waiting(t, url, "own") == 0 })

	// RabbitMQ goes away and comes back with what it had.
	r.Kill()
	eventually(t, "it notices", func() bool { return s.said("is away") })
	start(t, r)
	eventually(t, "it reads again", func() bool {
		send(t, url, rabbit.Exchange, "tool.mutation.write", "five")
		return s.has("five")[0] > 0
	})
	eventually(t, "what was set aside is there", func() bool { return aside(t, url) == "bad four" })
	stop()

	// The next one tries again what was set aside, but for what is too old.
	old := amqp.Publishing{Body: []byte("bad and old"), Timestamp: time.Now().Add(-8 * 24 * time.Hour)}
	if err := channel(t, url).Publish("", "own.failed", false, false, old); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is there", func() bool { return aside(t, url) == "bad and old, bad four" })
	stop = consume(t, url, s)
	eventually(t, "the old one is given up", func() bool { return s.said("given up") })
	eventually(t, "the other waits", func() bool { return aside(t, url) == "bad four" })
	stop()
	s.fix(false)
	consume(t, url, s)
	eventually(t, "it is stored at last", func() bool { return s.has("bad four")[0] > 0 })
	eventually(t, "nothing is left", func() bool { return waiting(t, url, "own.failed") == 0 && waiting(t, url, "own") == 0 })
	if n := s.has("not ours", "bad and old"); !slices.Equal(n, []int{0, 0}) {
		t.Errorf("%v", n)
	}
}

// A message is acknowledged after it was stored, not before.
func TestConsumerStopsWhileItStores(t *testing.T) {
	t.Parallel()
	url := shareURL(t)
	began, ctx := make(chan struct{}), t.Context()
	c, err := rabbit.NewConsumer(rabbit.ConsumerConfig{URL: url, Queue: "own", Store: func(ctx context.Context, bodies [][]byte) []error {
		close(began)
		<-ctx.Done()
		return make([]error, len(bodies))
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	eventually(t, "the queue is there", func() bool { return waiting(t, url, "own") == 0 })
	send(t, url, "", "own", "one")
	<-began
	cancel()
	<-done
	eventually(t, "the message is back", func() bool { return waiting(t, url, "own") == 1 })
}
