package server

import (
	"container/list"
	"context"
	"sync"
	"time"

	"assent/internal/hook"
)

// calls knows the tool calls that agents are about to make, by the events that came on this
// broker's own listeners. A PermissionRequest of Claude Code's hook does not name the call that it
// is about, the PreToolUse before it does; a permission prompt tool gets the name and nothing of
// the session. Put together they tell which two requests are about one call.
//
// It is a memory of seconds and proves nothing: without it requests are only less often found to be
// twins. Its methods may be called from any goroutine.
type calls struct {
	mu       sync.Mutex
	sessions map[callsOf]*list.Element // of *sessionCalls
	recent   list.List                 // the same, most recently used first
}

// The bounds: the oldest go first.
const (
	maxCallSessions = 1024
	maxCalls        = 64 // of one session; an agent seldom makes more at once
	// maxCallText bounds the texts of one call, in bytes. Claude Code's are below 300; a call with
	// longer ones is not remembered.
	maxCallText = 512
	// hookWait is how long a permission prompt tool's request waits for that of the hook, which
	// tells more. They set out at the same moment, but the hook has a process to start.
	hookWait = time.Second
)

// callsOf names a session as one submitter tells of it: another may name the same one.
type callsOf struct{ submitter, session string }

type sessionCalls struct {
	id    callsOf
	calls []*toolCall // oldest first
}

// toolCall is a call between its PreToolUse and its end.
type toolCall struct {
	id, agentID, agentType, key string
	asked                       string        // id of the hook's request about it
	entered                     chan struct{} // closed when the broker holds that request
}

// observe takes an event of an agent's own hook.
func (c *calls) observe(e *hook.Event, p *hook.Payload) {
	if e.Spooled || e.Emitted || p.SessionID == "" {
		return
	}
	of := callsOf{e.Submitter, p.SessionID}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Type {
	case "PreToolUse":
		if p.ToolUseID != "" && p.CallKey != "" && len(p.ToolUseID)+len(p.AgentID)+len(p.AgentType)+len(p.CallKey) <= maxCallText {
			c.addLocked(of, p)
		}
	case "PostToolUse", "PostToolUseFailure":
		c.dropLocked(of, func(t *toolCall) bool { return t.id == p.ToolUseID })
	case "PostToolBatch", "Stop", "StopFailure", "SubagentStop", "UserPromptSubmit":
		c.dropLocked(of, func(t *toolCall) bool { return t.agentID == p.AgentID })
	case "SessionEnd":
		c.dropLocked(of, func(*toolCall) bool { return true })
	}
}

func (c *calls) addLocked(of callsOf, p *hook.Payload) {
	el := c.sessions[of]
	if el == nil {
		if c.sessions == nil {
			c.sessions = map[callsOf]*list.Element{}
		}
		if len(c.sessions) == maxCallSessions {
			oldest := c.recent.Back()
			delete(c.sessions, c.recent.Remove(oldest).(*sessionCalls).id)
		}
		el = c.recent.PushFront(&sessionCalls{id: of})
		c.sessions[of] = el
	}
	c.recent.MoveToFront(el)
	s := el.Value.(*sessionCalls)
	for _, t := range s.calls {
		if t.id == p.ToolUseID { // told of twice
			return
		}
	}
	if len(s.calls) == maxCalls {
		s.calls = append(s.calls[:0], s.calls[1:]...)
	}
	s.calls = append(s.calls, &toolCall{
		id: p.ToolUseID, agentID: p.AgentID, agentType: p.AgentType, key: p.CallKey, entered: make(chan struct{}),
	})
}

func (c *calls) dropLocked(of callsOf, over func(*toolCall) bool) {
	el := c.sessions[of]
	if el == nil {
		return
	}
	s := el.Value.(*sessionCalls)
	var left []*toolCall
	for _, t := range s.calls {
		if !over(t) {
			left = append(left, t)
		}
	}
	if s.calls = left; len(left) == 0 {
		c.recent.Remove(el)
		delete(c.sessions, of)
	}
}

// name fills in what is known of the call that req is about. The request of a permission prompt
// tool then waits a moment for the hook's, if there is a hook.
func (c *calls) name(ctx context.Context, req *hook.Request) {
	t := c.find(req)
	if req.ToolUseID == "" { // an equal call may be asked about at the same moment
		req.Alone = true
	}
	if t == nil || req.Via == "" || req.Alone {
		return
	}
	limit := time.NewTimer(hookWait)
	defer limit.Stop()
	select {
	case <-t.entered:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// find returns the call that req is about, if it is known for certain.
func (c *calls) find(req *hook.Request) *toolCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine *toolCall
	equal := 0 // calls that a request of the hook could be about
	s := c.of(ofRequest(req))
	for _, t := range s {
		if req.Via != "" && t.id == req.ToolUseID {
			mine = t
			req.AgentID, req.AgentType = t.agentID, t.agentType
		}
	}
	for _, t := range s {
		switch {
		case t.agentID != req.AgentID || t.key != req.CallKey:
		case t.asked == "":
			equal++
			if req.Via == "" && mine == nil {
				mine = t
			}
		case t.asked == req.ID: // it comes back
			req.ToolUseID = t.id
			return t
		}
	}
	switch {
	case mine == nil, mine.key != req.CallKey: // another hook may have changed the input since
		return nil
	case mine.asked == "" && equal > 1:
		req.Alone = true
		return nil
	case req.Via == "":
		mine.asked, req.ToolUseID = req.ID, mine.id
	}
	return mine
}

func ofRequest(req *hook.Request) callsOf { return callsOf{req.Submitter, req.SessionID} }

func (c *calls) of(of callsOf) []*toolCall {
	if el := c.sessions[of]; el != nil {
		return el.Value.(*sessionCalls).calls
	}
	return nil
}

// entered says that the broker holds req, or will not.
func (c *calls) entered(req *hook.Request) {
	if req.Via != "" || req.ToolUseID == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.of(ofRequest(req)) {
		if t.asked != req.ID {
			continue
		}
		select {
		case <-t.entered:
		default:
			close(t.entered)
		}
	}
}
