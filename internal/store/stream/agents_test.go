package stream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestAgentEventsArePublic: a reader sees what is published of agents, each once; it cannot publish; and what is
// forgotten is gone for it, too.
func TestAgentEventsArePublic(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	ctx := t.Context()
	for i, session := range []string{"a", "b", "a"} {
		for range 2 { // its host says it again
			if err := s.PublishAgent(ctx, "coder.session.progress", fmt.Sprint("h.", i), fmt.Appendf(nil, `{"sessionId":%q}`, session)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, status := range []string{"idle", "busy"} {
		if err := s.PublishAgent(ctx, "coder.available", "", fmt.Appendf(nil, `{"name":"coder","status":%q}`, status)); err != nil {
			t.Fatal(err)
		}
	}
	r := reader(t, s)
	read := func(subject string, policy jetstream.DeliverPolicy, n int) []string {
		t.Helper()
		c, err := r.js.CreateConsumer(ctx, AgentEvents, jetstream.ConsumerConfig{FilterSubject: subject, DeliverPolicy: policy, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range n {
			m, err := c.Next(jetstream.FetchMaxWait(patience))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.Data()))
		}
		if info, err := c.Info(ctx); err != nil || info.NumPending != 0 {
			t.Errorf("%d more, %v", info.NumPending, err)
		}
		return got
	}
	if got := fmt.Sprint(read("agents.coder.session.*", jetstream.DeliverAllPolicy, 3)); got != `[{"sessionId":"a"} {"sessionId":"b"} {"sessionId":"a"}]` {
		t.Errorf("events %s", got)
	}
	if got := fmt.Sprint(read("agents.*.available", jetstream.DeliverLastPerSubjectPolicy, 1)); got != `[{"name":"coder","status":"busy"}]` {
		t.Errorf("agents %s", got)
	}
	if err := s.ForgetAgent(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read("agents.coder.session.*", jetstream.DeliverAllPolicy, 1)); got != `[{"sessionId":"b"}]` {
		t.Errorf("after a was forgotten: %s", got)
	}
	if _, err := r.js.Publish(ctx, "agents.coder.session.completed", []byte("{}")); err == nil {
		t.Error("a reader published")
	}
}

// TestAgentsAreFollowed: who follows hears each event of a session once, from where it began; not how an agent is, and
// not what is said again.
func TestAgentsAreFollowed(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	say := func(subject, id, value string) {
		t.Helper()
		if err := s.PublishAgent(t.Context(), subject, id, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	say("coder.session.failed", "h.0", "before")
	from, err := s.AgentsNow(t.Context())
	if err != nil || !s.KeepsAgents() {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	heard := make(chan string, 10)
	done := make(chan error, 1)
	go func() { done <- s.AgentsAfter(ctx, from, func(data []byte) { heard <- string(data) }) }()
	say("coder.session.blocked", "h.1", "one")
	say("coder.available", "", "idle")
	say("coder.session.blocked", "h.1", "one")
	say("other.session.failed", "h.2", "two")
	for _, want := range []string{"one", "two"} {
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("%s was not heard of", want)
		}
	}
	cancel()
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(heard) > 0 {
		t.Errorf("and %q", <-heard)
	}
}
