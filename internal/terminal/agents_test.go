package terminal

import (
	"testing"

	"assent/internal/api"
	"assent/internal/hook"
)

func TestStanding(t *testing.T) {
	for _, c := range []struct {
		agent, session string
		turn           *api.AgentTurn
		want           string
	}{
		{api.AgentIdle, api.AgentIdle, nil, "idle"},
		{api.AgentBusy, api.AgentBusy, &api.AgentTurn{Outcome: hook.OutcomeFailed}, "busy"},
		{api.AgentOffline, api.AgentBusy, nil, "busy when its host was last heard of"},
		{api.AgentIdle, api.AgentIdle, &api.AgentTurn{Outcome: hook.OutcomeCompleted, Why: "x"}, "idle"},
		{api.AgentIdle, api.AgentIdle, &api.AgentTurn{Outcome: hook.OutcomeFailed}, "idle; last turn: failed"},
		{api.AgentIdle, api.AgentIdle, &api.AgentTurn{Outcome: hook.OutcomeFailed, Why: "no money"}, "idle; last turn: failed (no money)"},
		{api.AgentIdle, api.AgentIdle, &api.AgentTurn{Outcome: hook.OutcomeFailed, Why: hook.OutcomeFailed, Says: "stopped by Ann"}, "idle; last turn: stopped by Ann"},
	} {
		if got := Standing(&api.Agent{Status: c.agent}, &api.AgentSession{Status: c.session, Turn: c.turn}); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// How far a message is, also where a broker elsewhere tells no step of it.
func TestMessageOutcome(t *testing.T) {
	why := []hook.MessageStep{{Why: "before"}, {Why: "no\nmoney"}}
	for _, c := range []struct {
		m    hook.Message
		want string
	}{
		{hook.Message{State: hook.MessageSent}, "sent; its host has not taken it yet"},
		{hook.Message{State: hook.MessageTaken}, "its host has taken it"},
		{hook.Message{State: hook.MessageStarted, Steps: why}, "in the agent's context"},
		{hook.Message{State: hook.MessageEnded, Outcome: "completed", Steps: []hook.MessageStep{{}}}, "completed"},
		{hook.Message{State: hook.MessageEnded, Outcome: "cancelled", StoppedBy: "a phone"}, `cancelled on "a phone"`},
		{hook.Message{State: hook.MessageExpired}, "expired: its host did not take it in time"},
		{hook.Message{State: hook.MessageLost}, "lost: whether the agent has it is not known"},
		{hook.Message{State: hook.MessageRefused, Steps: why}, "refused (no⟦U+000A⟧money)"},
	} {
		if got := MessageOutcome(c.m); got != c.want {
			t.Errorf("%+v: %q, want %q", c.m, got, c.want)
		}
	}
}
