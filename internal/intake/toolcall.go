package intake

import (
	"container/list"
	"context"
	"sync"
	"time"

	"assent/internal/hook"
)

// toolCalls knows the tool calls that agents are about to make, by the events that came on this
// broker's own listeners. A PermissionRequest of Claude Code's hook does not name the call that it
// is about, the PreToolUse before it does; a permission prompt tool gets the name and nothing of
// the session. Put together they tell which two requests are about one call.
//
// It is a memory of seconds and proves nothing: without it requests are only less often found to be
// duplicates. Its methods may be called from any goroutine.
type toolCalls struct {
	mu       sync.Mutex
	sessions map[sessionKey]*list.Element // of *sessionCalls
	recent   list.List                    // the same, most recently used first
}

// The bounds: the oldest go first.
const (
	maxCallSessions = 1024
	maxCalls        = 64 // of one session; an agent seldom makes more at once
	// maxCallText bounds the texts of one call, in bytes. Claude Code's are below 300; a call with
	// longer ones is not remembered.
	maxCallText = 512
	// hookHeadStart is how long a permission prompt tool's request waits for that of the hook, which
	// tells more. They set out at the same moment, but the hook has a process to start.
	hookHeadStart = time.Second
)

// sessionKey names a session of one submitter: another may use the same name.
type sessionKey struct{ submitter, session string }

type sessionCalls struct {
	id    sessionKey
	calls []*toolCall // oldest first
}

// toolCall is a call between its PreToolUse and its end.
type toolCall struct {
	id, agentID, agentType, key string
	asked                       string        // id of the hook's request about it
	recorded                    chan struct{} // closed when the broker holds that request, or will not
}

// observe takes an event of an agent's own hook.
func (c *toolCalls) observe(e *hook.Event, p *hook.Payload) {
	if e.Spooled || e.Emitted || p.SessionID == "" {
		return
	}
	of := sessionKey{e.Submitter, p.SessionID}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Type {
	case hook.EventPreToolUse:
		if p.ToolUseID != "" && p.CallKey != "" && len(p.ToolUseID)+len(p.AgentID)+len(p.AgentType)+len(p.CallKey) <= maxCallText {
			c.addLocked(of, p)
		}
	case hook.EventPostToolUse, hook.EventPostToolUseFailure:
		c.dropLocked(of, func(t *toolCall) bool { return t.id == p.ToolUseID })
	case hook.EventPostToolBatch, hook.EventStop, hook.EventStopFailure, hook.EventSubagentStop, hook.EventUserPromptSubmit:
		c.dropLocked(of, func(t *toolCall) bool { return t.agentID == p.AgentID })
	case hook.EventSessionEnd:
		c.dropLocked(of, func(*toolCall) bool { return true })
	}
}

func (c *toolCalls) addLocked(of sessionKey, p *hook.Payload) {
	el := c.sessions[of]
	if el == nil {
		if c.sessions == nil {
			c.sessions = map[sessionKey]*list.Element{}
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
		if t.id == p.ToolUseID { // seen before
			return
		}
	}
	if len(s.calls) == maxCalls {
		s.calls = append(s.calls[:0], s.calls[1:]...)
	}
	s.calls = append(s.calls, &toolCall{
		id: p.ToolUseID, agentID: p.AgentID, agentType: p.AgentType, key: p.CallKey, recorded: make(chan struct{}),
	})
}

func (c *toolCalls) dropLocked(of sessionKey, over func(*toolCall) bool) {
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

// identity is what is known of the tool call that a request is about.
type identity struct {
	toolUseID, agentID, agentType string
	// ambiguous says that nobody can tell which of several equal calls it is.
	ambiguous bool
}

// identify says which tool call the event e, which asks for permission, is about. The request of a
// permission prompt tool then waits a moment for that of the hook, if there is a hook: it ends with
// ctx.
func (c *toolCalls) identify(ctx context.Context, e *hook.Event, p *hook.Payload) identity {
	id, t := c.find(e, p)
	if id.toolUseID == "" { // an equal call may be asked about at the same moment
		id.ambiguous = true
	}
	if t == nil || e.Source == "" || id.ambiguous {
		return id
	}
	limit := time.NewTimer(hookHeadStart)
	defer limit.Stop()
	select {
	case <-t.recorded:
	case <-limit.C:
	case <-ctx.Done():
	}
	return id
}

// find returns what is known of the call that e is about, and the call itself if that is certain.
// A call that a hook asks about is taken: an equal one is another.
func (c *toolCalls) find(e *hook.Event, p *hook.Payload) (identity, *toolCall) {
	id := identity{toolUseID: p.ToolUseID, agentID: p.AgentID, agentType: p.AgentType}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.of(sessionKey{e.Submitter, p.SessionID})
	var mine *toolCall
	if e.Source != "" {
		for _, t := range known {
			if t.id == p.ToolUseID {
				mine, id.agentID, id.agentType = t, t.agentID, t.agentType
			}
		}
	}
	equal := 0 // calls that a request of the hook could be about
	for _, t := range known {
		switch {
		case t.agentID != id.agentID || t.key != p.CallKey:
		case t.asked == "":
			equal++
			if e.Source == "" && mine == nil {
				mine = t
			}
		case t.asked == e.ID: // it comes back
			id.toolUseID = t.id
			return id, t
		}
	}
	switch {
	case mine == nil, mine.key != p.CallKey: // another hook may have changed the input since
		return id, nil
	case mine.asked == "" && equal > 1:
		id.ambiguous = true
		return id, nil
	case e.Source == "":
		mine.asked, id.toolUseID = e.ID, mine.id
	}
	return id, mine
}

func (c *toolCalls) of(key sessionKey) []*toolCall {
	if el := c.sessions[key]; el != nil {
		return el.Value.(*sessionCalls).calls
	}
	return nil
}

// recorded says that the broker holds the request of a hook, or will not.
func (c *toolCalls) recorded(req *hook.Request) {
	if req.Source != "" || req.ToolUseID == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.of(sessionKey{req.Submitter, req.SessionID}) {
		if t.asked != req.ID {
			continue
		}
		select {
		case <-t.recorded:
		default:
			close(t.recorded)
		}
	}
}
