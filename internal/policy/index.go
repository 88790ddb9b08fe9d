package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// index finds the command rules that a unit could match without looking at the others: by
// program, and by first argument where the rule names one.
type index struct {
	byProgram map[string]*programRules
	wild      []*rule             // any program, or a pattern for its name
	byStem    map[string][]string // of rules that deny or ask: their programs by the name without a version
}

type programRules struct {
	byArg  map[string][]*rule
	anyArg []*rule // those of byArg, each once, in the order of the rules
	rest   []*rule
}

func (x *index) add(r *rule) {
	m := r.match.command
	literal := m.programs != nil
	for _, p := range m.programs {
		literal = literal && p.exact
	}
	if !literal {
		x.wild = append(x.wild, r)
		return
	}
	if x.byProgram == nil {
		x.byProgram = map[string]*programRules{}
	}
	first := firstArgs(m)
	for _, p := range m.programs {
		// To an allow /usr/bin/git is another program than git; a guard takes them for one.
		name := p.src
		if r.guard() {
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		at := x.byProgram[name]
		if at == nil {
			if r.guard() {
				if x.byStem == nil {
					x.byStem = map[string][]string{}
				}
				stem := programStem(name)
				x.byStem[stem] = append(x.byStem[stem], name)
			}
			at = &programRules{byArg: map[string][]*rule{}}
			x.byProgram[name] = at
		}
		if first == nil {
			at.rest = append(at.rest, r)
		}
		if len(first) > 0 {
			at.anyArg = append(at.anyArg, r)
		}
		for _, a := range first {
			at.byArg[a] = append(at.byArg[a], r)
		}
	}
}

// firstArgs are the words of which one must stand in a command; nil when any may.
func firstArgs(m *commandMatch) []string {
	if m.verbs != nil && (m.flags == nil || m.flags.before == nil) {
		var all []string
		for name := range m.verbs.names {
			word, _, _ := strings.Cut(name, " ")
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
		return all
	}
	if m.verbs != nil || len(m.args) == 0 || m.home || m.flags != nil && m.flags.before != nil {
		return nil
	}
	var all []string
	for _, g := range m.args[0] {
		if !g.exact {
			return nil
		}
		all = append(all, g.src)
	}
	return all
}

// allows calls visit with the rules that could cover the command, until it returns false.
func (x *index) allows(u *shell.Unit, visit func(*rule) bool) {
	name := u.Program
	for range 2 {
		if at := x.byProgram[name]; at != nil {
			if len(u.Argv) > 1 && !each(at.byArg[u.Argv[1].Text], visit) || !each(at.rest, visit) {
				return
			}
		}
		// A rule may name the program by its path.
		if len(u.Argv) == 0 || u.Argv[0].Text == name {
			break
		}
		name = u.Argv[0].Text
	}
	each(x.wild, visit)
}

// guards calls visit with the rules that could be meant by the command in any reading. A rule
// may come more than once.
func (x *index) guards(u *shell.Unit, visit func(*rule) bool) {
	if !each(x.wild, visit) || len(x.byProgram) == 0 {
		return
	}
	if !x.guardsReading(u.Argv, visit) {
		return
	}
	for _, alt := range u.Alt {
		if !x.guardsReading(alt, visit) {
			return
		}
	}
}

func (x *index) guardsReading(argv []shell.Word, visit func(*rule) bool) bool {
	if len(argv) == 0 {
		return true
	}
	name := argv[0].Text
	if !argv[0].Static {
		return true // it has a doubt, and no allow
	}
	at := x.byProgram[name[strings.LastIndexByte(name, '/')+1:]]
	if at == nil {
		return true
	}
	if !each(at.rest, visit) {
		return false
	}
	if len(at.byArg) == 0 {
		return true
	}
	how := waysOf(name[strings.LastIndexByte(name, '/')+1:])
	for _, w := range argv[1:] {
		if !w.Static || how&shortened != 0 || how != 0 && strings.ContainsAny(w.Text, ":/") { // it may become the word, or be another spelling
			return each(at.anyArg, visit)
		}
		if !each(at.byArg[w.Text], visit) {
			return false
		}
	}
	return true
}

func each(rules []*rule, visit func(*rule) bool) bool {
	for _, r := range rules {
		if !visit(r) {
			return false
		}
	}
	return true
}
