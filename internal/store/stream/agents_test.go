package stream

import (
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
