package feed

import (
	"slices"

	"assent/internal/hook"
	"assent/internal/text/show"
)

func (s *state) info(now int64) Info {
	in := Info{
		Session: s.Entity, Title: s.title(), Actors: s.actors(), Tasks: make([]Task, 0, len(s.Tasks)),
		Agent: s.Agent, CWD: s.CWD, PermissionMode: s.PermissionMode, Origin: s.Origin, SameProcess: s.SameProcess,
		LastEvent: s.LastEvent, LastEventAt: s.LastEventAt, LastPos: s.Pos,
	}
	in.State, in.StateSince = s.agentState(now)
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
	return in
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
