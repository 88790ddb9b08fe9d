package feed

// idleAfterMS is how long after the end of a turn the agent is still taken to work: between two
// tool calls it is silent, too.
const idleAfterMS = 60 * 1000

// activity is what the agent does, by the newest event that says anything about it. Its names in JSON
// are those of the states that history has kept.
type activity struct {
	State AgentState `json:"state,omitempty"` // empty: no event said anything yet
	Since int64      `json:"since,omitempty"`
	// IdleSince is when the agent fell silent with nothing left to do: idleAfterMS later it is taken
	// to wait for input. 0 while it has something to do.
	IdleSince int64 `json:"rest,omitempty"`
	// Turn says that the main thread has something to do.
	Turn       bool `json:"turn,omitempty"`
	Compacting bool `json:"compacting,omitempty"`
}

// event takes in an event that did not come late.
func (a *activity) event(f *folding) {
	main := f.p.AgentID == ""
	switch f.row.Effect {
	case EffectStart:
		a.now(StateStarting, f.at)
		a.IdleSince = f.at
	case EffectCompact: // SessionStart
		if f.d.Source != "compact" {
			*a = activity{}
			a.now(StateStarting, f.at)
			a.IdleSince = f.at // an agent that was started and got no prompt waits for one
		}
	case EffectWork, EffectTool, EffectBlock:
		does := StateWorking
		if f.row.Effect == EffectBlock {
			does = WaitingFor(f.p.ToolName)
		} else if f.row.Effect == EffectTool {
			if does = WaitingFor(f.p.ToolName); does == StateBlocked {
				does = StateWorking
			}
		}
		if f.row.Kind == KindCompactPre {
			a.Compacting = true
		} else if main && f.row.Kind != KindSubagentStart {
			a.Turn = true
			f.s.Run.Interrupted = false
		}
		a.now(does, f.at)
		if f.row.Kind == KindToolFailure && f.d.IsInterrupt && main {
			a.interrupted(f.s, f.at)
		}
	case EffectAsk:
		a.now(StateAskUser, f.at)
	case EffectStop:
		if main {
			a.Turn = false
		}
		a.idle(f.at)
	case EffectSub:
		if f.row.Kind == KindCompactPost {
			a.Compacting = false
		}
		a.idle(f.at)
	case EffectNotice:
		switch f.d.NotificationType {
		case "permission_prompt", "worker_permission_prompt":
			a.now(StateBlocked, f.at)
		case "agent_needs_input", "elicitation_dialog", "elicitation_url_dialog":
			a.now(StateAskUser, f.at)
		case "idle_prompt":
			a.now(StateWaiting, f.at)
			a.Turn = false
		}
	case EffectExit:
		*a = activity{State: StateExited, Since: f.at}
	}
}

func (a *activity) now(st AgentState, at int64) {
	if a.State != st {
		a.State, a.Since = st, at
	}
	a.IdleSince = 0
}

// idle notes that the agent fell silent, unless the main thread goes on.
func (a *activity) idle(at int64) {
	a.now(StateWorking, at)
	if !a.Turn {
		a.IdleSince = at
	}
}

// interrupted ends the main thread's turn: no further event of that turn comes.
func (a *activity) interrupted(s *state, at int64) {
	a.Turn = false
	if s.Run != nil && s.Run.Open {
		s.Run.Interrupted = true
	}
	a.idle(at)
}

// agentState is what the agent does, and since when, and from when on it is taken to wait for input instead, 0:
// by time alone it never is.
func (s *state) agentState() (st AgentState, since, waits int64) {
	a := s.Activity
	if a.State == StateExited {
		return a.State, a.Since, 0
	}
	if st, since := s.waitsFor(); st != "" {
		return st, since, 0
	}
	if a.State == "" {
		return StateUnknown, s.Entity.StartedAt, 0
	}
	if a.IdleSince > 0 {
		waits = a.IdleSince + idleAfterMS
	}
	return a.State, a.Since, waits
}
