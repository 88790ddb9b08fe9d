package effects

import (
	"crypto/sha256"
	"slices"

	"assent/internal/hook"
)

// A request is shown whenever it moves, to people, and once more to whoever is told of it elsewhere; its command need
// not be read each time. What it does follows from what asked below says, and from what its session changed before.

// Bounds of what is remembered.
const (
	maxMemo      = 256     // requests; twice as many at most
	maxMemoInput = 4 << 10 // bytes of the input of one
)

// asked is all of a request on which its effects depend. See reader.of.
type asked struct {
	input                             [sha256.Size]byte // its digest: what was forgotten should not stand here
	event, agent, tool                string
	cwd, project, root, branch, doubt string
}

// known are the effects of a request, and what its session had changed before.
type known struct {
	changed []Change
	effects *hook.Effects // nobody changes them
}

// of says what one request does.
func (r *reader) of(req *hook.Request) *hook.Effects {
	var changed []Change
	if r.Changed != nil {
		changed = r.Changed(req)
	}
	if len(req.ToolInput) > maxMemoInput || req.Overwrites != nil {
		return r.read(req, changed)
	}
	q := asked{
		input: sha256.Sum256(req.ToolInput), event: req.Event, agent: req.Agent, tool: req.ToolName,
		cwd: req.CWD, project: req.ProjectDir, root: req.Repo.Root, branch: req.Repo.Branch, doubt: req.Uninspectable,
	}
	if k, ok := r.memo.Get(q); ok && slices.Equal(k.changed, changed) {
		return k.effects
	}
	e := r.read(req, changed)
	r.memo.Put(q, known{changed, e})
	return e
}

// read says what a request of a session does that changed so much before.
func (r *reader) read(req *hook.Request, changed []Change) *hook.Effects {
	e := r.begin(req)
	defer r.giveBack(e)
	e.before = changed
	e.gather()
	return e.result()
}
