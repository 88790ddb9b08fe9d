package feed

import (
	"slices"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/text/digest"
)

// request is a permission request as its event and its records tell.
type request struct {
	ID       string `json:"id"`
	EventID  string `json:"event,omitempty"`    // its permission.request
	Decision string `json:"decision,omitempty"` // its permission.decision
	AgentID  string `json:"agent,omitempty"`
	Tool     string `json:"tool,omitempty"`
	ToolUse  string `json:"tool_use,omitempty"`
	What     string `json:"what,omitempty"` // for titles, shown already
	// Input is what was asked for while the request waits, to tell what an approver changed; empty
	// when it was too large to be kept.
	Input  string `json:"input,omitempty"`
	Edited bool   `json:"edited,omitempty"` // it was allowed as edited
	// Ran is the digest of the command line by which it ran contained, empty where it did not.
	Ran   string     `json:"ran,omitempty"`
	Deny  bool       `json:"deny,omitempty"` // is denied when nobody answers
	Stage stage      `json:"stage,omitempty"`
	Waits AgentState `json:"waits,omitempty"` // what the agent does while it waits
	At    int64      `json:"at,omitempty"`
}

// stage is how far a request has come.
type stage int

const (
	stageSeen    stage = iota // its event came, no record yet
	stageAsked                // it waits in the queue
	stageSettled              // decided or ended
)

func (s *state) requestIndex(id string) int {
	if id == "" {
		return -1
	}
	// The newest are looked for most.
	for i := len(s.Requests) - 1; i >= 0; i-- {
		if s.Requests[i].ID == id {
			return i
		}
	}
	return -1
}

// addRequest remembers a request.
func (s *state) addRequest(r request) {
	if len(s.Requests) == maxRequests {
		i := max(0, slices.IndexFunc(s.Requests, func(r request) bool { return r.Stage == stageSettled }))
		s.Requests = slices.Delete(s.Requests, i, i+1)
	}
	s.Requests = append(s.Requests, r)
	left := maxInputs
	for i := len(s.Requests) - 1; i >= 0; i-- { // the newest are kept
		if left -= len(s.Requests[i].Input); left < 0 {
			s.Requests[i].Input = ""
		}
	}
}

// keptInput is an input as it is kept while its request waits.
func keptInput(in hook.JSON) string {
	if len(in) > maxInput || !utf8.Valid(in) {
		return ""
	}
	return string(in)
}

// contained returns the input that was asked for, if the call ran contained by the line that its answer
// had; nil otherwise. Anybody may write such a line.
func (s *state) contained(agentID string, input hook.JSON) hook.JSON {
	if !slices.ContainsFunc(s.Requests, func(r request) bool { return r.Ran != "" }) {
		return nil
	}
	original, line, ok := contained.Unwrap(input)
	if !ok {
		return nil
	}
	ran := digest.Of([]byte(line))
	for i := range s.Requests {
		if s.Requests[i].Ran == ran && s.Requests[i].AgentID == agentID {
			return original
		}
	}
	return nil
}

// settle moves a request to the settled ones, of which the oldest may be forgotten.
func (s *state) settle(i int) {
	s.Requests[i].Stage, s.Requests[i].Input = stageSettled, ""
	n, oldest := 0, -1
	for j := range s.Requests {
		if s.Requests[j].Stage == stageSettled {
			if oldest < 0 {
				oldest = j
			}
			n++
		}
	}
	if n > maxSettled && oldest != i {
		s.Requests = slices.Delete(s.Requests, oldest, oldest+1)
	}
}

func (s *state) anyPending() bool {
	return slices.ContainsFunc(s.Requests, func(r request) bool { return r.Stage == stageAsked })
}

// pending counts the requests that wait: permissions, and questions and plans.
func (s *state) pending() (permissions, questions int) {
	for i := range s.Requests {
		switch r := &s.Requests[i]; {
		case r.Stage != stageAsked:
		case r.Waits == StateBlocked:
			permissions++
		default:
			questions++
		}
	}
	return
}

// waitsFor is what the agent waits for, by the requests in the queue: a permission before a
// question before a plan. It is empty when there are none.
func (s *state) waitsFor() (st AgentState, since int64) {
	rank := map[AgentState]int{StateBlocked: 3, StateAskUser: 2, StatePlan: 1}
	for i := range s.Requests {
		r := &s.Requests[i]
		if r.Stage == stageAsked && rank[r.Waits] > rank[st] {
			st, since = r.Waits, r.At
		}
	}
	return
}

// WaitingFor is what the agent does while a request for this tool waits for a person.
func WaitingFor(name string) AgentState {
	switch kind := tools.Of(name).Kind; {
	case kind == tool.Question, name == hook.EventElicitation:
		return StateAskUser
	case kind == tool.Plan, kind == tool.PlanMode:
		return StatePlan
	}
	return StateBlocked
}

// formSeen remembers an MCP server's form. If it is held for a person, records follow.
func (s *state) formSeen(f *folding) {
	r := request{
		ID: key(f.e.ID), EventID: f.nextID(), AgentID: clean(f.p.AgentID, maxIDLen), Tool: hook.EventElicitation,
		What: line(f.d.Message), Waits: StateAskUser, At: f.at,
	}
	if i := s.requestIndex(r.ID); i >= 0 {
		r.Stage, r.Decision = s.Requests[i].Stage, s.Requests[i].Decision
		s.Requests[i] = r
	} else if r.ID != "" {
		s.addRequest(r)
	}
}

// permissionRequest is the content of a permission.request, from its event.
func (f *folding) permissionRequest() content {
	s, p, d := f.s, f.p, f.d
	r := request{
		ID: key(f.e.ID), AgentID: clean(p.AgentID, maxIDLen), Tool: clean(p.ToolName, maxIDLen),
		What: askTitle(WaitingFor(p.ToolName), p.ToolName, d.ToolArg), Waits: WaitingFor(p.ToolName), At: f.at,
		Input: keptInput(p.ToolInput),
	}
	i := s.onlyCall(p.AgentID, callKey(p), true)
	// A request that names a call, as today's do not, is about that one or none.
	if i >= 0 && f.drives && (d.ToolUseID == "" || key(d.ToolUseID) == s.Calls[i].ToolUseID) {
		c := &s.Calls[i]
		c.Asked = true
		f.parent, f.tool, r.ToolUse = c.EventID, c.ToolUseID, c.ToolUseID
	}
	s.Run.Counters.PermissionRequests++
	r.EventID = f.nextID()
	if p.NativeType == hook.EventPreToolUse { // an agent that asks in the event which begins the call
		s.Run.Counters.ToolUses++
		s.begin(call{ToolUseID: key(d.ToolUseID), EventID: r.EventID, AgentID: clean(p.AgentID, maxIDLen), Key: callKey(p), Asked: true}, !f.drives)
	}
	if r.ID != "" {
		if i := s.requestIndex(r.ID); i >= 0 { // its record is known, and was of no use without it
			r.Stage, r.Decision = s.Requests[i].Stage, s.Requests[i].Decision
			s.Requests[i] = r
		} else {
			s.addRequest(r)
		}
	}
	return content{
		data: &PermissionRequestData{
			ToolName: f.text("tool_name", p.ToolName), ToolInput: f.json("tool_input", p.ToolInput),
			ToolUseID: f.toolUseID(), PermissionSuggestions: f.json("permission_suggestions", p.Suggestions),
			AgentID: f.text("agent_id", p.AgentID), AgentType: f.text("agent_type", p.AgentType),
		},
		title: requestTitle(r.Waits, r.What), body: more(d.ToolArg),
	}
}
