package main

import (
	"fmt"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// maxUnitsShown and maxMissesShown bound what a person is shown; JSON has all.
const (
	maxUnitsShown  = 40
	maxMissesShown = 3
)

// printUnits shows each part of a command: where it stands, and what the rules say about it.
func (a *app) printUnits(v *policy.Explanation, indent string) {
	inUnit := func(r policy.Refusal) bool {
		return slices.ContainsFunc(v.Units, func(u policy.UnitVerdict) bool { return slices.Contains(u.Refused, r) })
	}
	for i, r := range v.Refused {
		if inUnit(r) || slices.Contains(v.Refused[:i], r) {
			continue
		}
		if r.End > r.Start {
			a.printPlace(v.Command, r.Start, r.End, indent)
		}
		fmt.Fprintf(a.out, "%s\n\n", labelled(indent, "ask", "no rule may allow this: "+show.Line(r.Why)))
	}
	units := shownUnits(v)
	for i := range units {
		if i == maxUnitsShown {
			fmt.Fprintf(a.out, "%s… and %d more parts; --json has them\n", indent, len(units)-i)
			break
		}
		u := &units[i]
		switch {
		case u.Kind == "tool":
			fmt.Fprintln(a.out, indent+show.Short(u.Text, layout.Most-len(indent)))
		case u.End > u.Start:
			a.printPlace(v.Command, u.Start, u.End, indent)
		}
		a.printUnit(u, v.Refused, indent)
		if i+1 < len(units) {
			fmt.Fprintln(a.out)
		}
	}
}

// shownUnits are the parts that tell a person something, in the order in which they stand. What
// a program may run besides tells nothing where no rule is about it.
func shownUnits(v *policy.Explanation) []policy.UnitVerdict {
	var units []policy.UnitVerdict
	for _, u := range v.Units {
		guess := u.Action == "" && len(u.Misses) == 0 && len(u.Refused) > 0 &&
			!slices.ContainsFunc(u.Refused, func(r policy.Refusal) bool { return r.Code != "see-through" })
		if !guess {
			units = append(units, u)
		}
	}
	slices.SortStableFunc(units, func(x, y policy.UnitVerdict) int { return x.Start - y.Start })
	return units
}

// labelled is a text behind a short word, wrapped.
func labelled(indent, label, text string) string {
	return layout.Wrap(text, indent+fmt.Sprintf("%-7s", label), indent+"       ")
}

// printPlace shows the line of the command that holds the first of the bytes, with marks.
func (a *app) printPlace(command string, start, end int, indent string) {
	start = min(max(start, 0), len(command))
	end = min(max(end, start), len(command))
	from := strings.LastIndexByte(command[:start], '\n') + 1
	line, number := command[from:], strings.Count(command[:from], "\n")+1
	if to := strings.IndexByte(line, '\n'); to >= 0 {
		line = line[:to]
		if end > from+to { // it goes on in the next line
			end = from + to
		}
	}
	prefix := indent
	if strings.Contains(command, "\n") {
		prefix += fmt.Sprintf("%d: ", number)
	}
	text, marks := layout.Underline(line, start-from, end-from, layout.Most-len(prefix))
	fmt.Fprintf(a.out, "%s%s\n%s%s\n", prefix, text, strings.Repeat(" ", len(prefix)), marks)
}

func (a *app) printUnit(u *policy.UnitVerdict, refused []policy.Refusal, indent string) {
	say := func(label, text string) { fmt.Fprintln(a.out, labelled(indent, label, text)) }
	what := ""
	switch text := show.Short(strings.TrimLeft(u.Text, "<> "), 60); {
	case u.Kind == "write":
		what = "writes " + text
	case u.Kind == "read":
		what = "reads " + text
	case len(u.Via) > 0:
		what = "runs " + text
	}
	if len(u.Via) > 0 {
		what += ", through " + show.Short(strings.Join(u.Via, ", "), 60)
	}
	if what != "" {
		say("", what)
	}
	doubted := slices.ContainsFunc(refused, func(r policy.Refusal) bool { return r.Start < u.End && u.Start < r.End })
	switch {
	case u.Action != "":
		say(string(u.Action), "by "+ruleName(u.Rule, u.File))
	case u.Kind == "assign" && !doubted:
		say("-", "sets a variable that is known to be harmless")
	case u.Kind == "assign":
		say("ask", "sets a variable")
	case len(u.Misses) == 0 && len(u.Refused) == 0:
		say("ask", "no rule is about it")
	default:
		say("ask", "no rule allows it")
	}
	for _, r := range u.Refused {
		if r.Code != "see-through" {
			say("", "no rule may allow this: "+show.Line(r.Why))
		}
	}
	if u.Action != "" {
		return // what came close came to nothing
	}
	near := slices.DeleteFunc(slices.Clone(u.Misses), func(m policy.Miss) bool { return m.Selector == "args" })
	if len(near) == 0 {
		near = u.Misses
	}
	for i, m := range near {
		if i == maxMissesShown {
			break
		}
		if m.Action == hook.ActionAllow {
			say("", fmt.Sprintf("not %s: %s: %s", ruleName(m.Rule, m.File), m.Selector, show.Line(m.Why)))
		} else {
			say("", fmt.Sprintf("perhaps %s: %s", ruleName(m.Rule, m.File), show.Line(m.Why)))
		}
	}
	if more := len(u.Misses) - min(len(near), maxMissesShown); more > 0 {
		say("", "… and "+counted(more, "more rule")+"; --json names them")
	}
}
