package policy

import (
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/policy/shell"
)

// Facts are what is known of a part of a call beside the answer of the rules: for package effects,
// which tells people about it.
type Facts struct {
	// Pack is the file of the first allow rule of the set that covers the part; empty: none does.
	Pack string
	// Secrets are the words that name files with keys, passwords or tokens, or may name some.
	Secrets []string
	// Guarded says why no rule may allow the part: it touches assent, the agent's settings or what
	// git runs. Empty: it does not.
	Guarded string
	// Door is the first word of a command that no rule covers which opens a side door, see
	// sidedoors.txt, or may open one. Empty: none is known.
	Door string
}

// ReadPacks returns the rules of packs that come with assent as a set for Facts. It follows no
// links, so that it never touches a disk.
func ReadPacks(home string, names ...string) (*Set, error) {
	text := "version: 1\nuse: ["
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	files, problems := readSources([]Source{{Name: "packs", Layer: User, Data: []byte(text + "]\n")}})
	if len(problems) > 0 {
		return nil, &LoadError{problems}
	}
	return newSet(files, LoadOptions{Home: home})
}

// scopeOf is what the parts of a call are looked at with.
func (s *Set) scopeOf(c *Call) *scope {
	e := &scope{call: c, tool: tools.Of(c.Tool)}
	e.readlink, e.linkless = s.readlink, s.linkless
	e.cwd, e.project, e.home = clean(c.Cwd), clean(c.Project), clean(c.Home)
	if e.project == "" {
		e.project = e.cwd
	}
	return e
}

// CommandFacts returns what is known of each unit of a command that was read for the call.
func (s *Set) CommandFacts(c *Call, script *shell.Script) []Facts {
	e := s.scopeOf(c)
	e.command, e.units = script.Text, script.Units
	all := make([]Facts, len(script.Units))
	for i := range script.Units {
		u := &script.Units[i]
		f := &all[i]
		f.Guarded = s.protect.touchedBy(u, e)
		e.secrets = e.secretsOf(u)
		for _, secret := range e.secrets {
			f.Secrets = append(f.Secrets, secret.text)
		}
		if u.Kind == shell.Command && !u.DenyOnly {
			if r, _ := s.commandAllowed(u, e); r != nil {
				f.Pack = r.file
			} else if len(u.Argv) > 0 {
				f.Door, _ = programOf(u.Base).opened(u.Base, u.Argv[1:], make([]bool, len(u.Argv)-1))
			}
		}
	}
	return all
}

// FileFacts returns what is known of a file that a tool reads, searches in or changes.
func (s *Set) FileFacts(c *Call) Facts {
	e := s.scopeOf(c)
	e.input, _ = members(c.Input)
	t := readTarget(e)
	paths, ok := e.toolPaths(&t)
	f := Facts{}
	if !ok {
		f.Guarded = "its path is not absolute or not plain"
	}
	for _, at := range paths {
		switch {
		case s.protect.touches(at, e, t.op != opRead):
			f.Guarded = quote(at.spelled) + " is " + notAllowed
		case e.searches() && s.protect.above(at, e):
			f.Guarded = quote(at.spelled) + " holds assent's state"
		}
	}
	if key := e.strangeMember(); key != "" {
		f.Guarded = "its member " + quote(key) + " may name another file"
	}
	if e.tool.Kind != tool.ListDir {
		for _, secret := range e.secretsOfTool(&t, paths) {
			f.Secrets = append(f.Secrets, secret.text)
		}
	}
	return f
}
