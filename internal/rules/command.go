package rules

import (
	"path"
	"slices"
	"strings"

	"assent/internal/shell"
)

// commandMatch is the command selector of a rule: all that is set must hold for one unit.
type commandMatch struct {
	programs []glob // names; nil: any, which no allow rule may say
	args     [][]glob
	argsSet  bool // args constrain, even when empty
	rest     bool // any further arguments
	flags    *flagRules
	anyArg   []glob
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
}

// streams is a set of the places that standard input or output may be connected to.
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
	if !slices.ContainsFunc(m.programs, func(g glob) bool { return m.programAllowed(g, u, e) }) {
		return false, fault{"program", "the program is another one, or lies in a directory that is not the system's"}
	}
	operands, f := m.argsAllowed(u.Argv[1:], e)
	if f.selector != "" {
		return false, f
	}
	if door := m.sideDoor(u); door != "" {
		return false, fault{"flags", quote(door) + " writes a file, runs a program or works elsewhere: a rule must name it"}
	}
	if m.anyArg != nil && !slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool { return w.Static && matchAny(m.anyArg, w.Text) }) {
		return false, fault{"any_arg", "no argument matches"}
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

func (m *commandMatch) programAllowed(g glob, u *shell.Unit, e *scope) bool {
	if strings.Contains(g.src, "/") {
		// A program of the project is this one only where the agent stands.
		return g.match(u.Argv[0].Text) && (strings.HasPrefix(g.src, "/") || u.DirKnown && u.Dir == e.cwd)
	}
	return u.Program != "" && g.match(u.Program)
}

// argsAllowed checks args and flags and returns the operands that are left for paths.
func (m *commandMatch) argsAllowed(words []shell.Word, e *scope) ([]shell.Word, fault) {
	if m.flags != nil && m.flags.before != nil {
		var bad *flagFault
		if words, bad = m.flags.before.scan(words, true, nil); bad != nil {
			return nil, bad.fault()
		}
	}
	args := m.args
	// Plain words stand directly after the program: git -p log is not git log -p.
	for len(args) > 0 && !slices.ContainsFunc(args[0], func(g glob) bool { return !g.exact }) {
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
		if len(words) == 0 || !words[0].Static || strings.HasPrefix(words[0].Text, "-") || !matchAny(alternatives, words[0].Text) {
			return nil, fault{"args", wrongArg(words, alternatives)}
		}
		words = words[1:]
	}
	if m.argsSet && !m.rest && len(words) > 0 {
		return nil, fault{"args", "there are more arguments, first " + quote(words[0].Text)}
	}
	return words, fault{}
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

// withoutFlags drops what begins with a dash before --.
func withoutFlags(words []shell.Word) []shell.Word {
	var operands []shell.Word
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

// pathsAllowed wants every operand inside; a command without one works on its directory.
func (m *commandMatch) pathsAllowed(operands []shell.Word, u *shell.Unit, e *scope) fault {
	if !u.DirKnown {
		return fault{"paths", "the directory it runs in is not known"}
	}
	if len(operands) == 0 {
		if at, ok := e.place(u.Dir, u.Dir); !ok || !e.inside(at, m.paths) {
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
		at, ok := e.place(dir, w.Text)
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
	at, ok := e.place(dir, directory)
	return ok && e.inside(at, deep)
}

// guards says whether a rule that denies or asks is meant by the unit, in any reading.
func (m *commandMatch) guards(u *shell.Unit, e *scope) truth {
	if m.script != nil {
		return no // compared with the whole command, not with its parts
	}
	found := m.guardsReading(u, u.Argv, e)
	for _, alt := range u.Alt {
		if found == yes {
			break
		}
		found = found.or(m.guardsReading(u, alt, e))
	}
	return found
}

func (m *commandMatch) guardsReading(u *shell.Unit, argv []shell.Word, e *scope) truth {
	if len(argv) == 0 {
		return no
	}
	found := m.programGuarded(argv[0])
	if found == no && (m.text == nil || m.text.src[0] != '*') {
		return no
	}
	found = found.and(m.argsGuarded(argv[1:], e))
	if m.text != nil && found != yes {
		if !e.spend(20 * len(argv)) {
			return perhaps
		}
		found = found.or(textGuarded(m.text, argv))
	}
	if found == no {
		return no
	}
	if m.anyArg != nil {
		if !e.spend(len(argv)) {
			return found.and(perhaps)
		}
		found = found.and(anyWord(m.anyArg, argv[1:], e))
	}
	if m.paths != nil && found != no {
		found = found.and(e.wordsTouch(argv[1:], u, m.paths))
	}
	if m.stdin != 0 && !e.streamIn(m.stdin, u.Stdin, u, shell.ReadFile) || m.stdout != 0 && !e.streamIn(m.stdout, u.Stdout, u, shell.Write) {
		return no
	}
	return found
}

func (m *commandMatch) programGuarded(w shell.Word) truth {
	if m.programs == nil {
		return yes
	}
	if !w.Static {
		return perhaps
	}
	base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if matchAny(m.programs, base) || base != w.Text && matchAny(m.programs, w.Text) {
		return yes
	}
	return no
}

// argsGuarded finds the wanted words in their order, with flags and their values between them.
func (m *commandMatch) argsGuarded(words []shell.Word, e *scope) truth {
	found := yes
	if m.flags != nil {
		if m.flags.has != nil {
			found = m.flags.has.present(words)
		}
		if m.flags.only != nil {
			if _, bad := m.flags.only.scan(words, false, nil); bad != nil {
				if !bad.unknown {
					return no
				}
				found = found.and(perhaps)
			}
		}
	}
	if len(m.allFlags) > 0 && !e.spend(len(words)) {
		return found.and(perhaps)
	}
	for _, set := range m.allFlags {
		found = found.and(set.present(words))
	}
	if !m.argsSet || found == no {
		return found
	}
	if !e.spend(len(words)) {
		return found.and(perhaps)
	}
	return found.and(wanted(m.args, m.rest, m.flags == nil && len(m.allFlags) == 0, words, e))
}

// wanted walks all ways to read words as flags, their values and the wanted arguments. Its cost
// is bounded by the product of the two lengths. With exact, and without rest, nothing may follow
// the last argument, no flag either.
func wanted(args [][]glob, rest, exact bool, words []shell.Word, e *scope) truth {
	// at[j]: the best way to have found the first j arguments, just before the current word;
	// value[j]: the same, where the word before was a flag whose value this may be.
	n := len(args)
	space := make([]truth, 4*(n+1))
	at, value, nextAt, nextValue := space[:n+1], space[n+1:2*n+2], space[2*n+2:3*n+3], space[3*n+3:]
	at[0] = yes
	best := no
	for _, w := range words {
		clear(nextAt)
		clear(nextValue)
		alive := false
		set := func(t *truth, v truth) {
			*t = t.or(v)
			alive = alive || v != no
		}
		for j := range at {
			set(&nextAt[j], value[j]) // it was the value
			here := at[j].or(value[j])
			if here == no {
				continue
			}
			if j == n && rest {
				best = best.or(here)
			}
			if j == n && exact && w.Static {
				continue
			}
			if j < n {
				set(&nextAt[j+1], here.and(wordGuarded(args[j], w, e)))
			}
			switch {
			case len(w.Prefix) > 0 && w.Prefix[0] == '-' && (len(w.Prefix) > 1 || !w.Static):
				set(&nextValue[j], here)
			case !w.Static: // it may become a flag, or nothing, or several words
				set(&nextValue[j], here.and(perhaps))
				if w.Glob {
					set(&nextAt[n], here.and(perhaps))
				}
			}
		}
		at, nextAt, value, nextValue = nextAt, at, nextValue, value
		if !alive || best == yes {
			return best
		}
	}
	return best.or(at[n]).or(value[n])
}

func wordGuarded(gs []glob, w shell.Word, e *scope) truth {
	if w.Static {
		if matchAny(gs, w.Text) {
			return yes
		}
		return no
	}
	text := wordTokens(w)
	if len(text) == 1 && text[0].kind == anything || !e.spend(20*len(gs)) {
		return perhaps
	}
	for _, g := range gs {
		if meet(text, globTokens(g)) {
			return perhaps
		}
	}
	return no
}

// wordTokens is what a word may become.
func wordTokens(w shell.Word) []token {
	if w.Static {
		return literals(w.Text)
	}
	if !w.Glob || strings.ContainsAny(w.Text, "$`{}()\\'\"~") {
		return append(literals(w.Prefix), token{kind: anything})
	}
	var all []token
	for i := 0; i < len(w.Text); i++ {
		switch c := w.Text[i]; c {
		case '*':
			if strings.HasPrefix(w.Text[i:], "**") { // zsh crosses directories
				all = append(all, token{kind: anything})
				continue
			}
			all = append(all, token{kind: star})
		case '?':
			all = append(all, token{kind: anyChar})
		case '[': // a class, or the text itself where no file fits
			all = append(all, token{kind: star})
			if end := strings.IndexByte(w.Text[i:], ']'); end > 0 {
				i += end
			}
		default:
			all = append(all, token{kind: literal, char: c})
		}
	}
	return all
}

func anyWord(gs []glob, words []shell.Word, e *scope) truth {
	found := no
	for _, w := range words {
		if found = found.or(wordGuarded(gs, w, e)); found == yes {
			break
		}
	}
	return found
}

// textGuarded compares a rule string with the words of a command, the way its author saw it.
func textGuarded(g *glob, argv []shell.Word) truth {
	var b strings.Builder
	static := true
	for i, w := range argv {
		t := w.Text
		static = static && w.Static
		if i == 0 {
			t = t[strings.LastIndexByte(t, '/')+1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	if g.match(b.String()) {
		return yes
	}
	if static {
		return no
	}
	var text []token
	for i, w := range argv {
		if i > 0 {
			text = append(text, token{kind: literal, char: ' '})
		}
		text = append(text, wordTokens(w)...)
	}
	if meet(text, globTokens(*g)) {
		return perhaps
	}
	return no
}

// wordsTouch says whether a word of a command names a path in the patterns: as it stands, after
// a = (--file=x, of=x) or directly after a short flag (-fx).
func (e *scope) wordsTouch(words []shell.Word, u *shell.Unit, patterns []pathPattern) truth {
	found := no
	for _, w := range words {
		if found = found.or(e.wordTouches(w, u, patterns)); found == yes {
			break
		}
	}
	return found
}

func (e *scope) wordTouches(w shell.Word, u *shell.Unit, patterns []pathPattern) truth {
	if !e.spend(10 + 4*len(patterns)) {
		return perhaps
	}
	dir := u.Dir
	if !u.DirKnown {
		dir = unknownDir
	}
	if !w.Static {
		if !e.spend(20*len(patterns)) || e.mayTouch(pathTokens(w, dir), patterns) {
			return perhaps
		}
		return no
	}
	for _, t := range spellings(w.Text) {
		if at, ok := e.place(dir, t); ok && e.touches(at, patterns) {
			return yes
		}
	}
	return no
}

// pathTokens is what a word that is not static may become as a path, seen from dir.
func pathTokens(w shell.Word, dir string) []token {
	first := strings.IndexAny(w.Text, "*?[")
	if !w.Glob || first < 0 || strings.ContainsAny(w.Text, "$`{}()\\'\"~") {
		return []token{{kind: anything}} // it may bring a .. too
	}
	slash := strings.LastIndexByte(w.Text[:first], '/') + 1
	fixed := w.Text[:slash]
	if !strings.HasPrefix(w.Text, "/") {
		fixed = dir + "/" + fixed
	}
	if strings.Contains(w.Text[slash:], "..") { // where that leads is not known
		return []token{{kind: anything}}
	}
	fixed = strings.TrimSuffix(path.Clean(fixed), "/") + "/"
	w.Text, w.Prefix = w.Text[slash:], w.Text[slash:first]
	return append(literals(fixed), wordTokens(w)...)
}

// unknownDir stands for a directory that is not known; no pattern that names one matches it.
const unknownDir = "/\x01"

// spellings are the texts in one word that may be a path.
func spellings(text string) []string {
	all := []string{text}
	if _, v, ok := strings.Cut(text, "="); ok && v != "" {
		all = append(all, v)
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		all = append(all, text[2:])
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 && i+1 < len(text) {
		all = append(all, text[i+1:])
	}
	if len(text) > 1 && text[0] == '@' { // curl -d @file
		all = append(all, text[1:])
	}
	return all
}
