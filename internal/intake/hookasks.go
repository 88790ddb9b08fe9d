package intake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude/describe"
	"assent/internal/hook"
)

// hookAsks knows what agents asked by their hooks lately. An agent that is driven by an editor over ACP may
// have assent's hooks as well, and then asks about one call in both ways: some at the same moment, others
// once their hook has not decided. The hook's request is the one that counts, for it says and can do more;
// the other is left to the editor.
//
// It is a memory of seconds, within bounds: without it there are two cards for one call. Its methods may be
// called from any goroutine.
type hookAsks struct {
	mu       sync.Mutex
	asks     []hookAsk     // oldest first
	sessions []hookSession // likewise, by their first event
	added    chan struct{} // closed with the next ask; nil while nobody waits
}

const (
	maxHookAsks     = 256
	maxHookSessions = 1024
	// hookAskedFor is how long after the end of a hook's request an agent may ask its editor the same.
	hookAskedFor = 30 * time.Second
)

type hookAsk struct {
	of        sessionKey
	id, about string
}

type hookSession struct {
	of    sessionKey
	agent string
}

// observe notes that an agent's own hook runs in a session.
func (h *hookAsks) observe(e *hook.Event, session string) {
	if e.Spooled || e.Emitted || session == "" {
		return
	}
	of := sessionKey{e.Submitter, session}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.sessions, func(s hookSession) bool { return s.of == of }) {
		return
	}
	if len(h.sessions) == maxHookSessions {
		h.sessions = slices.Delete(h.sessions, 0, 1)
	}
	h.sessions = append(h.sessions, hookSession{of, e.Agent})
}

// add notes the request of a hook.
func (h *hookAsks) add(req *hook.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asks) == maxHookAsks {
		h.asks = slices.Delete(h.asks, 0, 1)
	}
	h.asks = append(h.asks, hookAsk{sessionKey{req.Submitter, req.SessionID}, req.ID, aboutOf(req)})
	if h.added != nil {
		close(h.added)
		h.added = nil
	}
}

// of returns the ids of what hooks asked about the call that req is about, the latest first; a channel that
// is closed when there is more; and whether a hook of the session asks while its agent's editor does.
func (h *hookAsks) of(req *hook.Request) (ids []string, more <-chan struct{}, races bool) {
	of, about := sessionKey{req.Submitter, req.SessionID}, aboutOf(req)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.asks {
		if a.of == of && a.about == about {
			ids = append(ids, a.id)
		}
	}
	slices.Reverse(ids)
	for _, s := range h.sessions {
		races = races || s.of == of && agents.Races(s.agent)
	}
	if h.added == nil {
		h.added = make(chan struct{})
	}
	return ids, h.added, races
}

// aboutOf is what a call is about, whatever its tool is called and whatever else its input says. The two
// ways of asking do not show the same.
func aboutOf(req *hook.Request) string {
	for _, key := range []string{"command", "url", "file_path", "path", "fileName"} {
		if text, ok := describe.Member(req.ToolInput, key); ok {
			if key == "fileName" || key == "path" {
				key = "file_path"
			}
			return key + " " + text
		}
	}
	return "input " + req.InputSHA256
}

// asksByHook reports whether a request over ACP is to be left to the editor, because the agent's own hook
// asks about the same call, or just did.
func (in *Intake) asksByHook(ctx context.Context, req *hook.Request) bool {
	if req.Source != hook.SourceACP {
		return false
	}
	if _, err := in.cfg.Broker.Get(ctx, req.ID); !errors.Is(err, broker.ErrNotFound) { // it waits already
		return false
	}
	limit := time.NewTimer(hookHeadStart)
	defer limit.Stop()
	for {
		ids, more, races := in.asks.of(req)
		for _, id := range ids {
			if v, err := in.cfg.Broker.Get(ctx, id); err == nil && (v.State != broker.Ended || time.Since(v.SettledAt) < hookAskedFor) {
				return true
			}
		}
		if !races {
			return false
		}
		select {
		case <-more:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
