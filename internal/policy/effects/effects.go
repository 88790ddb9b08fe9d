// Package effects says what a request would do, in assent's words: what it reads, writes, deletes,
// publishes and sends, and how bad that could be. It informs people; no rule allows because of it.
//
// What is not known is an effect of its own, unknown, and never calm. Nothing is taken from what the
// agent says about its own call. What programs do stands in table.txt, which files run later in
// plants.txt; what only reads, what is secret and what opens a side door is known from package policy.
package effects

import (
	"os"
	"path/filepath"
	"sync"

	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/agent/toolset"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/memo"
	"assent/internal/text/show"
)

// Options are what Func needs to know besides a request. The zero value is good.
type Options struct {
	// Home is the home directory of the agents' user; empty: ours.
	Home string
	// Changed returns what the session of a request changed before, the last first. To run what may use one
	// of the files is attention: nobody knows what it does now; so is whatever goes through one of the
	// links: nobody knows where to. nil: nobody knows of any. See Changes.
	Changed func(*hook.Request) []Change
}

// Change is a file that a session changed.
type Change struct {
	Path string // absolute
	Link bool   // it is a link, or another name of a file, that the session made
}

// Func returns a function that says what a request would do; its result is never nil. home is the
// home directory of the agents' user; empty: ours. The function opens no file, and may be called
// from any goroutine.
func Func(home string) func(*hook.Request) *hook.Effects { return New(Options{Home: home}) }

// Warm reads the tables that the first request would wait for, which takes a tenth of a second.
func Warm(of func(*hook.Request) *hook.Effects) {
	of(&hook.Request{
		ToolName: tools.Bash, ToolInput: hook.JSON(`{"command":"git status && cat .env && tee x && unknown-program"}`),
		CWD: "/", Origin: hook.Origin{ProjectDir: "/"},
	})
}

// New is Func with options.
func New(o Options) func(*hook.Request) *hook.Effects {
	r := newReader(o)
	return func(req *hook.Request) *hook.Effects { return r.of(req) }
}

func newReader(o Options) *reader {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, ~ is nobody's
	}
	o.Home = clean(o.Home)
	r := &reader{Options: o, memo: memo.Memo[asked, known]{Most: maxMemo}}
	r.packs = sync.OnceValues(func() (*policy.Set, error) { return policy.ReadPacks(o.Home, packNames()...) })
	return r
}

// reader reads requests. It is used by many goroutines.
type reader struct {
	Options
	packs func() (*policy.Set, error)
	free  sync.Pool // of *found that are not in use
	memo  memo.Memo[asked, known]
}

// borrow returns an empty found, with the memory of one that was given back.
func (r *reader) borrow() *found {
	if e, ok := r.free.Get().(*found); ok {
		return e
	}
	return &found{reader: r, effects: make([]effect, 0, 16)}
}

// giveBack keeps the memory of a found for the next request, and nothing of what it held.
func (r *reader) giveBack(e *found) {
	if cap(e.effects) > 64 || cap(e.marks) > maxMarks || cap(e.memory.ints) > 256 || cap(e.memory.flags) > 64 {
		return
	}
	clear(e.effects[:cap(e.effects)])
	clear(e.wrote)
	e.memory.forget()
	*e = found{reader: r, effects: e.effects[:0], marks: e.marks[:0], wrote: e.wrote[:0], memory: e.memory}
	r.free.Put(e)
}

// pack says what a command that a pack allows does.
type pack struct {
	kind string
	risk hook.Risk
	host string
}

// packsBy are the packs whose commands are known to do nothing worse than is said here.
func packsBy(name string) pack {
	switch name {
	case "builtin/gh-read@1":
		return pack{"downloads", hook.Attention, "github.com"}
	case "builtin/git-remote-read@1":
		return pack{"downloads", hook.Attention, "the remote"}
	case "builtin/kube-read@1":
		return pack{"downloads", hook.Attention, "the cluster"}
	case "builtin/cloud-read@1":
		return pack{"downloads", hook.Attention, "the cloud"}
	case "builtin/npm-read@1":
		return pack{"downloads", hook.Attention, "the registry"}
	case "builtin/go-project@1", "builtin/node-project@1", "builtin/python-project@1", "builtin/rust-project@1", "builtin/coding@1":
		return pack{"runs-project", hook.Normal, ""}
	}
	return pack{"reads", hook.Calm, ""}
}

func packNames() []string {
	return []string{
		"builtin/readonly@1", "builtin/git-read@1", "builtin/docker-read@1", "builtin/macos-read@1", "builtin/brew-read@1", "builtin/pip-read@1",
		"builtin/gh-read@1", "builtin/git-remote-read@1", "builtin/kube-read@1", "builtin/cloud-read@1", "builtin/npm-read@1",
		"builtin/go-project@1", "builtin/node-project@1", "builtin/python-project@1", "builtin/rust-project@1", "builtin/coding@1",
	}
}

// begin returns a found for a request, to be given back.
func (r *reader) begin(req *hook.Request) *found {
	root := req.Repo.Root
	if root == "" {
		root = req.ProjectDir
	}
	e := r.borrow()
	e.req, e.where = req, surroundings{project: clean(root), home: r.Home, cwd: clean(req.CWD)}
	if e.where.project == "" {
		e.where.project = e.where.cwd
	}
	e.tool = toolset.Of(req.Agent, req.ToolName)
	return e
}

// gather finds what the request does.
func (e *found) gather() {
	switch req := e.req; {
	case req.Event == hook.EventElicitation:
		e.add(effect{kind: "asks", text: "Asks you to fill in a form", risk: hook.Normal})
	case e.tool.Kind == tool.Command:
		if command, ok := describe.Member(req.ToolInput, e.tool.Command); ok {
			e.bash(command)
		} else {
			e.add(effect{kind: "unknown", text: "Runs a command that cannot be read", risk: hook.Attention})
		}
	case e.tool.Kind == tool.Patch:
		e.patch()
	default:
		e.other()
	}
	if e.req.Uninspectable != "" {
		e.add(effect{kind: "unknown", text: "Can be read in two ways", risk: hook.Attention})
	}
}

// call is the request as package policy knows it. The time of a rule does not matter here.
func (e *found) call() *policy.Call {
	return &policy.Call{
		Agent: e.req.Agent, Tool: e.req.ToolName, Input: []byte(e.req.ToolInput), Cwd: e.where.cwd, Project: e.where.project, Home: e.where.home,
	}
}

// clean is a directory that is absolute and clean, or none.
func clean(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Clean(dir)
}

// shown is a name safe to look at, short enough for a line.
func shown(s string, max int) string { return show.Short(s, max) }
