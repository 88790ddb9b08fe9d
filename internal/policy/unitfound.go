package policy

import (
	"slices"

	"assent/internal/policy/shell"
)

// unitFound is what the rules say about one unit of a command, without regard to the others.
type unitFound struct {
	own              outcome
	protected        string // why no rule may allow it
	covering, shadow *rule  // of a command: the rule that covers it, and a shadow rule that would
	work, other      int    // steps taken, see scope
	secrets          unitSecrets
}

// look asks the rules about one unit, and fills f. What is secret of it stays in e.
func (s *Set) look(u *shell.Unit, e *scope, f *unitFound) {
	*f = unitFound{work: -e.work, other: -e.other}
	s.unitGuards(u, e, &f.own)
	if u.Kind == shell.Command && f.own.deny == nil && len(s.guards.byProgram)+len(s.guards.wild)+len(s.guardFiles) > 0 {
		for _, inner := range started(u, e) {
			s.unitGuards(&inner, e, &f.own)
		}
		e.feared = true
		for _, inner := range s.feared(u, e) {
			s.unitGuards(&inner, e, &f.own)
		}
		s.alikeGuards(u, e, &f.own)
		e.feared = false
		s.strangeGuards(u, e, &f.own)
		f.own.maybe = first(f.own.maybe, s.unseen(u, e))
	}
	e.findOrdinary(s.protect, u)
	if f.protected = s.protect.touchedBy(u, e); f.protected == "" {
		f.protected = s.protect.unknownNames(u, e)
	}
	e.secrets = nil
	if !u.DenyOnly {
		before := e.work
		e.secrets = e.secretsOf(u)
		f.secrets = unitSecrets{len(e.secrets) > 0, e.work - before}
	}
	if u.Kind == shell.Command && !u.DenyOnly {
		f.covering, f.shadow = s.commandAllowed(u, e)
	}
	f.work, f.other = f.work+e.work, f.other+e.other
}

// repeats are the units of one command that were looked at, by what is quick to compare: a long script does
// the same again and again.
type repeats map[repeatKey]repeated

type repeatKey struct {
	base, second, dir string
	words             int
	stdin, stdout     shell.Stream
}

type repeated struct {
	unit  *shell.Unit
	found unitFound
}

// fewUnits need no repeats.
const fewUnits = 16

func keyOf(u *shell.Unit) repeatKey {
	k := repeatKey{base: u.Base, dir: u.Dir, words: len(u.Argv), stdin: u.Stdin, stdout: u.Stdout}
	if len(u.Argv) > 1 {
		k.second = u.Argv[1].Text
	}
	return k
}

func (r repeats) add(u *shell.Unit, f *unitFound) {
	if r == nil || onlyForItself(u) {
		return
	}
	k := keyOf(u)
	if _, has := r[k]; !has {
		r[k] = repeated{u, *f}
	}
}

// like returns what was found of a unit that no rule can tell from this one, or nil.
func (r repeats) like(u *shell.Unit) *unitFound {
	if len(r) == 0 || onlyForItself(u) {
		return nil
	}
	if earlier, has := r[keyOf(u)]; has && alike(earlier.unit, u) {
		return &earlier.found
	}
	return nil
}

// onlyForItself says whether what is found of a unit may depend on others, the files that it is connected to,
// or whether it stands so far down that another one there is unlikely.
func onlyForItself(u *shell.Unit) bool {
	return u.Kind != shell.Command || u.Stdin == shell.File || u.Stdout == shell.File || len(u.Dir) > 200
}

// alike says whether two commands differ in nothing but where they stand.
func alike(a, b *shell.Unit) bool {
	if a.Program != b.Program || a.Base != b.Base || a.Dir != b.Dir || a.DirKnown != b.DirKnown || a.Stdin != b.Stdin || a.StdinVaries != b.StdinVaries ||
		a.Stdout != b.Stdout || a.Inner != b.Inner || a.DenyOnly != b.DenyOnly || !slices.Equal(a.Dirs, b.Dirs) || !slices.Equal(a.Via, b.Via) {
		return false
	}
	return sameArgv(a.Argv, b.Argv) && slices.EqualFunc(a.Alt, b.Alt, sameArgv)
}

func sameArgv(a, b []shell.Word) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		v, w := a[i], b[i]
		v.Start, v.End, w.Start, w.End = v.Start-a[0].Start, v.End-a[0].Start, w.Start-b[0].Start, w.End-b[0].Start
		if v != w {
			return false
		}
	}
	return true
}
