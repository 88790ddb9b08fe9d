package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) tooDeep(n syntax.Node) bool {
	if r.depth <= maxNesting {
		return false
	}
	r.doubtAt(DoubtNesting, n, "It is nested too deeply to be read.")
	return true
}

func (r *reader) stmts(list []*syntax.Stmt, at execContext) {
	for _, s := range list {
		if r.full {
			return
		}
		r.stmt(s, at)
		at.dir.settle()
	}
}

// subshell walks commands whose cd ends with them.
func (r *reader) subshell(list []*syntax.Stmt, at execContext) {
	at.dir = r.keep(*at.dir)
	at.dir.settle()
	vars := r.vars
	r.stmts(list, at)
	r.vars = vars
}

func (r *reader) stmt(s *syntax.Stmt, at execContext) {
	r.depth++
	defer func() { r.depth-- }()
	if r.tooDeep(s) {
		return
	}
	if s.Coprocess || s.Disown {
		r.doubtAt(DoubtSyntax, s, "It is put in the background in a way that bash does not know.")
	}
	if s.Background {
		at.dir = r.keep(*at.dir)
		vars := r.vars
		defer func() { r.vars = vars }()
	}
	var redirected []int
	if len(s.Redirs) > 0 {
		at, redirected = r.redirects(s.Redirs, at)
	}
	switch cmd := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		of := r.call(cmd, s, at)
		for _, i := range redirected {
			r.units[i].Of = of
		}
	case *syntax.BinaryCmd:
		r.binary(cmd, at)
	case *syntax.Block:
		r.closes(cmd.Rbrace)
		r.stmts(cmd.Stmts, at)
	case *syntax.Subshell:
		if strings.HasPrefix(r.raw(cmd), "((") {
			r.doubtAt(DoubtArithmetic, cmd, "It begins like arithmetic and is something else.")
		}
		r.subshell(cmd.Stmts, at)
	case *syntax.IfClause:
		var set []string
		was := r.vars
		r.branches(at, func() {
			for c := cmd; c != nil; c = c.Else {
				if c != cmd {
					r.closes(c.Position)
				}
				if c.ThenPos.IsValid() {
					r.closes(c.ThenPos)
				}
				r.closes(c.FiPos)
				r.stmts(c.Cond, at)
				asked := r.vars
				r.stmts(c.Then, at)
				set = r.changedSince(was, set)
				r.vars = asked
			}
		})
		r.vars = was
		r.forget(set)
	case *syntax.WhileClause:
		r.closes(cmd.DoPos)
		r.closes(cmd.DonePos)
		r.repeats(cmd.Cond, cmd.Do)
		r.apart(func() {
			r.branches(at, func() {
				r.stmts(cmd.Cond, at)
				r.stmts(cmd.Do, at)
			})
		})
	case *syntax.ForClause:
		r.loop(cmd, at)
	case *syntax.CaseClause:
		if cmd.Braces {
			r.doubtAt(DoubtSyntax, cmd, "bash does not know this form of case.")
		}
		r.guesses(cmd, r.word(cmd.Word, at), at)
		for i, item := range cmd.Items {
			if i == len(cmd.Items)-1 && !item.OpPos.IsValid() {
				r.closes(cmd.Esac)
			}
		}
		r.branches(at, func() {
			for _, item := range cmd.Items {
				for _, p := range item.Patterns {
					r.word(p, at)
				}
				r.apart(func() { r.stmts(item.Stmts, at) }) // ;& goes on with the next
			}
		})
	case *syntax.TimeClause:
		if s.Negated || !r.plainTime(cmd) {
			r.doubtAt(DoubtSyntax, cmd, "This use of time is not read alike everywhere.")
		}
		if cmd.Stmt == nil {
			return
		}
		r.stmt(cmd.Stmt, at.through("time"))
	case *syntax.TestClause:
		if strings.ContainsRune(r.raw(cmd), '\n') {
			r.doubtAt(DoubtSyntax, cmd, "[[ ]] over several lines is not read alike everywhere.")
		}
		words := r.test(cmd.X, at, []Word{{Text: "[[", Prefix: "[[", Static: true}})
		r.emit(words, cmd, at)
	case *syntax.DeclClause:
		r.declare(cmd, at)
	case *syntax.FuncDecl:
		r.doubtAt(DoubtFunction, cmd, "It defines a function.")
		at.denyOnly = true
		r.apart(func() { r.branches(at, func() { r.stmt(cmd.Body, at) }) })
	case *syntax.CoprocClause:
		r.doubtAt(DoubtBuiltin, cmd, "coproc runs a command beside the script.")
		at.denyOnly = true
		r.stmt(cmd.Stmt, at)
	case *syntax.ArithmCmd:
		r.doubtAt(DoubtArithmetic, cmd, "Arithmetic can set variables and run commands.")
		r.arithm(cmd.X, at)
	case *syntax.LetClause:
		r.doubtAt(DoubtArithmetic, cmd, "Arithmetic can set variables and run commands.")
		for _, x := range cmd.Exprs {
			r.arithm(x, at)
		}
	default:
		r.doubtAt(DoubtSyntax, s, "It is not known what this does.")
	}
	if s.Negated {
		at.dir.settle() // ! cd x && ls: it ran if the cd failed
	}
}

// guesses adds a case that looks at what is known only when it runs as a unit of its own: branch by
// branch it tells what a variable holds, so a rule must allow it by name.
func (r *reader) guesses(cmd *syntax.CaseClause, asked Word, at execContext) {
	looks := !asked.Static && hasVariable(r.raw(cmd.Word))
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			looks = looks || hasVariable(r.raw(p))
		}
	}
	if looks {
		argv := []Word{{Text: "case", Prefix: "case", Static: true, Start: asked.Start, End: asked.Start}, asked}
		r.add(Unit{Kind: Command, Program: "case", Base: "case", Argv: argv, Start: int(cmd.Pos().Offset()), End: int(cmd.Word.End().Offset()),
			Stdin: at.stdin, Stdout: at.stdout, Out: at.out, Of: -1}, at)
	}
}

// hasVariable says whether there is a $ that begins no command or sum.
func hasVariable(s string) bool {
	for i := range len(s) {
		if s[i] == '$' && (i+1 == len(s) || s[i+1] != '(') {
			return true
		}
	}
	return false
}

// closes doubts a word like } or done that is not set apart from what stands before it: after a
// redirection bash takes it for an argument, or an error.
func (r *reader) closes(pos syntax.Pos) {
	at := int(pos.Offset())
	if at > len(r.src) {
		return
	}
	before := strings.TrimRight(r.src[:at], " \t")
	if before != "" && strings.IndexByte(";&\n)", before[len(before)-1]) >= 0 {
		return
	}
	if i := strings.LastIndexAny(before, " \t\n;&|()"); i >= 0 && reserved(before[i+1:]) && before[i] != '>' {
		return
	}
	r.doubt(DoubtSyntax, at, at+1, "Where a group or loop ends is not read alike everywhere.")
}

// plainTime says whether time stands in front of a simple command, without options that zsh does
// not know.
func (r *reader) plainTime(t *syntax.TimeClause) bool {
	if t.Stmt == nil || t.Stmt.Negated || t.PosixFormat && r.opts.Zsh {
		return false
	}
	text := r.raw(t.Stmt)
	if text == "" {
		return false
	}
	c := text[0] | 0x20
	_, simple := t.Stmt.Cmd.(*syntax.CallExpr)
	return simple && (c >= 'a' && c <= 'z' || text[0] == '/')
}

// binary walks a chain of && || | from left to right. The parser hangs chains to the left, as
// deep as they are long, so that side is not walked by recursion.
func (r *reader) binary(b *syntax.BinaryCmd, at execContext) {
	var chain []*syntax.BinaryCmd
	first := b.X
	for chain = append(chain, b); ; {
		next, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || len(first.Redirs) > 0 || first.Background {
			break
		}
		chain = append(chain, next)
		first = next.X
	}
	// In a pipe of pipes the parser's groups are all pipes: a | binds tighter than && and ||.
	leftmost := chain[len(chain)-1]
	if leftmost.Op == syntax.Pipe || leftmost.Op == syntax.PipeAll {
		r.stage(first, at, at.stdin, Pipe)
	} else {
		r.stmt(first, at)
	}
	sure := r.vars // what is set in any case
	unsure := func() {
		if r.vars != sure {
			names := r.changedSince(sure, nil)
			r.vars = sure
			r.forget(names)
			sure = r.vars
		}
	}
	defer unsure()
	for i := len(chain) - 1; i >= 0 && !r.full; i-- {
		switch b := chain[i]; b.Op {
		case syntax.Pipe, syntax.PipeAll:
			out := at.stdout
			if i > 0 && (chain[i-1].Op == syntax.Pipe || chain[i-1].Op == syntax.PipeAll) {
				out = Pipe
			}
			r.stage(b.Y, at, Pipe, out)
		case syntax.AndStmt:
			was := *at.dir
			at.dir.succeeds() // Y runs only if X did
			r.stmt(b.Y, at)
			at.dir.fails(&was)
		default:
			was := *at.dir
			at.dir.settle()
			unsure()
			r.stmt(b.Y, at)
			unsure()
			if leaves(b.Y) {
				was.succeeds() // what follows runs only if X did
				*at.dir = was
				break
			}
			at.dir.settle()
			at.dir.mayBe(was.all(), !was.known)
		}
	}
}

// stage walks one command of a pipe; each has a shell of its own.
func (r *reader) stage(s *syntax.Stmt, at execContext, stdin, stdout Stream) {
	shell := at.dir
	at.dir = r.keep(*shell)
	at.dir.settle()
	before := *at.dir
	if stdout == Pipe {
		at.out = -1
	}
	at.stdin, at.stdout = stdin, stdout
	if _, timed := s.Cmd.(*syntax.TimeClause); timed && stdin == Pipe {
		r.doubtAt(DoubtSyntax, s, "time within a pipe is not read alike everywhere.")
	}
	r.apart(func() { r.stmt(s, at) })
	if !at.dir.equal(&before) {
		shell.lost() // zsh runs the last one in the script's own shell
	}
}

// leaves says that nothing follows a statement: exit. Not return, which outside of a function bash
// reports and goes on.
func leaves(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Args) > 2 || s.Background || s.Negated || len(s.Redirs) > 0 {
		return false
	}
	return call.Args[0].Lit() == "exit" && (len(call.Args) == 1 || digits(call.Args[1].Lit()))
}

// branches walks what may run any number of times. If it holds a cd, nothing within or after it
// is known to run anywhere.
func (r *reader) branches(at execContext, walk func()) {
	was, first := *at.dir, len(r.units)
	at.dir.changed = false
	walk()
	at.dir.settle()
	if at.dir.changed {
		at.dir.lost()
		for i := first; i < len(r.units); i++ {
			u := &r.units[i]
			u.DirKnown, u.Dirs = false, nil
			if u.Base == "git" {
				r.doubt(DoubtGitMoved, u.Start, u.End, gitMoved)
			}
		}
		return
	}
	at.dir.changed = was.changed
}
