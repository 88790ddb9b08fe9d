package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const gitMoved = "git runs after a cd: the configuration of another repository can name programs to run."

// call reads a simple command and returns the index of its unit, -1 when it has none.
func (r *reader) call(c *syntax.CallExpr, s *syntax.Stmt, at place) int {
	for _, a := range c.Assigns {
		r.assign(a, at)
	}
	if len(c.Args) == 0 {
		return -1
	}
	argv := r.argv(len(c.Args))
	for i, w := range c.Args {
		if argv = r.expanded(w, at, argv); i == 0 && !plainProgram(w) {
			r.doubtAt(DoubtProgram, w, "The program is not a plain word.")
		}
	}
	if isShell(argv[0].Text) && at.stdin == Heredoc {
		r.heredocScripts(s, at)
	}
	return r.emit(argv, c, at)
}

// plainProgram says whether a word that names a program is written as one: no braces, no $'…'.
func plainProgram(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && q.Dollar {
			return false
		}
	}
	return braceWords(w) == nil
}

func (r *reader) emit(argv []Word, n syntax.Node, at place) int {
	return r.command(argv, int(n.Pos().Offset()), int(n.End().Offset()), at, 0)
}

// command adds the unit of one command, or those of the commands that it starts. levels counts
// the programs taken off in front.
func (r *reader) command(argv []Word, start, end int, at place, levels int) int {
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
	}
	if why := unsafeBuiltin(u.Base); why != "" && !(prog.Text == "set" && r.stricter(argv[1:])) {
		r.doubt(DoubtBuiltin, start, end, u.Base+" "+why+".")
		r.guess(argv, start, end, at)
		return r.add(u, at)
	}
	if u.Program == "" {
		// Its name means nothing to a rule that allows, and everything to one that denies.
		if _, is := wrapper(u.Base); is || seeThrough(u.Base, argv) != through || isShell(u.Base) {
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
		r.builtin(u.Program, argv, start, end)
	case "find":
		return r.find(u, at, levels)
	case "xargs", "gxargs":
		return r.xargs(u, at, levels)
	case "git":
		return r.git(u, at)
	case "env", "genv":
		return r.env(u, at, levels)
	}
	if isShell(u.Program) {
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

// stricter says whether the words after set do nothing but have the shell stop at an error, at a
// variable that is not set or at a failed part of a pipe, or not stop there any more. Such a script
// runs no command that it would not run without them, and none otherwise. Not -x: it evaluates PS4.
func (r *reader) stricter(words []Word) bool {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.Static || len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			return false
		}
		for k, letter := range w.Text[1:] {
			switch {
			case letter == 'e' || letter == 'u' || letter == 'E' && !r.opts.Zsh:
			case letter == 'o' && k+2 == len(w.Text) && i+1 < len(words):
				i++
				if !words[i].Static || !r.strictOption(words[i].Text) {
					return false
				}
			default:
				return false
			}
		}
	}
	return len(words) > 0
}

func (r *reader) strictOption(name string) bool {
	switch name {
	case "errexit", "nounset", "pipefail":
		return true
	case "errtrace":
		return !r.opts.Zsh
	}
	return false
}

// cd follows a change of directory.
func (r *reader) cd(argv []Word, at place) {
	to := ""
	for i, w := range argv[1:] {
		switch {
		case !w.Static:
			at.dir.lost()
			return
		case to == "" && (w.Text == "--" || w.Text == "-P" || w.Text == "-L"):
			continue
		case strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") || w.Text == "" || i+2 != len(argv):
			at.dir.lost()
			return
		}
		to = w.Text
	}
	if to == "" {
		if to = r.opts.Home; to == "" {
			at.dir.lost()
			return
		}
	}
	at.dir.move(to)
}

var (
	// onlyTexts are the formats of printf that print their words as they are.
	onlyTexts = regexp.MustCompile(`^([^%]|%%|%-?[0-9]*(\.[0-9]+)?[sbqc])*$`)
	// stores are the formats of printf that set the variable that a word names.
	stores = regexp.MustCompile(`%[^a-zA-Z%]*[hlLjztq]*n`)
	number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
)

// evaluates says whether a text is an element of an array whose subscript holds a command.
func evaluates(s string) bool {
	_, subscript, is := strings.Cut(s, "[")
	return is && strings.ContainsAny(subscript, "$`(<>=")
}

// descriptor says whether the word after test -t is a number, or is no operand of it.
func descriptor(w Word) bool {
	switch w.Text {
	case "]", "-a", "-o", ")", "=", "==", "!=":
		return w.Static
	}
	return w.Static && digits(w.Text)
}

// builtin doubts the forms of some builtins that set variables or evaluate their words.
func (r *reader) builtin(name string, argv []Word, start, end int) {
	switch name {
	case "test", "[":
		for i, w := range argv[1:] {
			if w.Static && w.Text == "-t" && i+2 < len(argv) && !descriptor(argv[i+2]) {
				r.doubt(DoubtBuiltin, start, end, "In zsh test -t evaluates its word, and can run commands.")
			}
			if w.Static && evaluates(w.Text) {
				r.doubt(DoubtBuiltin, start, end, "A subscript with a command in it: test can run it.")
			}
			if w.MaybeFlag && w.Glob || w.Static && (w.Text == "-v" || w.Text == "-R" || w.Text == "-o" && i == 0) {
				r.doubt(DoubtBuiltin, start, end, "test -v evaluates its word, and can run commands.")
			}
			if r.opts.Zsh && w.Static {
				switch w.Text {
				case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
					if i == 0 || i+2 >= len(argv) || !integer(argv[i]) || !integer(argv[i+2]) {
						r.doubt(DoubtZsh, start, end, "In zsh test -eq evaluates its words, and can run commands.")
					}
				}
			}
		}
	case "wait":
		for _, w := range argv[1:] {
			if !w.Static || strings.HasPrefix(w.Text, "-") && w.Text != "-n" || evaluates(w.Text) {
				r.doubt(DoubtBuiltin, start, end, "wait -p sets a variable.")
			}
		}
	case "printf":
		words := argv[1:]
		if len(words) > 1 && words[0].Text == "--" {
			words = words[1:]
		}
		if len(words) > 1 && (!words[0].Static || stores.MatchString(words[0].Text)) {
			r.doubt(DoubtBuiltin, start, end, "printf %n sets a variable, and evaluates its name.")
		}
		if len(argv) > 1 && (!argv[1].Static && argv[1].MaybeFlag || strings.HasPrefix(argv[1].Prefix, "-") && argv[1].Text != "--") {
			r.doubt(DoubtBuiltin, start, end, "printf -v sets a variable.")
		}
		if r.opts.Zsh {
			words := argv[1:]
			if len(words) > 1 && words[0].Text == "--" {
				words = words[1:]
			}
			computes := len(words) > 0 && !onlyTexts.MatchString(words[0].Text)
			for i, w := range words {
				if !w.Static || strings.ContainsRune(w.Text, '[') || computes && i > 0 && !number.MatchString(w.Text) {
					r.doubt(DoubtZsh, start, end, "In zsh printf evaluates its words, and can run commands or set variables.")
				}
			}
		}
	case "exit", "return", "break", "continue", "shift", "logout", "bye":
		if r.opts.Zsh {
			for _, w := range argv[1:] {
				if !integer(w) {
					r.doubt(DoubtZsh, start, end, "In zsh "+name+" evaluates its word, and can run commands.")
				}
			}
		}
	case "read":
		for _, w := range argv[1:] {
			ok := w.Static && (w.Text == "-r" || w.Text == "-s" || loopVariable(w.Text))
			if !ok {
				r.doubt(DoubtBuiltin, start, end, "read sets a variable that something else may use.")
			}
		}
		if len(argv) == 1 || argv[len(argv)-1].Text == "-r" {
			r.doubt(DoubtBuiltin, start, end, "read sets a variable that something else may use.")
		}
	}
}

// git takes off what only says where git works, and tries the command without its other global
// options on rules that deny.
func (r *reader) git(u Unit, at place) int {
	if d := at.dir; d.changed && !(d.known && d.dir != "" && (d.dir == r.opts.Dir || d.dir == r.opts.Project)) {
		r.doubt(DoubtGitMoved, u.Start, u.End, gitMoved)
	}
	argv := u.Argv
	at.dir = r.keep(*at.dir)
	i := 1
	for i < len(argv) && argv[i].Static {
		switch argv[i].Text {
		case "--no-pager", "-P", "--no-optional-locks", "--no-advice":
			i++
			continue
		case "-C":
			if i+1 < len(argv) && argv[i+1].Static {
				if argv[i+1].Text != "" {
					at.dir.move(argv[i+1].Text)
					at.dir.maybe = false
				}
				i += 2
				continue
			}
		}
		break
	}
	if i > 1 {
		u.Argv = append([]Word{argv[0]}, argv[i:]...)
		u.Alt = append(u.Alt, argv)
	}
	rest := i
	for rest < len(argv) && strings.HasPrefix(argv[rest].Prefix, "-") {
		switch argv[rest].Text {
		case "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path", "--attr-source", "--list-cmds", "--shallow-file":
			rest++
		}
		rest++
	}
	if rest > i && rest < len(argv) {
		u.Alt = append(u.Alt, append([]Word{argv[0]}, argv[rest:]...))
	}
	return r.add(u, at)
}

// shell reads bash -c TEXT. Without -c it is a command like others, unless it reads commands
// from its input.
func (r *reader) shell(u Unit, at place) int {
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

func (r *reader) inlineScript(u Unit, i int, known bool, at place) int {
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
	r.also(first, argv)
	return -1
}

// also gives the outer command to the unit that stands for it, for rules that deny.
func (r *reader) also(i int, argv []Word) {
	if i >= 0 && i < len(r.units) {
		r.units[i].Alt = append(r.units[i].Alt, argv)
	}
}

// within reads the script in a word.
func (r *reader) within(w Word, at place) {
	if r.inline >= maxInline || strings.TrimSpace(w.Text) == "" {
		return
	}
	if r.scripts++; r.scripts > maxScripts {
		r.doubt(DoubtInline, w.Start, w.End, "It holds too many scripts.")
		return
	}
	src, inner, start, end := r.src, r.inner, r.start, r.end
	if !r.inner {
		r.start, r.end = w.Start, w.End
	}
	r.inner = true
	r.inline++
	r.script(w.Text, at)
	r.inline--
	r.src, r.inner, r.start, r.end = src, inner, start, end
}

// heredocScripts reads the here-documents of a shell, for rules that deny.
func (r *reader) heredocScripts(s *syntax.Stmt, at place) {
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
