package intake

import (
	"strconv"
	"strings"
	"testing"

	"assent/internal/hook"
)

// Whatever agents tell, the memory of calls is bounded, and ends with the calls.
func TestToolCallsAreBounded(t *testing.T) {
	var c toolCalls
	tell := func(kind, session, id string) {
		c.observe(&hook.Event{Type: kind}, &hook.Payload{SessionID: session, ToolUseID: id, CallKey: "Bash x"})
	}
	for i := range 2 * maxCallSessions {
		tell("PreToolUse", strconv.Itoa(i), "t")
	}
	for i := range 2 * maxCalls {
		tell("PreToolUse", "last", strconv.Itoa(i))
	}
	if len(c.sessions) != maxCallSessions || c.recent.Len() != maxCallSessions || len(c.of(sessionKey{"", "last"})) != maxCalls || c.of(sessionKey{"", "0"}) != nil {
		t.Errorf("%d sessions, %d in order, %d calls", len(c.sessions), c.recent.Len(), len(c.of(sessionKey{"", "last"})))
	}
	if got := c.of(sessionKey{"", "last"})[maxCalls-1].id; got != strconv.Itoa(2*maxCalls-1) {
		t.Errorf("the newest is %s", got)
	}
	tell("PostToolUse", "last", strconv.Itoa(2*maxCalls-1))
	if len(c.of(sessionKey{"", "last"})) != maxCalls-1 {
		t.Error("a call that is over is remembered")
	}
	for _, p := range []hook.Payload{
		{AgentType: strings.Repeat("a", 1<<20)}, {CallKey: strings.Repeat("B", 1<<20) + " x"}, {AgentID: strings.Repeat("a", 1000)},
	} {
		p.SessionID, p.ToolUseID, p.CallKey = "long", "t", p.CallKey+"Bash x"
		c.observe(&hook.Event{Type: "PreToolUse"}, &p)
	}
	if len(c.of(sessionKey{"", "long"})) != 0 {
		t.Error("texts of any length are remembered")
	}
	tell("SessionEnd", "last", "")
	if c.of(sessionKey{"", "last"}) != nil || c.recent.Len() != len(c.sessions) {
		t.Error("a session that is over is remembered")
	}
}
