package terminal

import (
	"fmt"
	"strings"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Session is a session with the words of the commands' lists.
type Session struct{ api.Session }

// Name is what a person calls the session.
func (s *Session) Name() string {
	if s.Title != "" { // safe to show where a broker of ours made it
		return show.OneRow(show.Readable(s.Title))
	}
	if dir := s.dir(); dir != "" {
		return dir
	}
	return "session " + show.Short(s.SessionID, 8)
}

// About is the name, but where that is only the directory's: nothing was asked in it.
func (s *Session) About() string {
	if name := s.Name(); name != s.dir() {
		return Start(name, 60)
	}
	return "-"
}

// dir is the name of the project that the working directory belongs to.
func (s *Session) dir() string {
	return show.Line(hook.ProjectName(s.CWD))
}

// stateNames are the agent's states in words.
var stateNames = map[feed.AgentState]string{ // read-only
	feed.StateStarting: "starting", feed.StateWorking: "working", feed.StateAskUser: "asks a question", feed.StatePlan: "has a plan",
	feed.StateBlocked: "wants permission", feed.StateWaiting: "waits for a prompt", feed.StateExited: "over",
}

// StateName says what the agent does. For a minute after a turn the broker still has it work, for a
// hook may have it go on; a person wants to know that the turn is over.
func (s *Session) StateName() string {
	if s.LastTurn != "" {
		return show.Line(strings.ToLower(s.LastTurn[:1]) + s.LastTurn[1:])
	}
	if s.State == feed.StateExited && s.AgentProcess == api.AgentGone {
		return "agent is gone"
	}
	if s.State == feed.StateWorking && s.TurnOver {
		return "turn is over"
	}
	if name := stateNames[s.State]; name != "" {
		return name
	}
	return "unknown"
}

// StateRole is how a state stands out: amber where a person is wanted, green where the agent works.
func (s *Session) StateRole() Role {
	switch s.State {
	case feed.StateBlocked, feed.StateAskUser, feed.StatePlan:
		return Attention
	case feed.StateStarting, feed.StateWorking:
		if !s.TurnOver {
			return Calm
		}
	}
	return Dim
}

// Waits is how many of its requests wait.
func (s *Session) Waits() string {
	if s.QueueCount == 0 {
		return "-"
	}
	return fmt.Sprint(s.QueueCount)
}

// Where is the repository and the branch, else the directory.
func (s *Session) Where() string {
	dir := s.Repo.Root
	if dir == "" {
		dir = s.CWD
	}
	name := show.Short(hook.ProjectName(dir), 24)
	if s.Repo.Branch != "" {
		name += "@" + show.Short(s.Repo.Branch, 24)
	}
	if name == "" {
		return "-"
	}
	return name
}

// Start is show.Elide for what is read from its beginning: a title.
func Start(safe string, n int) string {
	r := []rune(safe)
	if len(r) <= n {
		return safe
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
