package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command and returns the index of its unit, -1 when it has none.
func (r *reader) call(c *syntax.CallExpr, s *syntax.Stmt, at execContext) int {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			r.assigned(a, at, func(name string) bool { return harmlessVariable(name) || scriptVariable(name) })
		}
		return -1
	}
	vars := r.vars
	for _, a := range c.Assigns {
		r.assign(a, at)
	}
	if r.vars != vars { // set for the command only, or in zsh for some builtins also after it
		names := r.changedSince(vars, nil)
		r.vars = vars
		r.forget(names)
	}
	argv := r.argv(len(c.Args))
	for i, w := range c.Args {
		if argv = r.expanded(w, at, argv); i == 0 && !plainProgram(w) {
			r.doubtAt(DoubtProgram, w, "The program is not a plain word.")
		}
	}
	if IsShell(argv[0].Text) && at.stdin == Heredoc {
		r.heredocScripts(s, at)
	}
	return r.emit(argv, c, at)
}

// plainProgram says whether a word that names a program is written as one: no braces, no $'…'.
func plainProgram(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if _, text := inner.(*syntax.Lit); !text {
					return false
				}
			}
		case *syntax.Lit:
		default:
			return false // what a variable holds
		}
	}
	return braceWords(w) == nil
}

func (r *reader) emit(argv []Word, n syntax.Node, at execContext) int {
	return r.command(argv, int(n.Pos().Offset()), int(n.End().Offset()), at, 0)
}

// command adds the unit of one command, or those of the commands that it starts. levels counts
// the programs taken off in front.
func (r *reader) command(argv []Word, start, end int, at execContext, levels int) int {
	u := Unit{Kind: Command, Start: start, End: end, Argv: argv, Stdin: at.stdin, StdinVaries: at.varies, Stdout: at.stdout, Out: at.out, Of: -1}
	prog := argv[0]
	u.Program, u.Base = programNames(prog.Text)
	if !prog.Static || prog.tilde || prog.Text == "" {
		r.doubt(DoubtProgram, prog.Start, prog.End, "The program is not a plain word.")
		u.Program = ""
		r.guess(argv, start, end, at)
		return r.add(u, at)
	}
	if reserved(prog.Text) {
		r.doubt(DoubtProgram, prog.Start, prog.End, "The program's name is a word of the shell's own language.")
	}
	if levels > 8 {
		r.doubt(DoubtWrapper, start, end, "Too many programs that start another.")
		return r.add(u, at)
	}
	if at.stdin != Inherit && at.stdin != DevNull && (interpreter(u.Base) || scriptFromInput(u.Base, argv)) {
		r.doubt(DoubtStdin, start, end, u.Base+" may run what it reads from its input.")
	} else if scriptFromCommand(u.Base, argv) {
		r.doubt(DoubtStdin, start, end, u.Base+" may run what another command prints.")
	}
	if why := unsafeBuiltin(u.Base); why != "" && !(prog.Text == "set" && r.stricter(argv[1:])) {
		r.doubt(DoubtBuiltin, start, end, u.Base+" "+why+".")
		r.guess(argv, start, end, at)
		return r.add(u, at)
	}
	if u.Program == "" {
		// Its name means nothing to a rule that allows, and everything to one that denies.
		if _, is := wrapper(u.Base); is || seeThrough(u.Base, argv) != through || IsShell(u.Base) {
			r.guess(argv, start, end, at)
		}
		return r.add(u, at)
	}
	switch u.Program {
	case "cd", "chdir":
		i := r.add(u, at)
		r.cd(argv, at)
		return i
	case "pushd", "popd":
		i := r.add(u, at)
		at.dir.lost()
		return i
	case "test", "[", "printf", "read", "exit", "return", "break", "continue", "shift", "logout", "bye", "wait":
		r.builtin(u.Program, argv, start, end, at.varies)
	case "find":
		return r.find(u, at, levels)
	case "xargs", "gxargs":
		return r.xargs(u, at, levels)
	case "git":
		return r.git(u, at)
	case "env", "genv":
		return r.env(u, at, levels)
	}
	if IsShell(u.Program) {
		return r.shell(u, at)
	}
	switch seeThrough(u.Program, argv) {
	case doubtful:
		r.doubt(DoubtElevated, start, end, u.Program+" starts another command elsewhere, or as someone else.")
		r.guess(argv, start, end, at)
		return r.add(u, at)
	case followed:
		r.guess(argv, start, end, at)
		return r.add(u, at)
	}
	if w, is := wrapper(u.Program); is && !(u.Program == "command" && len(argv) > 1 && (argv[1].Text == "-v" || argv[1].Text == "-V")) {
		inner, ok := w.inner(argv)
		switch {
		case !ok:
			r.doubt(DoubtWrapper, start, end, "The options of "+u.Program+" are not all known.")
			r.guess(argv, start, end, at)
		case inner < len(argv):
			if u.Program != "command" && u.Program != "builtin" && u.Program != "noglob" {
				at.dir = r.keep(*at.dir) // a process of its own
			}
			i := r.command(argv[inner:], start, end, at.through(u.Program), levels+1)
			r.also(i, argv)
			return i
		}
	}
	return r.add(u, at)
}

// also gives the outer command to the unit that stands for it, for rules that deny.
func (r *reader) also(i int, argv []Word) {
	if i >= 0 && i < len(r.units) {
		r.units[i].Alt = append(r.units[i].Alt, argv)
	}
}
