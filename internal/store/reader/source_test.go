package reader

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// source is an event stream to be read, as its broker has it.
type source struct {
	*stream.Stream
	reach stream.NATSInfo  // on an external server; else the broker tells
	seen  jetstream.Stream // what window returns
}

// open opens the stream in dir, a new one if that is empty, as a broker of one machine does.
func open(t *testing.T, dir string) *source {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	return openWith(t, stream.Config{Dir: dir, Listen: "127.0.0.1:0"})
}

// openExternal opens a stream on a server of its own, where a test may do to it what no reader of the
// broker's own server may.
func openExternal(t *testing.T) *source {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, MaxPayload: 16 << 20, JetStreamMaxStore: 1 << 40,
	})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the external server does not start")
	}
	s := openWith(t, stream.Config{URL: srv.ClientURL()})
	s.reach = stream.NATSInfo{URL: srv.ClientURL(), JetStream: true, Stream: stream.HookEvents}
	return s
}

func openWith(t *testing.T, cfg stream.Config) *source {
	t.Helper()
	s, err := stream.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &source{Stream: s}
}

// info is what a reader is told.
func (s *source) info() (stream.NATSInfo, error) {
	if s.reach.URL != "" {
		return s.reach, nil
	}
	return s.Info(), nil
}

// outside connects as any program does that has read nats-info.json.
func (s *source) outside(t *testing.T) (jetstream.JetStream, nats.JetStreamContext) {
	t.Helper()
	info, err := s.info()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(info.URL, nats.Token(info.Token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	old, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	return js, old
}

// window is the stream that readers see, with CachedInfo as of now.
func (s *source) window(t *testing.T) jetstream.Stream {
	t.Helper()
	var err error
	if s.seen == nil {
		js, _ := s.outside(t)
		s.seen, err = js.Stream(t.Context(), stream.HookEvents)
	} else {
		_, err = s.seen.Info(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.seen
}

// publish publishes events of these types and waits until readers can see them.
func (s *source) publish(t *testing.T, types ...string) {
	t.Helper()
	var last uint64
	for _, typ := range types {
		var err error
		if last, err = s.Publish(t.Context(), hook.Event{ID: uuid.NewString(), Type: typ, Agent: "claude", Raw: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	for s.window(t).CachedInfo().State.LastSeq < last {
	}
}

// evict takes the oldest events out of the window, so that it begins at first. Younger ones
// would do the same, ten thousand of them.
func (s *source) evict(t *testing.T, first uint64) {
	t.Helper()
	js, _ := s.outside(t)
	info := s.window(t).CachedInfo()
	cfg := info.Config
	for _, most := range []int64{int64(info.State.LastSeq - first + 1), cfg.MaxMsgs} {
		cfg.MaxMsgs = most
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
}

// testLog keeps lines.
type testLog struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *testLog) Logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// has reports whether a line has part in it.
func (l *testLog) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.lines, "\n"), part)
}

// show prints the lines if the test failed.
func (l *testLog) show(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.Failed() {
			t.Logf("log:\n%s", strings.Join(l.lines, "\n"))
		}
	})
}

var errNoBroker = errors.New("no broker")
