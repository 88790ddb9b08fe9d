package shell

import "mvdan.cc/sh/v3/syntax"

// declare reads export, declare and their kin: only export of harmless variables is without doubt.
func (r *reader) declare(d *syntax.DeclClause, at execContext) {
	if d.Variant.Value != "export" {
		r.doubtAt(DoubtBuiltin, d, d.Variant.Value+" changes what variables mean.")
	}
	for _, a := range d.Args {
		r.assign(a, at)
	}
	if len(d.Args) == 0 {
		r.doubtAt(DoubtBuiltin, d, "It shows all variables.")
	}
}

func (r *reader) assign(a *syntax.Assign, at execContext) { r.assigned(a, at, harmlessVariable) }

// assigned reads an assignment to a variable that may be set.
func (r *reader) assigned(a *syntax.Assign, at execContext, may func(string) bool) {
	name := ""
	if a.Name != nil {
		name = a.Name.Value
	}
	value := r.word(a.Value, at)
	if a.Naked && a.Name == nil || a.Index != nil || a.Array != nil || a.Append || !may(name) {
		r.doubtAt(DoubtAssign, a, "It sets a variable that is not known to be harmless.")
	}
	if a.Index != nil {
		r.arithmWords(a.Index, at)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.arithmWords(e.Index, at)
			}
			r.word(e.Value, at)
		}
	}
	r.add(Unit{Kind: Assign, Start: int(a.Pos().Offset()), End: int(a.End().Offset()), Name: name, Value: value, Out: -1, Of: -1}, at)
	switch {
	case name == "":
	case a.Naked || a.Index != nil || a.Array != nil || a.Append:
		r.set(name, unknownWord(Other))
	default:
		r.set(name, value)
	}
}
