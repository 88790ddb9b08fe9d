package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// containRules are the rules whose programs may run contained, in the order of the files.
type containRules struct {
	rules  []*rule
	byName map[string][]int // places in rules of those whose programs are all plain names
	others []int            // of those that name a program by a pattern or a path
}

func (c *containRules) add(r *rule) {
	place := len(c.rules)
	c.rules = append(c.rules, r)
	programs := r.match.command.programs
	if len(programs) == 0 || slices.ContainsFunc(programs, func(g glob) bool { return !g.exact || strings.Contains(g.src, "/") }) {
		c.others = append(c.others, place)
		return
	}
	if c.byName == nil {
		c.byName = map[string][]int{}
	}
	for _, g := range programs {
		if at := c.byName[g.src]; len(at) == 0 || at[len(at)-1] != place {
			c.byName[g.src] = append(at, place)
		}
	}
}

// of is the first rule that names the program of a command, whatever else that says. It is a step for each
// rule up to that one.
func (c *containRules) of(u *shell.Unit, e *scope) *rule {
	if len(u.Argv) == 0 || !u.Argv[0].Static {
		return nil
	}
	named, others, last := c.byName[u.Program], c.others, -1
	for len(named)+len(others) > 0 {
		from := &named
		if len(named) == 0 || len(others) > 0 && others[0] < named[0] {
			from = &others
		}
		place := (*from)[0]
		*from = (*from)[1:]
		if !e.spend(place - last) {
			return nil
		}
		last = place
		r := c.rules[place]
		if m := r.match.command; !m.anyProgram(u, e) || !m.begins(u.Argv[1:]) {
			continue
		}
		if t, _ := r.match.circumstances(e, u.Dir, u.DirKnown, false); t == yes {
			return r
		}
	}
	e.spend(len(c.rules) - 1 - last)
	return nil
}

// unitSecrets says whether a unit names secrets, and what it took to find that out.
type unitSecrets struct {
	any  bool
	work int
}

// again is any, for the price of finding it out once more.
func (s unitSecrets) again(e *scope) bool {
	e.spend(s.work)
	return s.any
}
