package feed

import (
	"slices"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// call is a tool call that has no result yet, or ended without one.
type call struct {
	ToolUseID string `json:"id,omitempty"`
	EventID   string `json:"event"` // its tool.pre
	AgentID   string `json:"agent,omitempty"`
	Key       string `json:"key,omitempty"`   // see callKey
	Asked     bool   `json:"asked,omitempty"` // a permission request was linked to it
	Done      bool   `json:"done,omitempty"`  // its batch or turn is over
}

// callKey is equal for two payloads that speak of the same call of a tool. Of agents whose payloads have no
// hook.Payload.CallKey, those are the ones whose input is the same byte for byte.
func callKey(p *hook.Payload) string {
	if p.CallKey != "" || p.ToolName == "" {
		return key(p.CallKey)
	}
	return key(p.ToolName + " " + digest.Of(p.ToolInput))
}

// begin remembers a call. A late one only finds its result.
func (s *state) begin(c call, late bool) {
	if c.ToolUseID == "" && c.Key == "" {
		return
	}
	if len(s.Calls) == maxCalls {
		i := max(0, slices.IndexFunc(s.Calls, func(c call) bool { return c.Done }))
		s.Calls = slices.Delete(s.Calls, i, i+1)
	}
	c.Done = late
	s.Calls = append(s.Calls, c)
}

// finish takes out the call that a result belongs to: by its id, else the only one that can be
// meant.
func (s *state) finish(toolUseID, agentID, callKey string) (call, bool) {
	i := -1
	if toolUseID != "" {
		i = slices.IndexFunc(s.Calls, func(c call) bool { return c.ToolUseID == toolUseID && c.AgentID == agentID })
	} else {
		i = s.onlyCall(agentID, callKey, false)
	}
	if i < 0 {
		return call{}, false
	}
	c := s.Calls[i]
	s.Calls = slices.Delete(s.Calls, i, i+1)
	return c, true
}

// onlyCall is the index of the one open call with this key, -1 where there is none or several:
// of two equal calls nobody can say which is meant. unasked leaves out those that have a
// request.
func (s *state) onlyCall(agentID, callKey string, unasked bool) int {
	found := -1
	if callKey == "" {
		return -1
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Done || c.AgentID != agentID || c.Key != callKey || unasked && c.Asked {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// endCalls ends the open calls of one agent, or of all: no result will come.
func (s *state) endCalls(agentID string, all bool) {
	for i := range s.Calls {
		if all || s.Calls[i].AgentID == agentID {
			s.Calls[i].Done = true
		}
	}
}

func (s *state) hasOpenCall(agentID string) bool {
	return slices.ContainsFunc(s.Calls, func(c call) bool { return !c.Done && c.AgentID == agentID })
}
