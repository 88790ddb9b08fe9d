package rabbit_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"

	"assent/e2e/rig/rabbitmq"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/outlet/rabbit"
	"assent/internal/store/follow"
)

// node starts a RabbitMQ of the test's own, or skips the test where there is none, or no time for one.
func node(t *testing.T, config string) *rabbitmq.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("RabbitMQ takes its time to start")
	}
	r, err := rabbitmq.New(t.TempDir(), config)
	skipOrFail(t, err)
	t.Cleanup(r.Close)
	start(t, r)
	return r
}

func start(t *testing.T, r *rabbitmq.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// events is an EVENTS stream in memory, with a cursor beside it.
type events struct {
	mu     sync.Mutex
	list   []hook.Event
	more   chan struct{} // closed and replaced when list grows
	cursor uint64
	in     time.Time // the stream that cursor counts in
	made   time.Time
	saved  bool
	reads  int // calls of Events
}

func newEvents() *events { return &events{more: make(chan struct{}), made: time.Now()} }

// write adds an event of a session.
func (s *events) write(session string, n int, text string) {
	s.add(hook.Event{Type: "PostToolUse", Agent: "claude", Raw: fmt.Appendf(nil,
		`{"session_id":%q,"hook_event_name":"PostToolUse","tool_name":"Write","tool_use_id":"%s-%d","tool_input":{"file_path":"/f","content":%q}}`, session, session, n, text)})
}

func (s *events) add(e hook.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Seq = uint64(len(s.list) + 1)
	e.ID = fmt.Sprintf("e%d", e.Seq)
	e.Time = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	s.list = append(s.list, e)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *events) follow(ctx context.Context, after follow.Cursor, fn func(hook.Event)) error {
	s.mu.Lock()
	s.reads++
	s.mu.Unlock()
	if !after.Made.Equal(s.made) {
		return follow.ErrAnew
	}
	from := after.Seq + 1
	for {
		s.mu.Lock()
		list, more := s.list, s.more
		s.mu.Unlock()
		for from <= uint64(len(list)) && ctx.Err() == nil {
			fn(list[from-1])
			from++
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *events) now(context.Context) (follow.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return follow.Stream{Made: s.made, Last: uint64(len(s.list))}, nil
}

func (s *events) load(context.Context) (follow.Cursor, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return follow.Cursor{Seq: s.cursor, Made: s.in}, s.saved, nil
}

func (s *events) save(_ context.Context, c follow.Cursor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor, s.in, s.saved = c.Seq, c.Made, true
	return nil
}

// publisher is a Publisher at work on events.
type publisher struct {
	*rabbit.Publisher
	t    *testing.T
	stop func()
	mu   sync.Mutex
	logs []string // guarded by mu
}

// publish runs a Publisher until the end of the test, or stop.
func publish(t *testing.T, url string, s *events) *publisher {
	t.Helper()
	return publishWith(t, rabbit.Config{URL: url}, s)
}

func publishWith(t *testing.T, cfg rabbit.Config, s *events) *publisher {
	t.Helper()
	p := &publisher{t: t}
	cfg.Events, cfg.EventsNow, cfg.Load, cfg.Save = s.follow, s.now, s.load, s.save
	cfg.Mutation, cfg.Encode = claude.MutationOf(claude.DefaultMutationTools()), claude.EncodeMutation
	cfg.Logf = func(format string, args ...any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.logs = append(p.logs, fmt.Sprintf(format, args...))
	}
	var err error
	if p.Publisher, err = rabbit.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Log(p.said())
		}
	})
	return p
}

func (p *publisher) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.logs, "\n")
}

// metric is the value of one of the publisher's metrics.
func (p *publisher) metric(name string) float64 {
	p.t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(p.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	p.t.Fatalf("no metric %s", name)
	return 0
}

// patience bounds a hang only: thousands of messages, and a node that starts, take a while on a
// machine that others load.
const patience = 5 * time.Minute

// eventually calls ok until it is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// channel opens a channel for the test's own business.
func channel(t testing.TB, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// bind makes a durable queue for everything.
func bind(t testing.TB, url, name string) {
	t.Helper()
	bindTo(t, url, rabbit.Exchange, name)
}

func bindTo(t testing.TB, url, exchange, name string) {
	t.Helper()
	ch := channel(t, url)
	err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil)
	if err == nil {
		_, err = ch.QueueDeclare(name, true, false, false, false, nil)
	}
	if err == nil {
		err = ch.QueueBind(name, "tool.mutation.#", exchange, false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// queueReader reads a queue and drops what it has seen, as docs/rabbitmq.md tells services to.
type queueReader struct {
	t          *testing.T
	url, queue string
	seen       map[string]bool
	repeats    int
}

func reader(t *testing.T, url, queue string) *queueReader {
	return &queueReader{t: t, url: url, queue: queue, seen: map[string]bool{}}
}

// take returns the next n messages with an id that did not come before, in this or an earlier call.
func (r *queueReader) take(n int) (got []amqp.Delivery) {
	r.t.Helper()
	ch := channel(r.t, r.url)
	eventually(r.t, fmt.Sprintf("%d messages", n), func() bool {
		for len(got) < n {
			m, ok, err := ch.Get(r.queue, true)
			if err != nil {
				r.t.Fatal(err)
			}
			if !ok {
				return false
			}
			if r.seen[m.MessageId] {
				r.repeats++
				continue
			}
			r.seen[m.MessageId] = true
			got = append(got, m)
		}
		return true
	})
	return got
}

// take is a reader's first take.
func take(t *testing.T, url, queue string, n int) []amqp.Delivery {
	t.Helper()
	return reader(t, url, queue).take(n)
}

func toolUse(t *testing.T, m amqp.Delivery) string {
	t.Helper()
	doc, err := claude.DecodeMutation(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc.ToolUseID
}

func inOrder(t *testing.T, got []amqp.Delivery, session string, first int) {
	t.Helper()
	for i, m := range got {
		if id := toolUse(t, m); id != fmt.Sprintf("%s-%d", session, first+i) {
			t.Fatalf("message %d is %s", i, id)
		}
	}
}

// TestPublisher takes one RabbitMQ through what it can do to a publisher, as long as it runs.
func TestPublisher(t *testing.T) {
	t.Parallel()
	users, err := definitions(t.TempDir(), []string{"/"},
		user{Name: "guest", Password: "guest", configure: ".*", write: ".*", read: ".*"},
		user{Name: "poor", Password: "p@ss", configure: "^$", write: "^hookd\\.events$", read: "^$"},
		user{Name: "late", Password: "other", configure: ".*", write: ".*", read: ".*"})
	if err != nil {
		t.Fatal(err)
	}
	r := node(t, users+"max_message_size = 1000000\n")

	t.Run("a cursor of its own", func(t *testing.T) {
		s := newEvents()
		s.write("before", 0, "")
		bind(t, r.URL(), "place")
		p := publish(t, r.URL(), s)
		s.write("s", 0, "\n")
		s.write("s", 0, "\n") // told again
		s.add(hook.Event{Type: "Stop", Raw: []byte(`{}`)})
		s.add(hook.Event{Type: "PostToolUse", Raw: []byte(`{"tool_name":[]}`), Missed: 3})
		s.write("s", 1, "\n")
		queue := reader(t, r.URL(), "place")
		got := queue.take(2)
		inOrder(t, got, "s", 0)
		if m := got[0]; m.RoutingKey != "tool.mutation.write" || m.ContentType != "application/json" || m.DeliveryMode != amqp.Persistent ||
			m.Type != "ToolMutationEvent" || m.AppId != "assent" || m.Timestamp.Unix() != 1795273200 {
			t.Errorf("message %+v", m)
		}
		eventually(t, "no lag", func() bool { return p.metric("assent_amqp_lag_events") == 0 })
		for name, want := range map[string]float64{"published": 2, "repeated": 1, "unreadable": 1, "missed": 3} {
			if n := p.metric("assent_amqp_" + name + "_total"); n != want {
				t.Errorf("%s %v, want %v", name, n, want)
			}
		}
		p.stop()
		if s.cursor != 6 {
			t.Errorf("the cursor is %d, want 6", s.cursor)
		}
		p = publish(t, r.URL(), s)
		s.write("s", 2, "")
		inOrder(t, queue.take(1), "s", 2)
	})

	t.Run("a message too large", func(t *testing.T) {
		s := newEvents()
		bind(t, r.URL(), "large")
		p := publish(t, r.URL(), s)
		large := strings.Repeat("x", 1_100_000)
		for i := range 20 {
			s.write("s", i, "")
			if i == 9 || i == 15 {
				s.write("large", i, large)
			}
		}
		inOrder(t, take(t, r.URL(), "large", 20), "s", 0)
		if n := p.metric("assent_amqp_unreadable_total"); n != 2 {
			t.Errorf("%v were left out, want 2", n)
		}
	})

	t.Run("it is short of memory", func(t *testing.T) {
		s := newEvents()
		bind(t, r.URL(), "short")
		p := publish(t, r.URL(), s)
		s.write("s", 0, "")
		got := reader(t, r.URL(), "short")
		inOrder(t, got.take(1), "s", 0)
		ctl(t, r, "set_vm_memory_high_watermark", "absolute", "1MB")
		written := 0
		write := func(n int) {
			for range n {
				written++
				s.write("s", written, strings.Repeat("x", 2000))
			}
		}
		write(3000)
		eventually(t, "it says so", func() bool {
			write(1) // the alarm may come a little later, and is told to who publishes after it
			return strings.Contains(p.said(), "takes nothing at the moment")
		})
		write(10)
		if p.metric("assent_amqp_lag_events") == 0 {
			t.Error("there is no lag")
		}
		ctl(t, r, "set_vm_memory_high_watermark", "0.4")
		inOrder(t, got.take(written), "s", 1)
		if !strings.Contains(p.said(), "takes messages again") {
			t.Error("it does not say that it is over")
		}
	})

	t.Run("a user with few rights", func(t *testing.T) {
		bind(t, r.URL(), "poor")
		s := newEvents()
		publish(t, strings.Replace(r.URL(), "guest:guest", "poor:p%40ss", 1), s)
		s.write("s", 0, "")
		inOrder(t, take(t, r.URL(), "poor", 1), "s", 0)
	})

	t.Run("a wrong password", func(t *testing.T) {
		s := newEvents()
		bind(t, r.URL(), "wrong")
		p := publish(t, strings.Replace(r.URL(), "guest:guest", "late:hunter2", 1), s)
		s.write("s", 0, "")
		eventually(t, "it says so", func() bool { return strings.Contains(p.said(), "check user, password") })
		if strings.Contains(p.said(), "hunter2") {
			t.Errorf("the password is in the log: %s", p.said())
		}
		ctl(t, r, "change_password", "late", "hunter2")
		inOrder(t, take(t, r.URL(), "wrong", 1), "s", 0)
	})

	t.Run("the exchange goes away", func(t *testing.T) {
		s := newEvents()
		publish(t, r.URL(), s)
		s.write("s", 0, "")
		eventually(t, "it is published", func() bool { c, _, _ := s.load(t.Context()); return c.Seq == 1 })
		if err := channel(t, r.URL()).ExchangeDelete(rabbit.Exchange, false, false); err != nil {
			t.Fatal(err)
		}
		s.write("s", 1, "")
		eventually(t, "it is published", func() bool { c, _, _ := s.load(t.Context()); return c.Seq == 2 })
		bind(t, r.URL(), "again") // fails if the exchange is not as it was
	})
}

// TestPublisherWithoutRabbitMQ: it hangs, and it goes away and comes back.
func TestPublisherWithoutRabbitMQ(t *testing.T) {
	t.Parallel()
	r := node(t, "")

	t.Run("it hangs", func(t *testing.T) {
		s := newEvents()
		// Its own exchange: what it has not read when this ends is in nobody else's queue.
		const own = "hangs"
		bindTo(t, r.URL(), own, "hangs")
		p := publishWith(t, rabbit.Config{URL: r.URL(), Exchange: own}, s)
		s.write("s", 0, "")
		got := reader(t, r.URL(), "hangs")
		inOrder(t, got.take(1), "s", 0)
		defer r.Resume()
		r.Pause()
		for i := range 3000 {
			s.write("s", i+1, strings.Repeat("x", 4000))
		}
		eventually(t, "the silence is noticed", func() bool { return p.metric("assent_amqp_connected") == 0 })
		r.Resume()
		inOrder(t, got.take(3000), "s", 1)

		eventually(t, "it is back", func() bool { return p.metric("assent_amqp_lag_events") == 0 })
		r.Pause()
		for i := range 3000 {
			s.write("s", i+3001, strings.Repeat("x", 4000))
		}
		p.stop() // though nobody reads what it writes
	})

	t.Run("no memory of an outage", func(t *testing.T) {
		s := newEvents()
		bind(t, r.URL(), "outage")
		p := publish(t, r.URL(), s)
		s.write("s", 0, "")
		eventually(t, "it is published", func() bool { return p.metric("assent_amqp_published_total") == 1 })
		r.Kill()
		eventually(t, "it is noticed", func() bool { return p.metric("assent_amqp_connected") == 0 })
		s.mu.Lock()
		reads := s.reads
		s.mu.Unlock()
		for i := range 5000 {
			s.write("s", i+1, "")
		}
		eventually(t, "it tries again", func() bool { return strings.Contains(p.said(), "refused") })
		if s.mu.Lock(); s.reads != reads {
			t.Error("it reads events that it cannot publish")
		}
		s.mu.Unlock()
		start(t, r)
		inOrder(t, take(t, r.URL(), "outage", 5001), "s", 0)
	})
}

func ctl(t *testing.T, r *rabbitmq.Server, args ...string) {
	t.Helper()
	if err := r.Control(args...); err != nil {
		t.Fatal(err)
	}
}

// TestTLS: amqps with an authority of one's own, named in the URL; and nobody else's.
func TestTLS(t *testing.T) {
	t.Parallel()
	r, host := share(t)
	bind(t, r.URL()+host, "tls")
	cert := r.cert
	url := fmt.Sprintf("amqps://guest:guest@127.0.0.1:%d/%s", r.tlsPort, host)

	s := newEvents()
	stranger := publish(t, url, s)
	s.write("s", 0, "")
	eventually(t, "a certificate of nobody is refused", func() bool { return strings.Contains(stranger.said(), "certificate signed by unknown authority") })
	stranger.stop()

	s = newEvents()
	publish(t, url+"?cacertfile="+cert, s).stop()
	p := publish(t, url+"?cacertfile="+cert, s)
	s.write("s", 0, "")
	got := reader(t, r.URL()+host, "tls")
	inOrder(t, got.take(1), "s", 0)
	p.stop()

	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	publishWith(t, rabbit.Config{URL: url, TLS: &tls.Config{RootCAs: pool}}, s)
	s.write("s", 1, "")
	inOrder(t, got.take(1), "s", 1)
}

// certificate writes one for 127.0.0.1 that is its own authority.
func certificate(dir string) (cert, key string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		return "", "", err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return cert, key, errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}

func TestCheckURL(t *testing.T) {
	for url, want := range map[string]string{
		"amqp://guest:guest@127.0.0.1/": "127.0.0.1:5672", "amqps://u:p%40@rabbit.example.net:5999/vhost": "rabbit.example.net:5999", "amqps://[::1]": "::1:5671",
		"amqp://u:p%2F%3F%23@h/a%40b": "h:5672",
	} {
		if got, err := rabbit.CheckURL(url); got != want || err != nil {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	for _, url := range []string{"", "localhost:5672", "http://u:secret@h/", "amqp://u:secret%zz@h/", "amqp://u:secret@h:port/", "amqp://u:secret @h/",
		"amqp://secret:123/4@host/", "amqp://secret:123?4@host/", "amqp://secret:123#4@host/", "amqp://secret/@host/", "amqp:///secret@host/"} {
		if got, err := rabbit.CheckURL(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
}
