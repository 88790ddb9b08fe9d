package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/store/stream"
)

// patience bounds each wait of a test with a real server.
const patience = 2 * time.Minute

// lagging is a store of which news under one prefix waits until the gate is open.
type lagging struct {
	*stream.Stream
	prefix string
	gate   chan struct{}
}

func (l lagging) Watch(ctx context.Context, prefix string, fn func(string, []byte, uint64), caughtUp func()) error {
	if prefix != l.prefix {
		return l.Stream.Watch(ctx, prefix, fn, caughtUp)
	}
	caught := false
	return l.Stream.Watch(ctx, prefix, func(key string, value []byte, rev uint64) {
		if caught {
			select {
			case <-l.gate:
			case <-ctx.Done():
				return
			}
		}
		fn(key, value, rev)
	}, func() { caught = true; caughtUp() })
}

// served is one of the brokers that share a NATS server.
type served struct {
	*Store
	hosts *Registry
	t     *testing.T
}

func serve(t *testing.T, url, lags string, gate chan struct{}) *served {
	t.Helper()
	streams, err := stream.Open(t.Context(), stream.Config{URL: url, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = streams.Close() })
	var kv kvmirror.KV = streams
	if lags != "" {
		kv = lagging{streams, lags, gate}
	}
	b := &served{t: t}
	b.Store, err = Open(t.Context(), Config{KV: kv, Self: "user:9@elsewhere", Hosted: func(session string) string { return b.hosts.Works(session) }, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Store.Close() })
	if b.hosts, err = OpenRegistry(t.Context(), RegistryConfig{KV: kv, Messages: b.Store, Shared: true, Logf: t.Logf}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.hosts.Close() })
	return b
}

// hears has the broker take an event of a session of a host's agent, as its hook says it.
func (b *served) hears(kind, hosted string) {
	b.t.Helper()
	raw := `{"session_id":"s","hook_event_name":"` + kind + `","prompt":"x"}`
	e := &hook.Event{Type: kind, Agent: "claude", Submitter: self, Raw: []byte(raw), Time: time.Now(), Origin: hook.Origin{Hosted: hosted}}
	p, err := claude.Agent{}.Decode(kind, e.Raw)
	if err != nil {
		b.t.Fatal(err)
	}
	if out := b.Event(b.t.Context(), e, &p, func() hook.Detail { return claude.Agent{}.Detail(kind, e.Raw) }); out != nil {
		b.t.Errorf("%s prints %s", kind, out)
	}
}

// await waits until a broker has a message in a state.
func (b *served) await(id string, state hook.MessageState) {
	b.t.Helper()
	news := make(chan struct{}, 1)
	b.Notify(func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		m, err := b.Message(id)
		if state == "" && errors.Is(err, ErrNotFound) || err == nil && m.State == state {
			return
		}
		select {
		case <-news:
		case <-end.C:
			b.t.Fatalf("the message is %q, %v; want %q", m.State, err, state)
		}
	}
}

// A host is connected to one broker, and the hooks of its agents are answered by another. To that the host's list of its
// sessions and its messages come each in its own time; whose a session is it knows all the same, from the first word that it
// has of the session on.
func TestWhoseASessionIsAtEveryBroker(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: 8 << 20, JetStreamMaxStore: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	one := serve(t, srv.ClientURL(), "", nil)
	l := one.hosts.Connect(workstation, func() {})
	defer l.Close()
	offer := func(sessions ...api.AgentSession) {
		t.Helper()
		if problems, err := l.Offer(t.Context(), "here", "1", []api.Agent{{Name: "coder", Sessions: sessions}, {Name: "other"}}); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
	}
	offer()
	if _, err := one.hosts.Send(t.Context(), forCoder("a", "s", hook.MessagePrompt, "x")); err != nil {
		t.Fatal(err)
	}
	for _, lags := range []string{hostsPrefix, prefix} {
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		defer open()
		other := serve(t, srv.ClientURL(), lags, gate)
		if lags == hostsPrefix {
			other.await("a", sent)
			for _, state := range []hook.MessageState{taken, started} {
				if _, why, err := one.Report(t.Context(), workstation, Report{ID: "a", State: state}); why != "" || err != nil {
					t.Fatal(why, err)
				}
			}
			offer(api.AgentSession{SessionID: "s", Status: api.AgentIdle, StartedAt: time.Now()})
			if _, why, err := one.Report(t.Context(), workstation, Report{ID: "a", State: ended, Outcome: hook.OutcomeCompleted}); why != "" || err != nil {
				t.Fatal(why, err)
			}
			other.await("a", ended)
			if got := other.hosts.Works("s"); got != "" {
				t.Fatalf("the list is there already: %q", got)
			}
		} else {
			offer() // the session is in no list now, and of the next message nothing is known here
			if _, err := one.hosts.Send(t.Context(), forCoder("b", "s", hook.MessagePrompt, "y")); err != nil {
				t.Fatal(err)
			}
			other.await("b", "")
		}
		other.hears("UserPromptSubmit", "s coder")
		var writer *WriterError
		if _, err := other.Store.Send(t.Context(), message("m", "past its host")); !errors.As(err, &writer) || !strings.Contains(err.Error(), "the agent coder") {
			t.Errorf("%s lags: a message to the session itself: %v", lags, err)
		}
		m := forCoder("c", "s", hook.MessagePrompt, "go on")
		m.Agent = "other"
		if _, err := other.hosts.Send(t.Context(), m); !errors.As(err, &writer) || !strings.Contains(err.Error(), "the agent coder") {
			t.Errorf("%s lags: a message to another agent: %v", lags, err)
		}
		if _, err := other.hosts.Send(t.Context(), forCoder(lags[:len(lags)-1], "s", hook.MessagePrompt, "go on")); err != nil {
			t.Fatalf("%s lags: the next prompt: %v", lags, err)
		}
		if lags == hostsPrefix {
			one.await("host", sent)
			if _, err := one.TakeBack(t.Context(), "host"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
