package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

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
	if m.home {
		argv = e.homeWords(argv)
	}
	found := m.programGuarded(argv[0], e)
	if found == no && (m.text == nil || m.text.src[0] != '*') {
		return no
	}
	how := e.programOf(argv[0].Text[strings.LastIndexByte(argv[0].Text, '/')+1:]).ways
	args := m.argsGuarded(argv[1:], how, e)
	if short := withoutGroup(argv); short != nil && args != yes {
		args = args.or(m.argsGuarded(short, how, e))
	}
	found = found.and(args)
	if m.text != nil && found != yes {
		if !e.spend(20 * len(argv)) {
			return perhaps
		}
		found = found.or(e.textGuarded(m.text, argv))
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
	if m.noArg != nil {
		found = found.and(not(anyWord(m.noArg, argv[1:], e)))
	}
	if m.paths != nil && found != no {
		found = found.and(e.wordsTouch(argv[1:], u, m.paths))
	}
	if m.stdin != 0 && !e.streamIn(m.stdin, u.Stdin, u, shell.ReadFile) || m.stdout != 0 && !e.streamIn(m.stdout, u.Stdout, u, shell.Write) {
		return no
	}
	return found
}

// homeWords writes the home directory as rules about it do: see homeMark.
func (e *scope) homeWords(argv []shell.Word) []shell.Word {
	all := slices.Clone(argv)
	for i := range all {
		w := &all[i]
		w.Text = e.homeMarked(w.Text)
		w.Prefix = e.homeMarked(w.Prefix)
		w.Static = w.Static || strings.Contains(w.Text, homeMark) && !strings.ContainsAny(w.Text, "$`{}*?[()")
	}
	return all
}

func (e *scope) homeMarked(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "${HOME}", homeMark), "$HOME", homeMark)
	if e.home == "" {
		return s
	}
	for i := 0; i+len(e.home) <= len(s); i++ {
		end := i + len(e.home)
		if s[i:end] == e.home && (i == 0 || strings.IndexByte("=:", s[i-1]) >= 0) && (end == len(s) || s[end] == '/') {
			return s[:i] + homeMark + s[end:]
		}
	}
	return s
}

func (m *commandMatch) programGuarded(w shell.Word, e *scope) truth {
	if m.programs == nil {
		return yes
	}
	if !w.Static {
		return perhaps
	}
	base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	found := e.among(m.programs, base)
	if found != yes && base != w.Text {
		found = found.or(e.among(m.programs, w.Text))
	}
	return found
}

// argsGuarded finds the wanted words in their order, with flags and their values between them.
func (m *commandMatch) argsGuarded(words []shell.Word, how ways, e *scope) truth {
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
	return found.and(wanted(m.args, m.rest, m.flags == nil && len(m.allFlags) == 0, words, how, e))
}

// wanted walks all ways to read words as flags, their values and the wanted arguments. Its cost
// is bounded by the product of the two lengths. With exact, and without rest, nothing may follow
// the last argument, no flag either. How says how else the words may be written.
func wanted(args [][]glob, rest, exact bool, words []shell.Word, how ways, e *scope) truth {
	exact = exact && how&inAnyOrder == 0
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
				set(&nextAt[j+1], here.and(wordOtherwise(args[j], w, how, e)))
			}
			switch {
			case how&inAnyOrder != 0 && w.Static && (w.Prefix == "" || w.Prefix[0] != '-'):
				set(&nextAt[j], here) // something else to do
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
		return e.among(gs, w.Text)
	}
	text := wordTokens(w)
	if len(text) == 1 && text[0].kind == anything {
		return perhaps
	}
	for i := range gs {
		if e.meets(text, globTokens(gs[i])) {
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
func (e *scope) textGuarded(g *glob, argv []shell.Word) truth {
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
	if !e.spend(g.cost(b.Len())) {
		return perhaps
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
	if e.meets(text, globTokens(*g)) {
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
		switch {
		case !e.spend(20 * len(patterns)):
			return likely
		case !e.mayTouch(pathTokens(w, dir), patterns):
			return no
		case e.patternInside(w, dir, patterns):
			return yes
		case hiddenNames(w.Text):
			return likely
		}
		return perhaps
	}
	var few [8]string
	for _, t := range spellings(few[:0], w.Text) {
		if at, ok := e.resolvePath(dir, t); ok && e.touches(at, patterns) {
			return yes
		}
	}
	return no
}

// patternInside says whether every file that a pattern such as ~/.aws/* fits is meant.
func (e *scope) patternInside(w shell.Word, dir string, patterns []pathPattern) bool {
	first := strings.IndexAny(w.Text, "*?[")
	if !w.Glob || first < 0 || strings.ContainsAny(w.Text, "$`{}()\\'\"") || strings.Contains(w.Text, "..") || !e.spend(10*len(patterns)) {
		return false
	}
	directory := w.Text[:strings.LastIndexByte(w.Text[:first], '/')+1]
	at, ok := e.resolvePath(dir, directory+"\x01") // a name that only a wildcard fits
	return ok && dir != unknownDir && e.touches(at, patterns)
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

// spellings appends the texts in one word that may be a path.
func spellings(all []string, text string) []string {
	all = append(all, text)
	if _, v, ok := strings.Cut(text, "="); ok && v != "" {
		all = append(all, v)
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		all = append(all, text[2:])
		for i := 3; i < min(6, len(text)); i++ { // -at.git
			all = append(all, text[i:])
		}
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 && i+1 < len(text) {
		all = append(all, text[i+1:])
	}
	if len(text) > 1 && text[0] == '@' { // curl -d @file
		all = append(all, text[1:])
	}
	return all
}
