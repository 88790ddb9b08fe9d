package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// dirFacts is what protection knows about a directory.
type dirFacts struct {
	dir                string
	known, sign, above bool // see hasSign and aboveState
}

func (e *scope) facts(p *protection, dir string) *dirFacts {
	if e.dir.dir != dir || !e.dir.known {
		last, news := &e.dir, dir // a script that goes down and down names each directory again
		if last.known && !last.sign && strings.HasPrefix(dir, last.dir) {
			news = dir[max(0, len(last.dir)-p.longest):]
		}
		e.dir = dirFacts{dir, true, p.hasSign(news), p.aboveState(dir, e)}
	}
	return &e.dir
}

// aboveState says whether a directory holds assent's state somewhere below.
func (p *protection) aboveState(dir string, e *scope) bool {
	for _, s := range p.state {
		if _, ok := under(dir, s); ok {
			return true
		}
	}
	if e.home == "" {
		return false
	}
	if _, ok := under(dir, e.home); ok { // the home and what is above it
		return true
	}
	switch rest, ok := under(e.home, dir); {
	case !ok:
		return false
	default:
		return rest == ".local" || rest == ".local/state" || rest == ".config"
	}
}

// above is aboveState for a path in any spelling.
func (p *protection) above(at resolvedPath, e *scope) bool {
	if p.aboveState(at.spelled, e) {
		return true
	}
	for _, r := range at.real {
		if r == "" || r == at.spelled {
			continue
		}
		if e.realState == nil {
			e.realState = []string{e.realBase(&pathPattern{anchor: atHome})}
			for _, s := range p.state {
				e.realState = append(e.realState, e.resolve(s))
			}
		}
		if p.aboveState(r, e) || slices.ContainsFunc(e.realState, func(s string) bool { return lies(r, s) }) {
			return true
		}
	}
	return false
}

// listsState says whether a word of the command is a directory above assent's state.
func (p *protection) listsState(u *shell.Unit, e *scope) bool {
	if e.facts(p, u.Dir).above {
		return true
	}
	for _, w := range u.Argv[min(1, len(u.Argv)):] {
		if !w.Static || mayLead(w.Text) && p.aboveState(path.Clean(w.Text), e) || strings.Contains(w.Text, "..") {
			return true
		}
	}
	return false
}

// readsComputed says whether a program of the script that reads or changes files is given a name
// that is known at run time only.
func (e *scope) readsComputed() bool {
	return e.computedRead.of(func() bool {
		for i := range e.units {
			u := &e.units[i]
			if u.Kind == shell.Command && !namesOnly(u.Base) && slices.ContainsFunc(u.Argv, func(w shell.Word) bool { return !w.Static }) {
				return true
			}
		}
		return false
	})
}

// holdsProject says whether a word is the project's directory or one above it.
func (e *scope) holdsProject(w shell.Word, u *shell.Unit) bool {
	if !w.Static || w.Text == "" || len(w.Text) > maxPath || u.Dir == "" || e.project == "" {
		return false
	}
	at := w.Text
	if at[0] != '/' {
		if at[0] != '.' && !lies(u.Dir, e.project) {
			return false
		}
		at = u.Dir + "/" + at
	}
	return lies(path.Clean(at), e.project)
}

// searchesBelow says whether a command without a path reads everything below its directory.
func searchesBelow(u *shell.Unit) bool {
	switch u.Base {
	case "rg", "ag", "ack", "ugrep", "ug":
		return true
	case "grep", "egrep", "fgrep", "zgrep":
		return slices.ContainsFunc(u.Argv, func(w shell.Word) bool {
			return !w.Static || len(w.Text) > 1 && w.Text[0] == '-' && strings.ContainsAny(w.Text, "rRd")
		})
	}
	return false
}
