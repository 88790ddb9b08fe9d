package feed

import (
	"slices"
	"strconv"
)

// openRun begins a run with the event that is folded.
func (f *folding) openRun(t Trigger) {
	s := f.s
	n := f.e.Seq
	if s.Run != nil && n <= s.Run.N {
		n = s.Run.N + 1 // no stream gives such sequences; ids must not repeat all the same
	}
	s.newRun(n, f.at, t)
	f.add(KindRunStart, LevelDebug, ActorIDSystem, content{
		data:  &RunStartData{Trigger{Type: t.Type, PromptPreview: t.PromptPreview}},
		title: startTitle(t), ui: UI{Hidden: true},
	})
}

func (s *state) newRun(n uint64, at int64, t Trigger) {
	s.Run = &runState{N: n, Open: true, Run: Run{
		RunID: s.Entity.SessionID + ":R" + strconv.FormatUint(n, 10), SessionID: s.Entity.SessionID,
		StartedAt: at, Trigger: t, Status: RunRunning,
		Actors: RunActors{RootAgentID: ActorIDRoot, SubagentIDs: []string{}},
	}}
}

// closeRun ends the open run, if there is one.
func (f *folding) closeRun(status RunStatus) {
	r := f.s.Run
	if r == nil || !r.Open {
		return
	}
	f.parent = ""
	f.add(KindRunEnd, endLevel(status), ActorIDSystem, content{
		data:  &RunEndData{Status: status, Counters: r.Counters},
		title: endTitle(status, r.Counters), ui: UI{Hidden: status == RunCompleted},
	})
	r.Open, r.Status, r.EndedAt = false, status, f.at
}

func endLevel(s RunStatus) Level {
	if s == RunCompleted {
		return LevelDebug
	}
	return LevelWarn
}

// endStatus is how the open run ends when nothing says that the turn did. gone: the agent's
// process went away. The client tells nothing of Esc; a call that never had a result does.
func (s *state) endStatus(gone bool) RunStatus {
	r := s.Run
	switch {
	case r == nil:
	case r.Interrupted, gone && s.unfinished():
		return RunAborted
	case !gone && s.hasOpenCall(""):
		return RunAborted
	}
	return RunCompleted
}

// unfinished reports whether the agent was in the middle of something.
func (s *state) unfinished() bool {
	if s.Run == nil || !s.Run.Open {
		return false
	}
	return s.Activity.Turn || slices.ContainsFunc(s.Calls, func(c call) bool { return !c.Done })
}

// status is how a run that is open stands now.
func (s *state) status() RunStatus {
	r := s.Run
	switch {
	case !r.Open:
		return r.Status
	case s.anyPending():
		return RunBlocked
	case r.Interrupted:
		return RunAborted
	}
	return RunRunning
}
