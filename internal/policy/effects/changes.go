package effects

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
)

// Bounds of what Changes keeps: the sessions without news for longest go first, and of one session the
// files that were changed first.
const (
	maxChangedSessions = 512
	maxChangedFiles    = 128
	maxChangedPath     = 1024 // bytes; longer ones count as their folder's
	// changesFrom is how many of the stored events Follow begins with.
	changesFrom = 5_000
)

// Changes knows which files the agents' sessions changed: by their tools that edit, and by what their
// commands are seen to write. What programs write that they run, a build or a generator, is not known. It
// keeps names, in memory only. Its methods may be called from any goroutine.
type Changes struct {
	r *reader

	mu       sync.Mutex
	sessions map[sessionKey]*list.Element // guarded by mu; of *changed
	recent   list.List                    // guarded by mu; the same, those with news first
}

var errNotNeeded = errors.New("not needed")

// sessionKey names a session of one submitter: another may use the same name.
type sessionKey struct{ submitter, session string }

type changed struct {
	id    sessionKey
	files []changedFile // the newest last
	seen  [8]uint64     // the last events that were taken in, by their sequence
	next  int
}

type changedFile struct {
	Change
	seq uint64 // of the event that told of it
}

// NewChanges returns a Changes that knows of none. home is the home directory of the agents' user; empty:
// ours.
func NewChanges(home string) *Changes {
	r := newReader(Options{Home: home})
	// What is written says the table. Beside it the packs would only say what is read.
	r.packs = func() (*policy.Set, error) { return nil, errNotNeeded }
	return &Changes{r: r, sessions: map[sessionKey]*list.Element{}}
}

// Observe takes an event that was published, whose payload is p. One that comes twice counts once.
func (c *Changes) Observe(e *hook.Event, p *hook.Payload) {
	if e.Type != hook.EventPostToolUse && e.Type != hook.EventPostToolUseFailure || p.SessionID == "" {
		return
	}
	t := tools.Of(p.ToolName)
	if !t.MayWrite() || e.Type == hook.EventPostToolUseFailure && t.Kind != tool.Command {
		return
	}
	id := sessionKey{e.Submitter, p.SessionID}
	if c.knows(id, e.Seq) {
		return
	}
	files := c.r.writes(&hook.Request{ToolName: p.ToolName, ToolInput: p.ToolInput, CWD: p.CWD, Origin: e.Origin})
	if len(files) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.sessions[id]
	if el == nil {
		if len(c.sessions) >= maxChangedSessions {
			delete(c.sessions, c.recent.Remove(c.recent.Back()).(*changed).id)
		}
		el = c.recent.PushFront(&changed{id: id})
		c.sessions[id] = el
	}
	c.recent.MoveToFront(el)
	el.Value.(*changed).add(files, e.Seq)
}

// knows says whether an event was taken in before.
func (c *Changes) knows(id sessionKey, seq uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.sessions[id]
	return el != nil && seq != 0 && slices.Contains(el.Value.(*changed).seen[:], seq)
}

func (s *changed) add(files []Change, seq uint64) {
	s.seen[s.next%len(s.seen)] = seq
	s.next++
	for _, c := range files {
		if i := slices.IndexFunc(s.files, func(f changedFile) bool { return f.Change == c }); i >= 0 {
			first := s.files[i].seq // that it was changed by then stays true
			s.files = append(slices.Delete(s.files, i, i+1), changedFile{c, min(first, seq)})
			continue
		}
		if len(s.files) == maxChangedFiles {
			s.files = slices.Delete(s.files, 0, 1)
		}
		s.files = append(s.files, changedFile{c, seq})
	}
}

// Before returns what the session of a request changed before that, the last first. It is meant for
// Options.Changed.
func (c *Changes) Before(req *hook.Request) []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.sessions[sessionKey{req.Submitter, req.SessionID}]
	if el == nil {
		return nil
	}
	files := el.Value.(*changed).files
	all := make([]Change, 0, len(files))
	for i := len(files) - 1; i >= 0; i-- {
		if req.EventSeq == 0 || files[i].seq < req.EventSeq {
			all = append(all, files[i].Change)
		}
	}
	return all
}

// Forget drops what is known of the sessions of this name.
func (c *Changes) Forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, el := range c.sessions {
		if id.session == session {
			c.recent.Remove(el)
			delete(c.sessions, id)
		}
	}
}

// Follow observes the newest of the events that are stored, and then each that comes, those of other
// brokers on the same streams too, until ctx is done. bounds and events are those of stream.Stream, decode
// reads what is readable of a payload.
func (c *Changes) Follow(ctx context.Context, bounds func(context.Context) (oldest, newest uint64, err error), events func(context.Context, uint64, func(hook.Event)) error, decode func(agent, event string, raw []byte) hook.Payload) error {
	oldest, newest, err := bounds(ctx)
	if err != nil {
		oldest, newest = 0, 0 // only what comes
	}
	from := oldest
	if newest > changesFrom {
		from = max(oldest, newest-changesFrom)
	}
	return events(ctx, from, func(e hook.Event) {
		if e.Type != hook.EventPostToolUse && e.Type != hook.EventPostToolUseFailure {
			return
		}
		p := decode(e.Agent, e.Type, e.Raw)
		c.Observe(&e, &p)
	})
}

// writes are the files that a call writes.
func (r *reader) writes(req *hook.Request) []Change {
	e := r.begin(req)
	defer r.giveBack(e)
	if e.tool.Kind == tool.Command {
		e.gather()
	} else if name, ok := e.fileName(); ok { // its text may be long, and does not matter
		p := e.where.path(name, e.where.cwd, true)
		e.noteWrite(&line{kind: "writes"}, &p, &shell.Unit{Dir: e.where.cwd, DirKnown: true})
	}
	all := make([]Change, 0, len(e.wrote))
	for i := range e.wrote {
		c := Change{e.wrote[i].at, e.wrote[i].link}
		if len(c.Path) > maxChangedPath {
			c.Path = e.where.cwd
		}
		if c.Path != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}
