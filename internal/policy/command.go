package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// commandMatch is the command selector of a rule: all that is set must hold for one unit.
type commandMatch struct {
	programs []glob // names; nil: any, which no allow rule may say
	verbs    *verbs // the words that stand directly after the program; nil: not said
	args     [][]glob
	argsSet  bool   // args constrain, even when empty
	rest     bool   // any further arguments
	operands []glob // what those look like; nil: anything
	flags    *flagRules
	anyArg   []glob
	noArg    []glob
	literal  bool // every argument is written out
	piped    bool // or comes from other commands, through xargs or $()
	paths    []pathPattern
	stdin    streams // 0: any
	stdout   streams

	// allFlags must each be there, anywhere: the flags of a rule string; for guards.
	allFlags []*flagSet
	// text is a rule string as a pattern over the words of a command; for guards.
	text *glob
	// script is a rule string with shell syntax in it. It is compared with the whole command:
	// exactly by an allow, as a pattern by a guard.
	script *glob
	// home: the words hold homeMark.
	home bool
}

// streams is a set of what standard input or output may be connected to.
type streams uint8

const (
	streamNone streams = 1 << iota
	streamPipe
	streamDevNull
	streamFile    // any file
	streamProject // a file in the project
	streamHeredoc
)

var streamNames = map[string]streams{
	"none": streamNone, "pipe": streamPipe, "devnull": streamDevNull, "file": streamFile,
	"project": streamProject, "heredoc": streamHeredoc,
}

// fault is the first selector that failed, for a person who asks why.
type fault struct{ selector, why string }

// allows says whether an allow rule with this selector covers the unit; the fault says why not.
func (m *commandMatch) allows(u *shell.Unit, e *scope) (bool, fault) {
	if m.script != nil {
		return e.command == m.script.src && m.script.exact, fault{"program", "the whole command is another one"}
	}
	if len(u.Argv) == 0 || !u.Argv[0].Static {
		return false, fault{"program", "the program is not a plain word"}
	}
	if !m.anyProgram(u, e) {
		return false, fault{"program", "the program is another one, or lies in a directory that is not the system's"}
	}
	words := u.Argv[1:]
	if m.flags != nil && m.flags.names {
		words = namesAsNames(words, u, e)
	}
	operands, f := m.argsAllowed(words, e)
	if f.selector != "" {
		return false, f
	}
	if door, why := m.sideDoor(u); door != "" {
		return false, fault{"flags", quote(door) + " " + why}
	}
	if m.anyArg != nil && !slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool { return w.Static && matchAny(m.anyArg, w.Text) }) {
		return false, fault{"any_arg", "no argument matches"}
	}
	if f := m.writtenOut(u, e); f.selector != "" {
		return false, f
	}
	if f := m.shapedOperands(operands); f.selector != "" {
		return false, f
	}
	if m.paths != nil {
		if f := m.pathsAllowed(operands, u, e); f.selector != "" {
			return false, f
		}
	}
	if m.stdin != 0 && !e.streamIn(m.stdin, u.Stdin, u, shell.ReadFile) {
		return false, fault{"stdin", "standard input is " + u.Stdin.String()}
	}
	if m.stdout != 0 && !e.streamIn(m.stdout, u.Stdout, u, shell.Write) {
		return false, fault{"stdout", "standard output is " + u.Stdout.String()}
	}
	return true, fault{}
}

// namesAsNames says of words that stand for names of files that none becomes a flag: for programs
// whose flags do no harm, so that it does not matter if one does.
func namesAsNames(words []shell.Word, u *shell.Unit, e *scope) []shell.Word {
	copied := false
	for i, w := range words {
		if w.MaybeFlag && (w.Text == "…" || ofOneKind(w)) && fileName(w, u, e) {
			if !copied {
				words, copied = slices.Clone(words), true
			}
			words[i].MaybeFlag = false
		}
	}
	return words
}

// ofOneKind says whether a pattern ends in the kind of a file, as *.go does.
func ofOneKind(w shell.Word) bool {
	tail := w.Text[strings.LastIndexAny(w.Text, "*?]")+1:]
	return len(tail) > 1 && tail[0] == '.' && tail != w.Text && w.Text[0] != '-'
}

// anyProgram says whether a program of the rule is that of the unit.
func (m *commandMatch) anyProgram(u *shell.Unit, e *scope) bool {
	for i := range m.programs {
		g := &m.programs[i]
		switch {
		case !strings.Contains(g.src, "/"):
			if u.Program != "" && g.match(u.Program) {
				return true
			}
		case matchArg(m.programs[i:i+1], u.Argv[0].Text) && (strings.HasPrefix(g.src, "/") || u.DirKnown && u.Dir == e.cwd):
			return true // a program of the project is this one only where the agent stands
		}
	}
	return false
}

// argsAllowed checks args and flags and returns the operands that are left for paths.
func (m *commandMatch) argsAllowed(words []shell.Word, e *scope) ([]shell.Word, fault) {
	if m.flags != nil && m.flags.before != nil {
		var bad *flagFault
		if words, bad = m.flags.before.scan(words, true, nil); bad != nil {
			return nil, bad.fault()
		}
	}
	if m.verbs != nil {
		n := m.verbs.words(words)
		if n == 0 {
			return nil, fault{"verbs", wrongVerb(words)}
		}
		words = words[n:]
	}
	args := m.args
	// Plain words stand directly after the program: git -p log is not git log -p.
	for len(args) > 0 && allExact(args[0]) {
		if len(words) == 0 || !words[0].Static || !matchAny(args[0], words[0].Text) {
			return nil, fault{"args", wrongArg(words, args[0])}
		}
		words, args = words[1:], args[1:]
	}
	switch {
	case m.flags == nil:
	case m.flags.only != nil:
		operands, bad := m.flags.only.scan(words, false, e.operands[:0])
		if bad != nil {
			return nil, bad.fault()
		}
		e.operands = operands[:0]
		words = operands
	case m.flags.any:
		words = withoutFlags(words)
	}
	for _, alternatives := range args {
		if len(words) == 0 || !words[0].Static || strings.HasPrefix(words[0].Text, "-") || !matchArg(alternatives, words[0].Text) {
			return nil, fault{"args", wrongArg(words, alternatives)}
		}
		words = words[1:]
	}
	if m.argsSet && !m.rest && len(words) > 0 {
		return nil, fault{"args", "there are more arguments, first " + quote(words[0].Text)}
	}
	return words, fault{}
}

func allExact(gs []glob) bool {
	for i := range gs {
		if !gs[i].exact {
			return false
		}
	}
	return true
}

// verbs are the operations of a program, each named in full: "ec2 describe-instances".
type verbs struct {
	names map[string]bool
	most  int // words in the longest
}

// words says how many of the words name an operation; 0 when none does.
func (v *verbs) words(words []shell.Word) int {
	for n := min(v.most, len(words)); n > 0; n-- {
		name := ""
		for i, w := range words[:n] {
			if !w.Static || strings.Contains(w.Text, " ") {
				name = ""
				break
			}
			if i > 0 {
				name += " "
			}
			name += w.Text
		}
		if v.names[name] {
			return n
		}
	}
	return 0
}

func wrongVerb(words []shell.Word) string {
	if len(words) == 0 {
		return "the operation is missing"
	}
	return quote(words[0].Text) + " does not begin an operation that is listed"
}

func (f *flagFault) fault() fault { return fault{"flags", quote(f.word.Text) + " " + f.why} }

func wrongArg(words []shell.Word, want []glob) string {
	if len(words) == 0 {
		return "an argument is missing, expected " + globNames(want)
	}
	return quote(words[0].Text) + " stands where " + globNames(want) + " is expected"
}

func globNames(gs []glob) string {
	all := make([]string, len(gs))
	for i, g := range gs {
		all[i] = g.src
	}
	return short(strings.Join(all, " or "))
}

func quote(s string) string { return "`" + short(s) + "`" }

func matchAny(gs []glob, s string) bool {
	for i := range gs {
		if gs[i].match(s) {
			return true
		}
	}
	return false
}

// matchArg is matchAny for an allow: scripts/* does not lead out of scripts.
func matchArg(gs []glob, s string) bool {
	climbs := strings.Contains("/"+s+"/", "/../")
	for i := range gs {
		if gs[i].match(s) && !(climbs && !gs[i].exact && gs[i].re == nil && strings.Contains(gs[i].src, "/")) {
			return true
		}
	}
	return false
}

// withoutFlags drops what begins with a dash before --.
func withoutFlags(words []shell.Word) []shell.Word {
	operands := make([]shell.Word, 0, len(words))
	for i, w := range words {
		if w.Static && w.Text == "--" {
			return append(operands, words[i+1:]...)
		}
		if len(w.Text) < 2 || w.Text[0] != '-' {
			operands = append(operands, w)
		}
	}
	return operands
}

// shapedOperands wants every further argument to have one of the listed shapes. Words that are
// known only when the command runs must be let through by literal, and be paths.
func (m *commandMatch) shapedOperands(words []shell.Word) fault {
	if m.operands == nil {
		return fault{}
	}
	for _, w := range words {
		if !w.Static && !slices.ContainsFunc(m.operands, func(g glob) bool {
			return g.src == anyPath || g.re != nil && fromGit(w) && g.match(gitSubstitution.ReplaceAllString(w.Text, "HEAD"))
		}) {
			return fault{"operands", quote(w.Text) + " is known only when it runs"}
		}
		if w.Static && !matchAny(m.operands, w.Text) {
			return fault{"operands", quote(w.Text) + " has another shape than is listed"}
		}
	}
	return fault{}
}

// pathsAllowed wants every operand inside; a command without one works on its directory.
func (m *commandMatch) pathsAllowed(operands []shell.Word, u *shell.Unit, e *scope) fault {
	if !u.DirKnown {
		return fault{"paths", "the directory it runs in is not known"}
	}
	if len(operands) == 0 {
		if at, ok := e.resolvePath(u.Dir, u.Dir); !ok || !e.inside(at, m.paths) {
			return fault{"paths", "it names no path, and " + quote(u.Dir) + " is not inside"}
		}
		return fault{}
	}
	for _, w := range operands {
		if !e.wordInside(w, u.Dir, m.paths) {
			return fault{"paths", quote(w.Text) + " is not inside for certain"}
		}
	}
	return fault{}
}

// wordInside says whether a word is a path inside the patterns; a pattern such as dist/* is when
// its directory is and nothing follows the *.
func (e *scope) wordInside(w shell.Word, dir string, patterns []pathPattern) bool {
	if w.Static {
		at, ok := e.resolvePath(dir, w.Text)
		return ok && e.inside(at, patterns)
	}
	if !w.Glob || w.MaybeFlag || strings.ContainsAny(w.Text, "${}`\\'\"") || strings.Contains(w.Text, "..") {
		return false
	}
	slash := strings.LastIndexByte(w.Text, '/') + 1
	if !strings.HasPrefix(w.Prefix, w.Text[:slash]) {
		return false
	}
	// What the pattern stands for has a name of its own below the directory.
	deep := make([]pathPattern, 0, len(patterns))
	for _, p := range patterns {
		if p.all || strings.HasSuffix(p.below.src, "/**") {
			deep = append(deep, p)
		}
	}
	directory := w.Text[:slash]
	if directory == "" {
		directory = "."
	}
	at, ok := e.resolvePath(dir, directory)
	return ok && e.inside(at, deep)
}
