package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/follow"
)

// AgentEvents is the mirror that outside readers see of what happened to agents: subjects
// agents.<agent>.session.<kind>, schema AgentEvent, and agents.<agent>.available, schema Agent, of which the
// last one is how the agent is. agentsStream is ours alone.
const (
	AgentEvents  = "AGENT_EVENTS"
	agentsStream = "AGENTS"

	agentSubjects        = "agents.>"
	agentSessionSubjects = "agents.*.session.*"
	agentsMessages       = 10_000
	agentsBytes          = 100_000_000
	agentsAge            = 7 * 24 * time.Hour
)

// layoutAgents makes AGENTS and its public mirror, in the account that js is of. An operator's cluster that does
// not allow it goes without: agents work, and nothing of them is public.
func (s *Stream) layoutAgents(ctx context.Context, js jetstream.JetStream) error {
	err := s.makeAgents(ctx, js)
	if err != nil && s.cfg.URL != "" {
		s.logf("nothing of agents is published: %v; docs/nats.md says what the server has to allow", err)
		s.noAgents, err = true, nil
	}
	return err
}

func (s *Stream) makeAgents(ctx context.Context, js jetstream.JetStream) error {
	e := s.events
	if _, err := e.ensureStream(ctx, e.js, jetstream.StreamConfig{
		Name:        agentsStream,
		Description: "what happened to agents of hosts",
		Subjects:    []string{agentSubjects},
		MaxMsgs:     agentsMessages,
		MaxBytes:    agentsBytes,
		MaxAge:      agentsAge,
		Discard:     jetstream.DiscardOld,
		Duplicates:  agentsAge, // a host says again what it does not know to be here, after any time
		Replicas:    s.replicas(),
	}); err != nil {
		return err
	}
	window := agentWindow()
	window.Mirror, window.Replicas = e.mirrorSource(agentsStream), s.replicas()
	_, err := e.ensureStream(ctx, js, window)
	return err
}

// agentWindow is what readers outside see of the agents.
func agentWindow() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:         AgentEvents,
		Description:  "what happened to agents of hosts, for readers outside",
		MaxMsgs:      agentsMessages,
		MaxBytes:     agentsBytes,
		MaxAge:       agentsAge,
		MaxConsumers: 256,
		Discard:      jetstream.DiscardOld,
	}
}

// PublishAgent makes data durable under the subject agents.<subject>. What was published with the same id, unless
// it is "", is not published again. An error wraps broker.ErrUnavailable, and the same can be tried again.
func (s *Stream) PublishAgent(ctx context.Context, subject, id string, data []byte) error {
	if s.noAgents {
		return nil
	}
	msg := nats.NewMsg("agents." + subject)
	msg.Data = data
	if id != "" {
		msg.Header.Set(jetstream.MsgIDHeader, id)
	}
	err := s.events.write(ctx, msg.Size(), func(ctx context.Context) error {
		_, err := s.events.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(agentsStream), jetstream.WithRetryAttempts(0))
		return err
	})
	if err != nil {
		return fmt.Errorf("publish an agent's event: %w", s.events.refused(err))
	}
	return nil
}

// KeepsAgents reports whether events of agents are kept, so that who follows them hears of each.
func (s *Stream) KeepsAgents() bool { return !s.noAgents }

// AgentsNow is the end of the events of agents, to begin behind.
func (s *Stream) AgentsNow(ctx context.Context) (follow.Cursor, error) {
	now, err := s.events.streamNow(ctx, s.events.js, agentsStream)
	if err != nil {
		return follow.Cursor{}, fmt.Errorf("the events of agents: %w", err)
	}
	return follow.Cursor{Seq: now.Last, Made: now.Made}, nil
}

// AgentsAfter calls fn with each event (schema AgentEvent) of a session of an agent behind c, whichever broker of
// this record published it, in order, each once, until ctx is done; it returns ctx's error, or ErrClosed. The zero
// cursor is the end, once that can be read.
func (s *Stream) AgentsAfter(ctx context.Context, c follow.Cursor, fn func(data []byte)) error {
	f := &follower{
		engine: s.events, js: s.events.js, stream: agentsStream, filter: agentSessionSubjects, at: c, onlyNew: c == (follow.Cursor{}), lossy: true,
		apply: func(d *delivery) { fn(d.Data()) },
	}
	return f.run(ctx)
}

// ForgetAgent removes the events of a session of an agent, and overwrites them as Forget does.
func (s *Stream) ForgetAgent(ctx context.Context, session string) error {
	if s.noAgents {
		return nil
	}
	return s.inBoth(ctx, agentsStream, AgentEvents, func(name string, st jetstream.Stream) error {
		erase := maxErase
		for seq := uint64(1); ; {
			m, err := st.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(agentSessionSubjects))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: read from %d: %w", name, seq, s.events.unavailable(err))
			}
			seq = m.Sequence + 1
			var e struct {
				SessionID string `json:"sessionId"`
			}
			if json.Unmarshal(m.Data, &e) != nil || e.SessionID != session {
				continue
			}
			erase--
			if err := remove(ctx, st, m.Sequence, erase >= 0); err != nil {
				return fmt.Errorf("%s: remove %d: %w", name, m.Sequence, s.events.refused(err))
			}
		}
	})
}
