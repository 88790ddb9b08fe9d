package stream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"assent/broker"
	"assent/internal/freeport"
	"assent/internal/hook"
)

// external is a nats-server that an operator runs.
type external struct {
	opts *server.Options
	srv  *server.Server
}

func startExternal(t *testing.T, payload int32) *external {
	t.Helper()
	ports, err := freeport.Find(1) // it comes back on it
	if err != nil {
		t.Fatal(err)
	}
	x := &external{opts: &server.Options{
		Host: "127.0.0.1", Port: ports[0], JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, MaxPayload: payload, JetStreamMaxStore: 1 << 40,
	}}
	x.start(t)
	t.Cleanup(x.stop)
	return x
}

func (x *external) start(t *testing.T) {
	t.Helper()
	var err error
	if x.srv, err = server.NewServer(x.opts); err != nil {
		t.Fatal(err)
	}
	go x.srv.Start()
	if !x.srv.ReadyForConnections(patience) {
		t.Fatal("the external server does not start")
	}
}

func (x *external) stop() {
	x.srv.Shutdown()
	x.srv.WaitForShutdown()
}

// Two replicas share one record: one winner, and each sees all.
func TestExternalReplicas(t *testing.T) {
	x := startExternal(t, maxPayload)
	a := open(t, Config{URL: x.srv.ClientURL()})
	log := &testLog{}
	b := open(t, Config{URL: x.srv.ClientURL(), RecordURL: x.srv.ClientURL(), Logf: log.Logf})
	if len(log.lines) > 0 {
		t.Errorf("the second replica said %q", log.lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan hook.Record, 1000)
	done := make(chan error)
	go func() { done <- b.Tail(ctx, 0, func(r hook.Record) { seen <- r }, func() {}) }()
	for range 20 {
		rec := asked(t)
		after := mustAppend(t, a, rec, 0)
		if r := receive(t, seen); r.ID != rec.ID || string(r.Request.Raw) != string(rec.Request.Raw) {
			t.Fatalf("the other replica sees %+v", r)
		}
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, s := range []*Stream{a, b} {
			wg.Go(func() { _, errs[i] = s.Append(t.Context(), decided(rec.RequestID), after) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), broker.ErrConflict) {
			t.Fatalf("two decisions: %v, %v", errs[0], errs[1])
		}
		receive(t, seen)
	}
	cancel()
	receive(t, done)
	e := fullEvent()
	seq := mustPublish(t, a, e)
	if got := collect(t, b, seq, 1)[0]; got.ID != e.ID {
		t.Errorf("event %+v", got)
	}
	if b.Info() != (NATSInfo{}) {
		t.Error("an external server is none of nats-info.json")
	}
}

func TestExternalSmallPayload(t *testing.T) {
	x := startExternal(t, 1<<20)
	log := &testLog{}
	s := open(t, Config{URL: x.srv.ClientURL(), Logf: log.Logf})
	if !log.has("max_payload") {
		t.Errorf("no warning about the server's limit: %q", log.lines)
	}
	e := fullEvent()
	e.Raw = make([]byte, 1<<20)
	seq := mustPublish(t, s, e)
	if got := collect(t, s, seq, 1)[0]; !strings.HasPrefix(string(got.Raw), `{"assent_oversize":`) {
		t.Errorf("stored %d bytes", len(got.Raw))
	}
}

func TestExternalAway(t *testing.T) {
	t.Parallel()
	x := startExternal(t, maxPayload)
	s := open(t, Config{URL: x.srv.ClientURL()})
	first := asked(t)
	mustAppend(t, s, first, 0)
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan string, 1000)
	done := make(chan error)
	caught := make(chan struct{})
	go func() {
		done <- s.Tail(ctx, 0, func(r hook.Record) { seen <- r.ID }, func() { close(caught) })
	}()
	receive(t, caught)
	x.stop()
	if _, err := s.Append(t.Context(), asked(t), 0); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("Append without a server: %v", err)
	}
	if _, err := s.Publish(t.Context(), fullEvent()); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("Publish without a server: %v", err)
	}
	if err := s.Healthy(); err == nil {
		t.Error("healthy without a server")
	}
	x.start(t)
	awaitHealthy(t, s)
	second := asked(t)
	mustAppend(t, s, second, 0)
	for _, want := range []string{first.ID, second.ID} {
		if id := receive(t, seen); id != want {
			t.Errorf("tail saw %s, want %s", id, want)
		}
	}
	cancel()
	receive(t, done)
	if len(seen) > 0 {
		t.Error("and more")
	}
}

// A server without JetStream is refused in one line that says what to add.
func TestExternalWithoutJetStream(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	defer func() { srv.Shutdown(); srv.WaitForShutdown() }()
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	_, err = Open(t.Context(), Config{URL: srv.ClientURL()})
	if err == nil || !strings.Contains(err.Error(), "has no JetStream") || !strings.Contains(err.Error(), "jetstream {") {
		t.Errorf("%v", err)
	}
}
