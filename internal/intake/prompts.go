package intake

import (
	"container/list"
	"context"
	"regexp"
	"sync"
	"time"

	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/text/show"
)

const (
	// maxPromptSessions bounds the sessions whose prompts are known; those without news for longest go
	// first.
	maxPromptSessions = 1024
	// promptLookup bounds how long a request waits for a prompt that has to be looked up; longPromptLookup
	// is for one whose hook comes back after a restart, when the prompt is known to nobody here.
	promptLookup     = 100 * time.Millisecond
	longPromptLookup = time.Second
)

// prompts knows what was last asked of the agents: the newest prompt of each session. Its methods may be
// called from any goroutine.
type prompts struct {
	looking chan struct{} // has an element during a look-up: one at a time

	mu       sync.Mutex
	sessions map[sessionKey]*list.Element // guarded by mu; of *sessionPrompt
	recent   list.List                    // guarded by mu; the same, most recently used first
}

type sessionPrompt struct {
	id    sessionKey
	about hook.Context // the prompt's part of it; no prompt: it was looked up in vain
}

// observe takes an event of an agent's own hook.
func (p *prompts) observe(e *hook.Event, session string) {
	if e.Spooled || e.Emitted || e.Source != "" || session == "" {
		return
	}
	id := sessionKey{e.Submitter, session}
	switch e.Type {
	case hook.EventUserPromptSubmit:
		if about, ok := promptOf(e); ok {
			p.set(id, about)
		}
	case hook.EventSessionEnd:
		p.drop(func(k sessionKey) bool { return k == id })
	}
}

func (p *prompts) set(id sessionKey, about hook.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if el := p.sessions[id]; el != nil {
		el.Value.(*sessionPrompt).about = about
		p.recent.MoveToFront(el)
		return
	}
	if p.sessions == nil {
		p.sessions = map[sessionKey]*list.Element{}
	}
	if len(p.sessions) == maxPromptSessions {
		oldest := p.recent.Back()
		delete(p.sessions, p.recent.Remove(oldest).(*sessionPrompt).id)
	}
	p.sessions[id] = p.recent.PushFront(&sessionPrompt{id, about})
}

func (p *prompts) get(id sessionKey) (hook.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	el := p.sessions[id]
	if el == nil {
		return hook.Context{}, false
	}
	p.recent.MoveToFront(el)
	return el.Value.(*sessionPrompt).about, true
}

func (p *prompts) drop(gone func(sessionKey) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, el := range p.sessions {
		if gone(id) {
			p.recent.Remove(el)
			delete(p.sessions, id)
		}
	}
}

// prompt is the part of req's context that says what was asked of its agent. A session that began before
// this broker did is looked up in its history. back says that req's hook comes back.
func (in *Intake) prompt(ctx context.Context, req *hook.Request, back bool) hook.Context {
	id := sessionKey{req.Submitter, req.SessionID}
	about, known := in.prompts.get(id)
	if known || in.cfg.PastPrompts == nil || req.Submitter == "" {
		return about
	}
	limit := promptLookup
	if back {
		limit = longPromptLookup
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !in.prompts.enter(ctx, back) {
		return about
	}
	defer func() { <-in.prompts.looking }()
	known = in.cfg.PastPrompts(ctx, req.SessionID, back, func(e hook.Event) bool {
		if e.Submitter != req.Submitter {
			return true // another may call its session what this one is called
		}
		var found bool
		about, found = promptOf(&e)
		return !found
	})
	if !known || ctx.Err() != nil {
		return about
	}
	if newer, known := in.prompts.get(id); known { // it came meanwhile
		return newer
	}
	in.prompts.set(id, about)
	return about
}

// enter begins a look-up, if there is none; with wait it waits for its turn.
func (p *prompts) enter(ctx context.Context, wait bool) bool {
	select {
	case p.looking <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	select {
	case p.looking <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// promptOf reads a prompt. ok is false where there is none: what the agent's program says of a task in
// the place of a prompt leaves the prompt what it was.
func promptOf(e *hook.Event) (about hook.Context, ok bool) {
	d := agents.Reader(e.Agent).Detail(e.Type, e.Raw)
	text := d.Prompt
	switch d.Notice.Kind {
	case "":
		about.PromptFrom = hook.PromptYou
		if e.Origin.Attended == hook.AttendedNo {
			about.PromptFrom = hook.PromptProgram
		}
		// A wrapper that is not all of the prompt may still be another session's.
		if wrapped.MatchString(text) {
			about.PromptFrom = hook.PromptSession
		}
	case "session_message":
		text = d.Notice.Summary
		about.PromptFrom, about.PromptSender = hook.PromptSession, show.Start(d.Notice.From, maxSender)
	default:
		return hook.Context{}, false
	}
	if text == "" {
		return hook.Context{}, false
	}
	about.Prompt, about.PromptCut, about.PromptAt = show.Start(text, maxPrompt), longer(text, maxPrompt), e.Time.UTC()
	return about, true
}

// maxSender bounds what another session calls itself, in characters.
const maxSender = 80

// wrapped finds the tags in which an agent's program hands over what others say to it:
// <cross-session-message …>, <teammate-message …>.
var wrapped = regexp.MustCompile(`(?i)<[a-z]+(-[a-z]+)*-message[\s>]`)

// Forget drops what is known of a session.
func (in *Intake) Forget(session string) {
	in.prompts.drop(func(id sessionKey) bool { return id.session == session })
	in.cfg.Forgotten(session)
}
