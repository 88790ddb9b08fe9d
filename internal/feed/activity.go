package feed

// graceMS is how long after the end of a turn the agent is still taken to work: between two
// tool calls it is silent, too.
const graceMS = 60 * 1000

// mood is what the agent does, as the newest event that says anything tells.
type mood struct {
	State AgentState `json:"state,omitempty"` // empty: nothing was said yet
	Since int64      `json:"since,omitempty"`
	// Rest is when the agent fell silent for what may be good: graceMS later it waits for
	// input. 0: it did not.
	Rest int64 `json:"rest,omitempty"`
	// Turn says that the main thread has something to do.
	Turn       bool `json:"turn,omitempty"`
	Compacting bool `json:"compacting,omitempty"`
}

// event follows an event that is no late one.
func (m *mood) event(f *folding) {
	main := f.p.AgentID == ""
	switch f.row.Effect {
	case EffectStart:
		m.now(StateStarting, f.at)
		m.Rest = f.at
	case EffectCompact: // SessionStart
		if f.d.Source != "compact" {
			*m = mood{}
			m.now(StateStarting, f.at)
			m.Rest = f.at // whoever starts an agent and says nothing is waited for
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
			m.Compacting = true
		} else if main && f.row.Kind != KindSubagentStart {
			m.Turn = true
			f.s.Run.Interrupted = false
		}
		m.now(does, f.at)
		if f.row.Kind == KindToolFailure && f.d.IsInterrupt && main {
			m.interrupted(f.s, f.at)
		}
	case EffectAsk:
		m.now(StateAskUser, f.at)
	case EffectStop:
		if main {
			m.Turn = false
		}
		m.rest(f.at)
	case EffectSub:
		if f.row.Kind == KindCompactPost {
			m.Compacting = false
		}
		m.rest(f.at)
	case EffectNotice:
		switch f.d.NotificationType {
		case "permission_prompt", "worker_permission_prompt":
			m.now(StateBlocked, f.at)
		case "agent_needs_input", "elicitation_dialog", "elicitation_url_dialog":
			m.now(StateAskUser, f.at)
		case "idle_prompt":
			m.now(StateWaiting, f.at)
			m.Turn = false
		}
	case EffectExit:
		*m = mood{State: StateExited, Since: f.at}
	}
}

func (m *mood) now(st AgentState, at int64) {
	if m.State != st {
		m.State, m.Since = st, at
	}
	m.Rest = 0
}

// rest begins the grace, unless the main thread goes on.
func (m *mood) rest(at int64) {
	m.now(StateWorking, at)
	if !m.Turn {
		m.Rest = at
	}
}

// interrupted ends the main thread's turn: the client says nothing more of it.
func (m *mood) interrupted(s *state, at int64) {
	m.Turn = false
	if s.Run != nil && s.Run.Open {
		s.Run.Interrupted = true
	}
	m.rest(at)
}

// agentState is what the agent does at now, and since when.
func (s *state) agentState(now int64) (AgentState, int64) {
	m := s.Mood
	if m.State == StateExited {
		return m.State, m.Since
	}
	if st, since := s.waitsFor(); st != "" {
		return st, since
	}
	switch {
	case m.State == "":
		return StateUnknown, s.Entity.StartedAt
	case m.Rest > 0 && now-m.Rest >= graceMS:
		return StateWaiting, m.Rest + graceMS
	}
	return m.State, m.Since
}
