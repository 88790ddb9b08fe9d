package policy

import (
	"path"
	"strings"

	"assent/internal/policy/shell"
)

// commandAllowed finds a rule that covers the command, and a shadow rule that would.
func (s *Set) commandAllowed(u *shell.Unit, e *scope) (covering, shadow *rule) {
	covers := func(r *rule) bool {
		ok, _ := s.covers(r, u, e)
		return ok
	}
	s.allows.allows(u, func(r *rule) bool {
		if covers(r) {
			covering = first(covering, r)
		}
		return covering == nil || covering.layer == Assent // another one is to be taken first
	})
	if covering == nil && s.shadows {
		s.shadowAllows.allows(u, func(r *rule) bool {
			if covers(r) {
				shadow = r
			}
			return shadow == nil
		})
	}
	return covering, shadow
}

// covers says whether an allow rule covers a command; the fault says why not.
func (s *Set) covers(r *rule, u *shell.Unit, e *scope) (covered bool, f fault) {
	inEach(u, func() bool {
		covered, f = s.coversHere(r, u, e)
		return covered
	})
	return covered, f
}

func (s *Set) coversHere(r *rule, u *shell.Unit, e *scope) (bool, fault) {
	if !e.spend(1 + len(u.Argv)/4) {
		return false, fault{"command", "there is too much to compare"}
	}
	if ok, f := r.match.command.allows(u, e); !ok {
		return false, f
	}
	if f := e.unnamed(r.match); f.selector != "" {
		return false, f
	}
	if r.match.cwd == nil && !e.inPlace(u.Dir, u.DirKnown) {
		return false, fault{"cwd", "it runs outside the project, and the rule says nothing about cwd"}
	}
	if t, f := r.match.circumstances(e, u.Dir, u.DirKnown, false); t != yes {
		return false, f
	}
	if r.quiet() {
		if word := e.networkWord(u); word != "" {
			return false, networkFault(word)
		}
	}
	return true, fault{}
}

// inPlace says whether a directory is one that an allow without cwd holds in: the project, or
// where nobody knows a project, the agent's own.
func (e *scope) inPlace(dir string, known bool) bool {
	return known && (lies(e.project, dir) || e.project == "" && dir == e.cwd)
}

func lies(dir, at string) bool {
	if dir == "" {
		return false
	}
	_, ok := under(dir, at)
	return ok
}

// fileCovered finds the rule that covers a file that a redirection writes or reads: a rule about
// files, or the rule of the command that it belongs to where that permits it.
func (s *Set) fileCovered(u *shell.Unit, e *scope, covered, shadowed []*rule) (covering, shadow *rule) {
	if !u.Path.Static || !u.DirKnown && !path.IsAbs(u.Path.Text) {
		return nil, nil
	}
	at, ok := e.resolvePath(u.Dir, u.Path.Text)
	if !ok {
		return nil, nil
	}
	op := opWrite
	if u.Kind == shell.ReadFile {
		op = opRead
	}
	for _, r := range s.allowFiles {
		if !r.match.file.allows(op, at, e) || e.unnamed(r.match).selector != "" || r.quiet() && e.networkFile(at) {
			continue
		}
		if t, _ := r.match.circumstances(e, u.Dir, u.DirKnown, false); t != yes {
			continue
		}
		if !r.shadow {
			return r, nil
		}
		shadow = first(shadow, r)
	}
	if u.Of < 0 || u.Of >= len(covered) {
		return nil, shadow
	}
	permits := func(r *rule) bool {
		if r == nil || e.unnamed(r.match).selector != "" || r.quiet() && e.networkFile(at) {
			return false
		}
		if u.Kind == shell.Write && obeyed(at) != "" {
			return false
		}
		set := r.match.command.stdout
		if u.Kind == shell.ReadFile {
			set = r.match.command.stdin
		}
		return set&streamFile != 0 || set&streamProject != 0 && e.inside(at, projectFiles)
	}
	if permits(covered[u.Of]) {
		return covered[u.Of], nil
	}
	if shadow == nil && permits(shadowed[u.Of]) {
		shadow = shadowed[u.Of]
	}
	return nil, shadow
}

var projectFiles = []pathPattern{{src: "${project}/**", anchor: atProject, all: true}}

// streamIn says whether a stream of the unit is one of the set.
func (e *scope) streamIn(set streams, s shell.Stream, u *shell.Unit, kind shell.Kind) bool {
	switch s {
	case shell.Inherit, shell.OtherFD:
		return set&streamNone != 0
	case shell.Pipe:
		return set&streamPipe != 0
	case shell.DevNull:
		return set&streamDevNull != 0
	case shell.Heredoc:
		return set&streamHeredoc != 0
	}
	if set&streamFile != 0 {
		return true
	}
	if set&streamProject == 0 {
		return false
	}
	// Every file of this kind that the command is connected to lies in the project.
	found := false
	for i := range e.units {
		f := &e.units[i]
		if f.Kind != kind || f.Of < 0 || &e.units[f.Of] != u {
			continue
		}
		at, ok := e.resolvePath(f.Dir, f.Path.Text)
		if !ok || !f.Path.Static || !f.DirKnown && !path.IsAbs(f.Path.Text) || !e.inside(at, projectFiles) {
			return false
		}
		found = true
	}
	return found
}

// unitText is how a person knows a unit.
func unitText(u *shell.Unit) string {
	switch u.Kind {
	case shell.Command:
		var b strings.Builder
		for i, w := range u.Argv {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
			if b.Len() > 300 {
				break
			}
		}
		return b.String()
	case shell.Write:
		return "> " + u.Path.Text
	case shell.ReadFile:
		return "< " + u.Path.Text
	case shell.Assign:
		return u.Name + "=" + u.Value.Text
	default:
		return "…"
	}
}
