package feed

import (
	"slices"
	"time"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Standing is how a session stands by what was folded so far. Unlike a Session it never changes, so it may be
// shared between goroutines; nobody may change what At returns.
type Standing struct {
	info  Info  // as long as the agent is not taken to wait for input
	waits int64 // from when on it is taken to, in milliseconds since 1970; 0: by time alone it never is
}

// Standing says how the session stands. It changes nothing.
func (s *Session) Standing() *Standing { return s.s.standing() }

// At is the session at now: time alone changes nothing but what its agent is taken to do.
func (x *Standing) At(now time.Time) Info {
	in := x.info
	if x.waits != 0 && now.UnixMilli() >= x.waits {
		in.State, in.StateSince, in.TurnOver = StateWaiting, x.waits, false
	}
	return in
}

func (s *state) standing() *Standing {
	x := &Standing{info: Info{
		Session: s.Entity, Title: s.title(), Actors: s.actors(), Tasks: make([]Task, 0, len(s.Tasks)),
		Agent: s.Agent, CWD: s.CWD, PermissionMode: s.PermissionMode, Origin: s.Origin, SameProcess: s.SameProcess,
		LastEvent: s.LastEvent, LastEventAt: s.LastEventAt, LastPos: s.Pos,
	}}
	in := &x.info
	in.State, in.StateSince, x.waits = s.agentState()
	in.TurnOver = in.State == StateWorking && s.Activity.IdleSince > 0
	in.PermissionQueueCount, in.QuestionQueueCount = s.pending()
	for _, t := range s.Tasks {
		in.Tasks = append(in.Tasks, t.Task)
	}
	if s.Run != nil && s.Run.Open {
		r := s.Run.Run
		r.Status = s.status()
		r.Actors.SubagentIDs = slices.Clone(r.Actors.SubagentIDs)
		in.CurrentRun = &r
	}
	return x
}

func (s *state) actors() []Actor {
	root := Actor{ActorID: ActorIDRoot, Kind: ActorAgent, DisplayName: "Agent"}
	if s.Agent != "" {
		root.DisplayName = name(s.Agent)
	}
	return append([]Actor{
		{ActorID: ActorIDUser, Kind: ActorUser, DisplayName: "User"}, root,
		{ActorID: ActorIDSystem, Kind: ActorSystem, DisplayName: "System"},
	}, s.Actors...)
}

// title is what the session is about.
func (s *state) title() string {
	if s.Title != "" {
		return s.Title
	}
	dir := s.Origin.Repo.Root
	if dir == "" {
		dir = s.CWD
	}
	if project := hook.ProjectName(dir); project != "" {
		return preview(project)
	}
	return "Session " + show.Short(s.Entity.SessionID, 8)
}
