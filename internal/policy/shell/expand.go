package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param reads $x and ${x…}. Only the forms that give text and nothing else are without doubt.
func (r *reader) param(pe *syntax.ParamExp, at execContext) {
	doubt := func(why string) { r.doubtAt(DoubtExpansion, pe, why) }
	switch {
	case pe.Param == nil, pe.NestedParam != nil, pe.Flags != nil, pe.Width, pe.IsSet, len(pe.Modifiers) > 0,
		pe.Split != syntax.OptUnset, pe.GlobSubst != syntax.OptUnset, pe.RcExpand != syntax.OptUnset:
		doubt("This expansion is not read alike everywhere.")
	case pe.Excl, pe.Names != 0:
		doubt("${!x} takes the name of a variable from another.")
	}
	if !pe.Short {
		// Between ${ and } quotes and backslashes mean different things in different places:
		// within "…" a single quote there does not quote.
		if strings.ContainsAny(r.raw(pe), "'\"\\`\n()<>&|;") {
			doubt("Quotes within ${…} are not read alike everywhere.")
		}
	}
	if pe.Index != nil {
		if w, ok := pe.Index.(*syntax.Word); !ok || !numberOrAll(w) {
			doubt("A subscript is computed, and can run commands.")
		}
		r.arithmWords(pe.Index, at)
	}
	if pe.Slice != nil {
		r.arithm(pe.Slice.Offset, at)
		r.arithm(pe.Slice.Length, at)
	}
	if pe.Repl != nil {
		r.piece(pe.Repl.Orig, at)
		r.piece(pe.Repl.With, at)
	}
	if pe.Exp != nil {
		switch pe.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
			syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			doubt("${x:=…} sets a variable.")
		default:
			doubt("${x@…} and its like can run what a variable holds.")
		}
		r.piece(pe.Exp.Word, at)
	}
}

func numberOrAll(w *syntax.Word) bool {
	s := w.Lit()
	return s == "@" || s == "*" || digits(s)
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) < 19
}

// subst reads $(…) and `…`.
func (r *reader) subst(cs *syntax.CmdSubst, at execContext) {
	text := r.raw(cs)
	switch {
	case cs.TempFile, cs.ReplyVar:
		r.doubtAt(DoubtExpansion, cs, "${ …;} is not read alike everywhere.")
	case cs.Backquotes && !plainBackquotes(text):
		r.doubtAt(DoubtExpansion, cs, "Quotes and backslashes within `…` are not read alike everywhere.")
	case strings.HasPrefix(text, "$(("):
		r.doubtAt(DoubtArithmetic, cs, "It begins like arithmetic and is something else.")
	}
	at = at.through("$()")
	at.stdout, at.out = Pipe, -1
	r.substituted(cs.Stmts, cs, at)
}

// substituted walks the commands of a substitution. bash 5.2 runs its own print of them, and loses
// what separates them after a here-document: "cat <<E…; echo a; echo b" prints "a echo b".
func (r *reader) substituted(list []*syntax.Stmt, n syntax.Node, at execContext) {
	before := r.heredocs
	r.subshell(list, at)
	if r.heredocs == before {
		return
	}
	if len(list) == 1 && !list[0].Background && !list[0].Negated {
		if _, simple := list[0].Cmd.(*syntax.CallExpr); simple {
			return
		}
	}
	r.doubtAt(DoubtHeredoc, n, "bash can join the commands after a here-document in a substitution.")
}

// plainBackquotes says whether `…` holds nothing that is unescaped, or ended, differently by shells.
func plainBackquotes(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "`"), "`")
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(" _./=:,@%+-;|&$*", c) >= 0) {
			return false
		}
	}
	return true
}

// procSubst reads <(…) and >(…).
func (r *reader) procSubst(ps *syntax.ProcSubst, at execContext) {
	switch ps.Op {
	case syntax.CmdIn:
		at = at.through("<()")
		at.stdout, at.out = Pipe, -1
	case syntax.CmdOut:
		at = at.through(">()")
		at.stdin = Pipe
	default:
		r.doubtAt(DoubtExpansion, ps, "This substitution is not read alike everywhere.")
	}
	r.substituted(ps.Stmts, ps, at)
}

// arithm doubts all arithmetic but that on numbers: the value of a variable is evaluated too, and
// a subscript in it can hold a command.
func (r *reader) arithm(x syntax.ArithmExpr, at execContext) {
	if x == nil {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if r.tooDeep(x) {
		return
	}
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Pow, syntax.Eql, syntax.Gtr, syntax.Lss, syntax.Neq,
			syntax.Leq, syntax.Geq, syntax.And, syntax.Or, syntax.Xor, syntax.Shl, syntax.Shr, syntax.AndArit, syntax.OrArit:
		default:
			r.doubtAt(DoubtArithmetic, x, "Arithmetic sets a variable.")
		}
		r.arithm(x.X, at)
		r.arithm(x.Y, at)
	case *syntax.UnaryArithm:
		if x.Op != syntax.Minus && x.Op != syntax.Plus && x.Op != syntax.Not && x.Op != syntax.BitNegation {
			r.doubtAt(DoubtArithmetic, x, "Arithmetic sets a variable.")
		}
		r.arithm(x.X, at)
	case *syntax.ParenArithm:
		r.arithm(x.X, at)
	case *syntax.Word:
		if digits(x.Lit()) {
			return
		}
		if len(x.Parts) == 1 {
			if pe, ok := x.Parts[0].(*syntax.ParamExp); ok && pe.Short && pe.Param != nil && (pe.Param.Value == "?" || pe.Param.Value == "#" || pe.Param.Value == "$") {
				return
			}
		}
		r.doubtAt(DoubtArithmetic, x, "Arithmetic on a variable can run commands that the variable holds.")
		r.piece(x, at)
	default:
		r.doubtAt(DoubtArithmetic, x, "This arithmetic is not read alike everywhere.")
	}
}

// arithmWords reads the words of an expression that is doubted already, for their commands.
func (r *reader) arithmWords(x syntax.ArithmExpr, at execContext) {
	if w, ok := x.(*syntax.Word); ok {
		r.piece(w, at)
		return
	}
	r.arithm(x, at)
}

// test reads [[ … ]].
func (r *reader) test(x syntax.TestExpr, at execContext, words []Word) []Word {
	r.depth++
	defer func() { r.depth-- }()
	if x == nil || r.tooDeep(x) {
		return words
	}
	switch x := x.(type) {
	case *syntax.BinaryTest:
		words = r.test(x.X, at, words)
		words = append(words, Word{Text: x.Op.String(), Prefix: x.Op.String(), Static: true})
		if x.Op == syntax.TsBefore || x.Op == syntax.TsAfter {
			r.doubtAt(DoubtRedirect, x, "< and > within [[ ]] are not read alike everywhere.")
		}
		n := len(words)
		words = r.test(x.Y, at, words)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			if n < 2 || !integer(words[n-2]) || n >= len(words) || !integer(words[n]) {
				r.doubtAt(DoubtArithmetic, x, "[[ … -eq … ]] evaluates its words, and can run commands.")
			}
		case syntax.TsReMatch:
			if strings.ContainsAny(r.raw(x.Y), "()|&;<> \t\n\\'\"`") {
				r.doubtAt(DoubtGlob, x, "The regular expression is not read alike everywhere.")
			}
		}
	case *syntax.UnaryTest:
		words = append(words, Word{Text: x.Op.String(), Prefix: x.Op.String(), Static: true})
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar || x.Op == syntax.TsOptSet {
			r.doubtAt(DoubtBuiltin, x, "-v evaluates its word, and can run commands.")
		}
		n := len(words)
		words = r.test(x.X, at, words)
		if x.Op == syntax.TsFdTerm && (n >= len(words) || !integer(words[n])) {
			r.doubtAt(DoubtArithmetic, x, "[[ -t … ]] evaluates its word in zsh, and can run commands.")
		}
	case *syntax.ParenTest:
		words = r.test(x.X, at, words)
	case *syntax.Word:
		if strings.Contains(r.raw(x), "]]") || strings.HasPrefix(r.raw(x), "#") {
			r.doubtAt(DoubtSyntax, x, "Where [[ ends is not read alike everywhere.")
		}
		words = append(words, r.word(x, at))
	}
	return words
}

func integer(w Word) bool {
	return w.Static && digits(strings.TrimPrefix(w.Text, "-"))
}
