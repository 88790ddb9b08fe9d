package shell

import "mvdan.cc/sh/v3/syntax"

func (r *reader) loop(f *syntax.ForClause, at execContext) {
	if f.Select || f.Braces {
		r.doubtAt(DoubtSyntax, f, "This form of loop is not read alike everywhere.")
	}
	name, items := "", []Word(nil)
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		if name = l.Name.Value; !scriptVariable(name) {
			r.doubtAt(DoubtAssign, l.Name, "The loop sets a variable that something else may use.")
			name = ""
		}
		for _, w := range l.Items {
			items = r.expanded(w, at, items)
		}
	case *syntax.CStyleLoop:
		r.doubtAt(DoubtArithmetic, l, "Arithmetic can set variables and run commands.")
		r.arithm(l.Init, at)
		r.arithm(l.Cond, at)
		r.arithm(l.Post, at)
	default:
		r.doubtAt(DoubtSyntax, f, "It is not known what this loop does.")
	}
	r.closes(f.DonePos)
	r.repeats(f.Do)
	r.apart(func() {
		r.branches(at, func() {
			if name == "" {
				r.stmts(f.Do, at)
				return
			}
			for _, value := range r.rounded(items, f.Do) {
				r.set(name, value)
				r.stmts(f.Do, at)
			}
			r.set(name, unknownWord(Other)) // also where it was set to the same before
		})
	})
}

// rounded returns the values that a loop is walked with: each of the list where they are known, or
// one that says what is known of all.
func (r *reader) rounded(items []Word, body []*syntax.Stmt) []Word {
	size := 0
	if len(body) > 0 {
		size = int(body[len(body)-1].End().Offset()) - int(body[0].Pos().Offset())
	}
	known := len(items) > 0 && len(items) <= maxItems && r.rounds+len(items)*size <= maxRounds
	all := Source(0)
	for _, w := range items {
		known = known && (w.Static || w.Unknown == FileNames)
		switch {
		case w.Static:
			all |= Output
		case w.Unknown == 0:
			all |= Other
		default:
			all |= w.Unknown
		}
	}
	if known {
		r.rounds += len(items) * size
		return items
	}
	if len(items) == 0 {
		all = Other
	}
	if all&FileNames != 0 {
		all = all&^FileNames | Output
	}
	return []Word{unknownWord(all)}
}
