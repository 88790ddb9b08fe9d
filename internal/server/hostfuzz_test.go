package server

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/fleet"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// Whatever a host writes, it is answered or its connection ends, and what is published of it is of its own agents and
// within bounds.
func FuzzHostFrame(f *testing.F) {
	const id = "25e5a0e9-9758-4dff-954c-fc44b3a814da"
	for _, text := range []string{
		`{"type":"agents","agents":[{"name":"coder","sessions":[{"sessionId":"x","costUsd":-1}]},{"name":"../x"}]}`,
		`{"type":"taken","id":"a","message":"` + id + `"}`, `{"type":"ended","id":"a","message":"` + id + `","outcome":"completed","command":"cd / && x --resume ` + id + `"}`,
		`{"type":"event","id":"e","event":{"sessionId":"` + id + `","agent":"coder","kind":"progress","timestamp":"2026-11-28T08:00:00Z"}}`,
		`{"type":"event","id":"e","event":{"sessionId":"x","agent":"other","kind":"a.b","costUsd":1e300}}`, `{"type":"event","id":"e"}`,
		`{"type":"answer","id":"q","answer":{"status":200}}`, `{"type":"forgot","sessions":["x",""]}`, `{"type":"hello"}`, `{"type":"lost","id":"*","message":"x"}`, `null`,
	} {
		f.Add([]byte(text))
	}
	kv := kvtest.New()
	messages, err := fleet.Open(context.Background(), fleet.Config{KV: kv})
	if err != nil {
		f.Fatal(err)
	}
	agents, err := fleet.OpenRegistry(context.Background(), fleet.RegistryConfig{KV: kv, Messages: messages})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _, _ = agents.Close(), messages.Close() })
	link := agents.Connect("h1", func() {})
	f.Fuzz(func(t *testing.T, text []byte) {
		var frame api.HostFrame
		if json.Unmarshal(text, &frame) != nil {
			return
		}
		if _, err := link.Offer(t.Context(), "here", "1", []api.Agent{{Name: "coder"}}); err != nil {
			t.Fatal(err)
		}
		s := &Server{log: zap.NewNop(), cfg: Config{Messages: messages, Agents: agents, PublishAgent: func(_ context.Context, subject, _ string, value []byte) error {
			if subject != "coder.session."+frame.Event.Kind || len(value) > 8*maxAgentResult {
				t.Errorf("published: %s %s", subject, value)
			}
			return nil
		}}}
		h := &hostLink{s: s, id: "h1", name: "here", link: link, hello: true, asked: map[string]chan api.HostAnswer{}}
		answer, err := h.take(t.Context(), &frame)
		switch {
		case err != nil && answer != nil:
			t.Errorf("%s: %+v and %v", text, answer, err)
		case answer != nil && answer.Type == api.BrokerAck && (answer.ID != frame.ID || !hook.PlainToken(answer.ID) || answer.OK == (answer.Detail != "")):
			t.Errorf("%s is answered with %+v", text, answer)
		}
	})
}
