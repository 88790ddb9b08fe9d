package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shell reads bash -c TEXT. Without -c it is a command like others, unless it reads commands
// from its input.
func (r *reader) shell(u Unit, at execContext) int {
	argv, script, operand := u.Argv, -1, -1
	known := true
scan:
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		switch {
		case !w.Static:
			known = known && !w.MaybeFlag && !w.Glob
			operand = i
			break scan
		case w.Text == "--" || w.Text == "-":
			known = false
		case len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+'):
			letters := w.Text[1:]
			if w.Text[0] == '+' || strings.Trim(letters, "ceulx") != "" {
				known = false
			}
			if w.Text[0] == '-' && !strings.HasPrefix(letters, "-") && strings.ContainsRune(letters, 'c') {
				script = i + 1
			}
		default:
			operand = i
			break scan
		}
	}
	if script >= 0 {
		// The text is the first word that is not an option.
		if operand < 0 || operand != script {
			known = false
		}
		if operand >= 0 {
			script = operand
		}
		return r.inlineScript(u, script, known, at)
	}
	if operand < 0 && (at.stdin == Inherit || at.stdin == DevNull) && len(argv) == 2 && (argv[1].Text == "--version" || argv[1].Text == "--help") {
		return r.add(u, at)
	}
	if operand < 0 || !known {
		r.doubt(DoubtStdin, u.Start, u.End, u.Program+" may run what it reads from its input.")
		r.guess(argv, u.Start, u.End, at)
	}
	return r.add(u, at)
}

func (r *reader) inlineScript(u Unit, i int, known bool, at execContext) int {
	argv := u.Argv
	if i >= len(argv) {
		r.doubt(DoubtInline, u.Start, u.End, "There is no script after -c.")
		return r.add(u, at)
	}
	text := argv[i]
	switch {
	case !text.Static:
		r.doubt(DoubtInline, u.Start, u.End, "The script after -c is computed.")
		known = false
	case r.inline >= maxInline:
		r.doubt(DoubtInline, u.Start, u.End, "Scripts stand within scripts too deeply.")
		return r.add(u, at)
	case !known:
		r.doubt(DoubtInline, u.Start, u.End, "The options of "+u.Program+" are not all known.")
	}
	if u.Program == "zsh" || u.Program == "ksh" || u.Program == "mksh" {
		r.doubt(DoubtInline, u.Start, u.End, "The script is for another shell.")
	}
	at.dir = r.keep(*at.dir)
	at.dir.settle()
	at = at.through(u.Program + " -c")
	was := r.posix
	defer func() { r.posix = was }()
	r.posix = u.Program != "bash"
	if !known {
		at.denyOnly = true
		r.within(text, at)
		u.Kind = Opaque
		return r.add(u, at)
	}
	first := len(r.units)
	r.within(text, at)
	for first < len(r.units) && (r.units[first].Kind != Command || r.units[first].DenyOnly) {
		first++ // what it sets and redirects is no command
	}
	if first == len(r.units) {
		u.DenyOnly = true
		return r.add(u, at)
	}
	r.also(first, argv)
	return -1
}

// within reads the script in a word.
func (r *reader) within(w Word, at execContext) {
	if r.inline >= maxInline || strings.TrimSpace(w.Text) == "" {
		r.cut = r.cut || r.inline >= maxInline
		return
	}
	if r.scripts++; r.scripts > maxScripts {
		r.doubt(DoubtInline, w.Start, w.End, "It holds too many scripts.")
		r.cut = true
		return
	}
	src, inner, start, end := r.src, r.inner, r.start, r.end
	if !r.inner {
		r.start, r.end = w.Start, w.End
	}
	vars := r.vars
	r.inner, r.vars = true, nil // only what is exported is known there, too
	r.inline++
	r.script(w.Text, at)
	r.inline--
	r.vars = vars
	r.src, r.inner, r.start, r.end = src, inner, start, end
}

// heredocScripts reads the here-documents of a shell, for rules that deny.
func (r *reader) heredocScripts(s *syntax.Stmt, at execContext) {
	at = at.through("stdin")
	at.denyOnly = true
	at.dir = r.keep(*at.dir)
	at.stdin = Inherit
	for _, d := range s.Redirs {
		if d.Hdoc == nil {
			continue
		}
		start, end := int(d.Hdoc.Pos().Offset()), int(d.Hdoc.End().Offset())
		r.within(Word{Text: r.raw(d.Hdoc), Start: start, End: end}, at)
	}
}
