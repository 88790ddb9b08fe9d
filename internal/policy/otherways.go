package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A rule that denies or asks names one command, and other commands are the same: python -m pip is pip,
// docker image push is docker push, kill -KILL is kill -9. They are looked for, too.

// sameCommands returns what a command also is, in the words of which a rule may speak.
func (p *program) sameCommands(base string, argv []shell.Word) (all [][]shell.Word) {
	rest := argv[1:]
	with := func(names string, rest []shell.Word) {
		words := make([]shell.Word, 0, len(rest)+2)
		for name := range strings.FieldsSeq(names) {
			words = append(words, plainWord(argv[0], name))
		}
		all = append(all, append(words, rest...))
	}
	if p.otherNames != "" {
		for name := range strings.SplitSeq(p.otherNames, ",") {
			if name != "" {
				with(name, rest)
			}
		}
	}
	switch programStem(base) {
	case "python", "pypy":
		return append(all, module(rest))
	case "pip": // the pip of one Python, as of python3.11 -m pip, which is one of 3, too
		if base != "pip" {
			with("pip", rest)
		}
		if strings.HasPrefix(strings.TrimLeft(base[len("pip"):], "-"), "3.") {
			with("pip3", rest)
		}
	}
	at := firstOperand(rest)
	if at < 0 {
		return all
	}
	verb, after := rest[at].Text, rest[at+1:]
	switch base {
	case "ruby":
		if at > 0 && rest[at-1].Text == "-S" {
			all = append(all, rest[at:])
		}
	case "docker-compose":
		with("docker compose", rest)
	case "docker", "podman":
		switch {
		case verb == "compose":
			with(base+"-compose", after)
		case verb == "image" && len(after) > 0 && slices.Contains([]string{"push", "pull", "build", "save", "load", "tag", "import", "history", "inspect"}, after[0].Text):
			with(base, after)
		case verb == "image" && len(after) > 0 && (after[0].Text == "rm" || after[0].Text == "remove"):
			with(base+" rmi", after[1:])
		case verb == "container" && len(after) > 0 && after[0].Text == "remove":
			with(base+" rm", after[1:])
		}
	case "yarn", "pnpm", "bun":
		switch {
		case verb == "run":
			with(base, after)
		case base == "yarn" && verb == "workspace" && len(after) > 1:
			with(base, after[1:])
			with(base+" run", after[1:])
		case base == "yarn" && (verb == "workspaces" || verb == "npm" || verb == "global"):
			if i := firstOperand(after); i >= 0 {
				if after[i].Text == "foreach" {
					after = after[i+1:]
				}
				with(base, after)
			}
		default:
			with(base+" run", rest[at:])
		}
	case "gcloud":
		if verb == "beta" || verb == "alpha" || verb == "preview" {
			with(base, slices.Concat(rest[:at], after))
		}
	case "git":
		if verb == "branch" {
			for _, pair := range []string{"dD", "mM", "cC"} {
				if flagSaid(after, pair[0]) && flagSaid(after, 'f') {
					with("git branch -"+pair[1:], after)
				}
			}
		}
	case "kill", "pkill", "killall", "skill":
		if number, name := signalOf(rest); number != "" {
			with(base+" -"+number, rest)
			with(base+" -"+name, rest)
			with(base+" -SIG"+name, rest)
		}
	case "chmod":
		if mode := strings.TrimLeft(verb, "0"); mode != verb && digits(mode) {
			with(base+" "+mode, slices.Concat(rest[:at], after))
		}
	case "npm":
		if verb == "exec" || verb == "x" {
			after = slices.DeleteFunc(slices.Clone(after), func(w shell.Word) bool { return w.Text == "--" })
			with("npx", after)
		}
	case "npx", "pnpx", "bunx", "uvx":
		if name, version, is := strings.Cut(verb, "@"); is && name != "" && version != "" {
			with(base+" "+name, after)
		}
	}
	return all
}

// plainWord is a word of one text that stands where another does.
func plainWord(like shell.Word, text string) shell.Word {
	return shell.Word{Text: text, Prefix: text, Static: true, Start: like.Start, End: like.End}
}

// firstOperand is the index of the first word that is no flag, -1 without one.
func firstOperand(words []shell.Word) int {
	return slices.IndexFunc(words, func(w shell.Word) bool { return w.Static && w.Text != "" && w.Text[0] != '-' })
}

// module returns the words of a module that an interpreter of Python runs as a program: of python3 -I -m pip
// list those of pip list. -m may stand behind other letters, and the module directly behind it.
func module(words []shell.Word) []shell.Word {
	for i := 0; i < len(words); i++ {
		t := words[i].Text
		if !words[i].Static || len(t) < 2 || t[0] != '-' || t[1] == '-' {
			return nil
		}
		switch at := strings.IndexAny(t, "cmWX"); {
		case at < 0:
		case t[at] == 'c':
			return nil
		case t[at] != 'm': // its value
			if at == len(t)-1 {
				i++
			}
		case at < len(t)-1:
			return append([]shell.Word{plainWord(words[i], t[at+1:])}, words[i+1:]...)
		default:
			return words[i+1:]
		}
	}
	return nil
}

// flagSaid says whether a short flag of git branch stands in the words, in full or shortened, too.
func flagSaid(words []shell.Word, letter byte) bool {
	long := map[byte]string{'d': "--delete", 'f': "--force", 'm': "--move", 'c': "--copy"}[letter]
	return slices.ContainsFunc(words, func(w shell.Word) bool {
		t := w.Text
		if strings.HasPrefix(t, "--") {
			return len(t) > 3 && strings.HasPrefix(long, t)
		}
		return len(t) > 1 && t[0] == '-' && strings.IndexByte(t, letter) > 0
	})
}

var signals = map[string]string{"1": "HUP", "2": "INT", "3": "QUIT", "6": "ABRT", "9": "KILL", "15": "TERM", "18": "CONT", "19": "STOP"} // read-only

// signalOf reads which signal kill and its kin send.
func signalOf(words []shell.Word) (number, name string) {
	for i, w := range words {
		t := w.Text
		if len(t) < 2 || t[0] != '-' {
			continue
		}
		switch {
		case (t == "-s" || t == "-n" || t == "--signal") && i+1 < len(words):
			t = words[i+1].Text
		case strings.HasPrefix(t, "--signal="):
			t = t[len("--signal="):]
		case len(t) > 2 && (t[1] == 's' || t[1] == 'n'):
			t = t[2:]
		default:
			t = t[1:]
		}
		t = strings.TrimPrefix(strings.ToUpper(t), "SIG")
		for number, name := range signals {
			if t == number || t == name {
				return number, name
			}
		}
	}
	return "", ""
}

// programStem is a program's name without the version behind it: pip3.11 is pip.
func programStem(base string) string {
	if stem := withoutVersion(base); len(stem) > 2 {
		return strings.TrimRight(stem, "-")
	}
	return base
}

// Bounds of what is feared of one command. One that has more in it is not allowed.
const (
	maxFeared      = 16
	maxFearedTexts = 48
)

// feared returns what a command may be or start, though nobody knows: a program that no list here has may
// run the program that its words name, and pip3 may be pip. Only rules that deny or ask look at it, and
// they count as perhaps meant.
func (s *Set) feared(u *shell.Unit, e *scope) (all []shell.Unit) {
	add := func(words []shell.Word, base string) {
		if s.guards.byProgram[base] == nil && len(s.guards.wild)+len(s.guardFiles) == 0 || !e.spend(1+len(words)) {
			return // no rule is about it
		}
		if e.partial = e.partial || len(all) >= maxFeared; len(all) < maxFeared {
			all = append(all, shell.Unit{Kind: shell.Command, Start: u.Start, End: u.End, Base: base, Argv: words, Dir: u.Dir, DirKnown: u.DirKnown, Out: -1, Of: -1, DenyOnly: true})
		}
	}
	for _, name := range s.guards.byStem[programStem(u.Base)] {
		if name != u.Base {
			add(append([]shell.Word{plainWord(u.Argv[0], name)}, u.Argv[1:]...), name)
		}
	}
	if stem := programStem(u.Base); stem == "python" || stem == "pypy" { // python -m pip may be pip3
		if words := module(u.Argv[1:]); len(words) > 0 && words[0].Static {
			for _, name := range s.guards.byStem[programStem(words[0].Text)] {
				if name != words[0].Text {
					add(append([]shell.Word{plainWord(words[0], name)}, words[1:]...), name)
				}
			}
		}
	}
	for _, words := range scriptPrograms(u) {
		add(words, words[0].Text)
	}
	if e.programOf(u.Base).ways&inAnyOrder != 0 && !u.DenyOnly { // make RUN='rm -r x'
		for _, w := range u.Argv[1:] {
			if name, value, is := strings.Cut(w.Text, "="); is && value != "" && name != "" && name[0] != '-' && e.spend(20+len(value)/8) {
				for _, inner := range shell.Read(value, shell.Options{Dir: u.Dir, Home: e.home, Project: e.project}).Units {
					if inner.Kind == shell.Command && len(inner.Argv) > 0 && inner.Argv[0].Static {
						add(inner.Argv, inner.Base)
					}
				}
			}
		}
	}
	if p := e.programOf(u.Base); u.DenyOnly || len(u.Argv) < 2 || knownWords(u.Base, p) && !strangeCommand(p, u) {
		return all
	}
	texts := 0
	for i, w := range u.Argv[1:] {
		text := w.Text
		mayHold := strings.ContainsAny(text, " \t\n;|&")
		if mayHold {
			texts++
		}
		if e.partial = e.partial || texts > maxFearedTexts; mayHold && texts <= maxFearedTexts && e.spend(20+len(text)/8) {
			if text[0] == '-' {
				_, text, _ = strings.Cut(text, "=")
			}
			for _, inner := range shell.Read(text, shell.Options{Dir: u.Dir, Home: e.home, Project: e.project}).Units {
				if inner.Kind == shell.Command && len(inner.Argv) > 0 && inner.Argv[0].Static {
					add(inner.Argv, inner.Base)
				}
			}
		}
		if !w.Static || w.Text == "" {
			continue
		}
		words := u.Argv[1+i:]
		if w.Text[0] == '-' { // --exec=rm
			_, name, has := strings.Cut(w.Text, "=")
			if !has || name == "" {
				continue
			}
			words = append([]shell.Word{plainWord(w, name)}, words[1:]...)
		}
		base := words[0].Text[strings.LastIndexByte(words[0].Text, '/')+1:]
		if s.guards.byProgram[base] != nil {
			add(words, base)
		}
	}
	return all
}

// scriptPrograms returns what the script that an interpreter is given may be, as the program of its name: node
// /usr/bin/npm publish is npm publish, and php composer.phar install is composer install.
func scriptPrograms(u *shell.Unit) (all [][]shell.Word) {
	if !programs().inlineCode.Has(programStem(u.Base)) && !programs().inlineCode.Has(u.Base) && !shell.IsShell(u.Base) {
		return nil
	}
	flag := false
	for i, w := range u.Argv[1:] {
		if !w.Static || w.Text == "" {
			return all
		}
		if w.Text[0] == '-' || w.Text[0] == '+' {
			flag = !strings.Contains(w.Text, "=")
			continue
		}
		name := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
		for _, end := range []string{".js", ".cjs", ".mjs", ".phar", ".py", ".rb", ".pl", ".sh", ".php", "-cli"} {
			name = strings.TrimSuffix(name, end)
		}
		if name != "" {
			all = append(all, append([]shell.Word{plainWord(w, name)}, u.Argv[i+2:]...))
		}
		if !flag { // otherwise it may be the value of that flag, and the script comes behind it
			return all
		}
		flag = false
	}
	return all
}

// strangeCommand says whether a command of git and its like is none that the program has itself: an alias of the
// user's or a program of its own.
func strangeCommand(p *program, u *shell.Unit) bool {
	if p.commands == nil || u.DenyOnly || len(u.Argv) == 0 || strangeIn(p, u.Argv) == no {
		return false
	}
	found := no
	for _, argv := range append([][]shell.Word{u.Argv}, u.Alt...) {
		switch strangeIn(p, argv) {
		case no:
			return false
		case yes:
			found = yes
		}
	}
	return found == yes
}

// strangeIn is strangeCommand for one reading; perhaps where there is no command in it.
func strangeIn(p *program, argv []shell.Word) truth {
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		switch {
		case !w.Static:
			return perhaps // a doubt of its own
		case w.Text == "" || w.Text[0] == '-' || w.Text[0] == '+':
		case p.commands.Has(w.Text):
			return no
		case i > 1 && argv[i-1].Static && strings.HasPrefix(argv[i-1].Text, "-") && !strings.Contains(argv[i-1].Text, "="):
			// It may be the value of the flag.
		default:
			return yes
		}
	}
	return perhaps
}

// strangeGuards has the rules that deny or ask about a program count as perhaps meant where its command may be an
// alias of one that they name. Those of packs speak of what it shows.
func (s *Set) strangeGuards(u *shell.Unit, e *scope, o *outcome) {
	at := s.guards.byProgram[u.Base]
	if at == nil || !strangeCommand(e.programOf(u.Base), u) {
		return
	}
	for _, rules := range [][]*rule{at.rest, at.anyArg} {
		for _, r := range rules {
			if r.layer != Builtin {
				o.guard(r, perhaps)
			}
		}
	}
}

// knownWords says whether it is known what a program takes its words for, so that one that is the name of
// another program does not start that.
func knownWords(base string, p *program) bool {
	return p.kind != 0 || p.ownWords || p.everyOperand || p.runsOperand || p.ways&inAnyOrder != 0 || p.doors != nil && !p.doors.starts || hasSideWords(base) || fileProgram(base, opRead) == yes || fileProgram(base, opEdit) == yes || shell.StartsOthers(base)
}

// ways says how else a program's words may be written.
type ways uint8

const (
	inAnyOrder ways = 1 << iota // each is one of several things to do: make build deploy
	shortened                   // a beginning of it is enough: gradle publi
)

func waysOf(base string) ways { return programOf(base).ways }

// wordOtherwise is wordGuarded for a program whose words may be written in another way.
func wordOtherwise(gs []glob, w shell.Word, how ways, e *scope) truth {
	found := wordGuarded(gs, w, e)
	if found == yes || how == 0 || !w.Static {
		return found
	}
	if how&inAnyOrder != 0 { // make ./x, gradle :a:x
		if name := strings.TrimPrefix(w.Text[strings.LastIndexByte(w.Text, ':')+1:], "./"); name != w.Text && name != "" {
			found = found.or(e.among(gs, name))
		}
	}
	if how&shortened != 0 && w.Text != "" {
		text := w.Text[strings.LastIndexByte(w.Text, ':')+1:]
		for i := range gs {
			if gs[i].exact && text != "" && strings.HasPrefix(gs[i].src, text) {
				found = found.or(perhaps)
			}
		}
	}
	return found
}
