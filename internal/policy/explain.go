package policy

import (
	"slices"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// maxMisses is how many rules that came close are named for one unit.
const maxMisses = 20

// own fills in what the rules say about a unit alone.
func (u *UnitVerdict) own(o *outcome, covering *rule) {
	set := func(a hook.Action, r *rule) { u.Action, u.Rule, u.File = a, r.id, r.file }
	switch {
	case o.deny != nil:
		set(hook.ActionDeny, o.deny)
	case o.ask != nil:
		set(hook.ActionAsk, o.ask)
	case covering != nil:
		set(hook.ActionAllow, covering)
	}
}

// explainUnit says for a person what the rules think of one part of a command.
func (s *Set) explainUnit(u *shell.Unit, e *scope, o *outcome, covering *rule) UnitVerdict {
	v := UnitVerdict{Kind: u.Kind.String(), Text: unitText(u), Start: u.Start, End: u.End, Via: slices.Clone(u.Via), Refused: o.refused}
	if u.DenyOnly {
		v.Refused = append(v.Refused, Refusal{"see-through", u.Start, u.End, "It is run by another program: rules that deny or ask see it, rules that allow do not."})
	}
	v.own(o, covering)
	if o.maybe != nil {
		why := o.alike
		if why == "" {
			why = "what a part is or starts is known only when it runs"
		}
		v.Misses = append(v.Misses, Miss{o.maybe.id, o.maybe.file, o.maybe.action, "command", "it may be meant: " + why})
	}
	if u.Kind != shell.Command || covering != nil || u.DenyOnly {
		return v
	}
	defer func(work int) { e.work = work }(e.work) // what is only explained changes no verdict
	var misses []Miss
	for _, r := range s.rules {
		if m := r.match.command; r.action != hook.ActionAllow || r.shadow || m == nil || m.script != nil ||
			!slices.ContainsFunc(m.programs, func(g glob) bool { return g.match(u.Base) }) {
			continue
		}
		if ok, f := s.covers(r, u, e); !ok {
			misses = append(misses, Miss{r.id, r.file, r.action, f.selector, f.why})
		}
	}
	// Those that came furthest first.
	slices.SortStableFunc(misses, func(x, y Miss) int { return distance(y.Selector) - distance(x.Selector) })
	v.Misses = append(v.Misses, misses[:min(len(misses), maxMisses)]...)
	return v
}

// distance says how far a rule came, by the selector that failed. Selectors that are not named are
// looked at last.
func distance(selector string) int {
	order := []string{"command", "program", "args", "flags", "any_arg", "no_arg", "paths", "stdin", "stdout"}
	if i := slices.Index(order, selector); i >= 0 {
		return i
	}
	return len(order)
}

// explainFile completes what explainUnit said about a file that a redirection writes or reads,
// once it is known which rule covers it, and which the command.
func (s *Set) explainFile(v *UnitVerdict, u *shell.Unit, covering, command *rule) {
	if covering != nil {
		if v.Action == "" {
			v.Action, v.Rule, v.File = hook.ActionAllow, covering.id, covering.file
		}
		return
	}
	op, stream := opWrite, "stdout"
	if u.Kind == shell.ReadFile {
		op, stream = opRead, "stdin"
	}
	if command != nil {
		v.Misses = append(v.Misses, Miss{command.id, command.file, command.action, stream, "it allows the command, but not this file with it"})
	}
	for _, r := range s.allowFiles {
		if !r.shadow && r.match.file.ops&op != 0 && len(v.Misses) < maxMisses {
			v.Misses = append(v.Misses, Miss{r.id, r.file, r.action, "path", quote(u.Path.Text) + " is not inside for certain"})
		}
	}
}
