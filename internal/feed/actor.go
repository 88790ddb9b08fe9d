package feed

import "slices"

const subagentPrefix = "subagent:"

// actor says who did it, and makes a subagent known that was not. A subagent that stops
// without having started is marked; those of a compaction are the client's own.
func (f *folding) actor() string {
	s, p := f.s, f.p
	id := clean(p.AgentID, maxIDLen)
	switch f.row.Kind {
	case KindSubagentStart:
		if id == "" {
			f.mark(MarkUnknownAgent)
			return ActorIDRoot
		}
		s.register(id, p.AgentType, f.drives)
		return ActorIDRoot
	case KindSubagentStop:
		i := s.actorIndex(id)
		if i < 0 && p.AgentType == "" && s.Activity.Compacting {
			f.hidden = true
			return ActorIDSystem
		}
		if id == "" {
			f.mark(MarkUnknownAgent)
			return ActorIDSystem
		}
		if i < 0 {
			f.mark(MarkUnknownAgent)
			i = s.register(id, p.AgentType, false)
		}
		s.stopped(i)
		return subagentPrefix + id
	}
	switch f.row.Actor {
	case ByUser:
		if f.d.Notice.Kind != "" {
			return f.noticeActor()
		}
		if p.Continues {
			return ActorIDRoot
		}
		return ActorIDUser
	case ByAgent:
		if id == "" {
			return ActorIDRoot
		}
		if s.actorIndex(id) < 0 {
			f.mark(MarkUnknownAgent)
			s.register(id, p.AgentType, f.drives)
		}
		return subagentPrefix + id
	}
	return ActorIDSystem
}

// noticeActor is the subagent whose task a notice is about, if it is known.
func (f *folding) noticeActor() string {
	if id := clean(f.d.Notice.TaskID, maxIDLen); id != "" && f.s.actorIndex(id) >= 0 {
		return subagentPrefix + id
	}
	return ActorIDSystem
}

func (s *state) actorIndex(agentID string) int {
	for i := range s.Actors {
		if s.Actors[i].ActorID[len(subagentPrefix):] == agentID {
			return i
		}
	}
	return -1
}

// register makes a subagent known, or running again, and returns its index.
func (s *state) register(agentID, agentType string, running bool) int {
	i := s.actorIndex(agentID)
	if i < 0 {
		if len(s.Actors) == maxActors {
			s.Actors = slices.Delete(s.Actors, s.oldestActor(), s.oldestActor()+1)
		}
		name := preview(agentType)
		if name == "" {
			name = "subagent " + preview(agentID)
		}
		i = len(s.Actors)
		s.Actors = append(s.Actors, Actor{
			ActorID: subagentPrefix + agentID, Kind: ActorSubagent, DisplayName: name,
			AgentType: clean(agentType, maxIDLen), ParentActorID: ActorIDRoot,
		})
	}
	s.Actors[i].Running = s.Actors[i].Running || running
	if ids := &s.Run.Actors.SubagentIDs; len(*ids) < maxActors && !slices.Contains(*ids, agentID) {
		*ids = append(*ids, agentID)
	}
	return i
}

// stopped moves a subagent behind those that stopped before.
func (s *state) stopped(i int) {
	a := s.Actors[i]
	a.Running = false
	s.Actors = append(slices.Delete(s.Actors, i, i+1), a)
}

func (s *state) subagentsRun() bool {
	return slices.ContainsFunc(s.Actors, func(a Actor) bool { return a.Running })
}

// oldestActor is the subagent to forget.
func (s *state) oldestActor() int {
	if i := slices.IndexFunc(s.Actors, func(a Actor) bool { return !a.Running }); i >= 0 {
		return i
	}
	return 0
}
