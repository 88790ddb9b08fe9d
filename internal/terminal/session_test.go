package terminal

import (
	"testing"

	"assent/internal/api"
	"assent/internal/feed"
)

func TestAbout(t *testing.T) {
	for _, c := range []struct{ title, cwd, want string }{
		{"shop", "/home/dev/shop/", "-"}, {"", "/home/dev/shop", "-"}, {"Mend the door", "/home/dev/shop", "Mend the door"}, {"", "/", "session s"}, {"", "", "session s"},
	} {
		if got := (&Session{api.Session{SessionID: "s", Title: c.title, CWD: c.cwd}}).About(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestStateName(t *testing.T) {
	for _, c := range []struct {
		s    api.Session
		want string
		role Role
	}{
		{api.Session{State: feed.StateWorking}, "working", Calm},
		{api.Session{State: feed.StateWorking, TurnOver: true}, "turn is over", Dim},
		{api.Session{State: feed.StateBlocked, TurnOver: true}, "wants permission", Attention},
		{api.Session{State: feed.StateExited}, "over", Dim},
		{api.Session{State: feed.StateExited, AgentProcess: api.AgentGone}, "agent is gone", Dim},
		{api.Session{State: "other"}, "unknown", Dim},
		{api.Session{State: feed.StateWorking, LastTurn: "Interrupted"}, "interrupted", Calm},
	} {
		s := Session{c.s}
		if got, role := s.StateName(), s.StateRole(); got != c.want || role != c.role {
			t.Errorf("%+v: %s, %v, want %s, %v", c.s, got, role, c.want, c.role)
		}
	}
}
