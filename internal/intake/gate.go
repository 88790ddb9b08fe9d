package intake

import (
	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// noDecision is what a hook prints that waits for a denial and gets none: nothing at all would be the silence of a
// broker that is away.
const noDecision = "{}"

// gate is for a call about which an agent asks nobody, but whose hook waits for a denial. It makes a request of it
// if a rule denies it, or wants a person to be asked, and else reports that the call goes by.
func (in *Intake) gate(a *Arrival, p *payload) (goesBy bool) {
	e := &a.Event
	if p.asks || e.Spooled || e.Emitted || e.Source != "" || !agents.Gates(e.Agent, e.Type) || p.SessionID == "" || p.ToolName == "" {
		return false
	}
	if in.cfg.Rules == nil {
		return true
	}
	v := in.verdict(newRequest(a, e, &p.Payload, identity{toolUseID: p.ToolUseID, agentID: p.AgentID, agentType: p.AgentType}))
	if v.Action != hook.ActionDeny && (v.Action != hook.ActionAsk || v.Rule == "") {
		return true
	}
	p.NativeType, p.Type, p.asks = p.Type, hook.EventPermissionRequest, true
	e.NativeType, e.Type = p.NativeType, p.Type
	return false
}
