package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is known of variables. Beyond them a loop is read once, with a variable that may
// hold anything.
const (
	maxRounds  = 12_000 // characters of loops that are walked once more, each time with another value
	maxItems   = 32     // of one loop
	maxKnown   = 32     // variables
	maxValue   = 512    // bytes of one
	maxForgets = 256    // loops whose text is looked through for assignments

	// tellsOfUser are variables of the environment that tell who and where one is.
	tellsOfUser = "PWD OLDPWD SHELL USER LOGNAME HOSTNAME TERM LANG SHLVL UID EUID PATH TMPDIR"
)

// variable is what the script has set a variable to. Older values of it stand behind it; a list
// of them is never changed, so that a pointer is a copy.
type variable struct {
	name string
	word Word
	next *variable
	n    int // variables in the list
}

// set notes the value of a variable.
func (r *reader) set(name string, w Word) {
	if len(w.Text) > maxValue {
		w = unknownWord(Other)
	}
	n := 1
	if r.vars != nil {
		n = r.vars.n + 1
	}
	if n > maxKnown*4 {
		r.vars, r.varsFull = nil, true // none is known any more
		return
	}
	r.vars = &variable{name: name, word: w, next: r.vars, n: n}
}

func unknownWord(s Source) Word { return Word{Unknown: s, MaybeFlag: true, Glob: true} }

// lookup returns what a variable holds; nil when the script does not say.
func (r *reader) lookup(name string) *Word {
	if r.varsFull {
		return nil
	}
	for v := r.vars; v != nil; v = v.next {
		if v.name == name {
			return &v.word
		}
	}
	return nil
}

// changedSince returns the names of the variables that were set since was.
func (r *reader) changedSince(was *variable, names []string) []string {
	for v := r.vars; v != nil && v != was; v = v.next {
		names = append(names, v.name)
	}
	return names
}

// apart walks what may or may not run, or runs in a shell of its own: what it sets is not known
// afterwards.
func (r *reader) apart(walk func()) {
	was := r.vars
	walk()
	if r.vars == was {
		return
	}
	names := r.changedSince(was, nil)
	r.vars = was
	r.forget(names)
}

func (r *reader) forget(names []string) {
	for _, name := range names {
		if w := r.lookup(name); w == nil || w.Unknown != Other {
			r.set(name, unknownWord(Other))
		}
	}
}

// repeats forgets the variables that a loop may set: in its next round they hold something else.
func (r *reader) repeats(parts ...[]*syntax.Stmt) {
	if r.vars == nil {
		return
	}
	text := ""
	for _, list := range parts {
		if len(list) > 0 {
			start, end := int(list[0].Pos().Offset()), int(list[len(list)-1].End().Offset())
			if start >= 0 && start <= end && end <= len(r.src) {
				text += r.src[start:end] + "\n"
			}
		}
	}
	r.forgets++
	sets := r.forgets > maxForgets || strings.Contains(text, "read") || strings.Contains(text, "for") || strings.Contains(text, "<<")
	var names []string
	for v := r.vars; v != nil; v = v.next {
		if r.forgets > maxForgets || setIn(text, v.name, sets) {
			names = append(names, v.name)
		}
	}
	r.forget(names)
}

// setIn says whether a text may set a variable: its name stands there before a =, or with bare
// anywhere but behind a $.
func setIn(text, name string, bare bool) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		from = i + 1
		end := i + len(name)
		if i > 0 && nameByte(text[i-1]) || end < len(text) && nameByte(text[end]) {
			continue
		}
		if end < len(text) && strings.IndexByte("=+[", text[end]) >= 0 {
			return true
		}
		if bare && !(i > 0 && (text[i-1] == '$' || text[i-1] == '{')) {
			return true
		}
	}
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// scriptVariable says whether a script may set a variable for itself: one that no shell, and as
// far as is known no program, reads.
func scriptVariable(name string) bool {
	if loopVariable(name) {
		return true
	}
	switch name {
	case "FILE", "FILES", "DIR", "DIRS", "BASE", "SRC", "REPO", "ROOT", "PKG", "LOG":
		return true
	}
	return len(name) > 0 && len(name) < 3 && name[0] >= 'A' && name[0] <= 'Z' && (len(name) == 1 || name[1] >= '0' && name[1] <= '9')
}

// expands appends what a variable holds where that is known well enough, and says whether it did.
func (r *reader) expands(pe *syntax.ParamExp, at execContext, quoted bool, b *wordText) bool {
	if pe.Param == nil || pe.Index != nil {
		return false
	}
	name := pe.Param.Value
	plain := pe.Exp == nil && pe.Slice == nil && pe.Repl == nil && !pe.Length && !pe.Excl && pe.Names == 0 && !pe.Width && !pe.IsSet &&
		pe.Flags == nil && pe.NestedParam == nil && len(pe.Modifiers) == 0
	raw := r.raw(pe)
	if end := int(pe.End().Offset()); pe.Short && (r.zsh || r.opts.Zsh) && end+1 < len(r.src) && r.src[end] == ':' && nameByte(r.src[end+1]) {
		return false // in zsh $f:h is a part of it
	}
	if w := r.lookup(name); pe.Length && w != nil && w.Unknown&Other == 0 {
		b.vary(false, Number)
		b.text = append(b.text, raw...)
		return true
	}
	w := r.lookup(name)
	switch {
	case w != nil:
	case name == "HOME" && r.opts.Home != "" && !r.inner && plain:
		w = &Word{Text: r.opts.Home, Prefix: r.opts.Home, Static: true}
	case name == "PWD" && at.dir.certain() && at.dir.dir != "" && plain:
		w = &Word{Text: at.dir.dir, Prefix: at.dir.dir, Static: true}
	case tells(name):
		w = &Word{Unknown: Output, MaybeFlag: true, Glob: true}
	default:
		return false
	}
	if !plain {
		if strings.Count(raw, "$")+strings.Count(raw, "`") > 1 || w.Unknown&Other != 0 {
			return false
		}
		w = &Word{Unknown: Output, MaybeFlag: true, Glob: true} // some part of it
	}
	switch {
	case w.Static && (quoted || oneWord(w.Text)):
		b.text, b.expands = append(b.text, w.Text...), true
	case w.Static: // split at its blanks
		b.split(Other)
		b.text = append(b.text, raw...)
	case w.Unknown == FileNames && quoted:
		b.text = append(b.text, w.Prefix...)
		b.vary(w.MaybeFlag, FileNames)
		b.many = true
		b.text = append(b.text, w.Text[len(w.Prefix):]...)
	case w.Unknown&Other != 0 || w.Unknown == 0:
		return false
	case quoted:
		b.vary(true, w.Unknown)
		b.text = append(b.text, raw...)
	case w.Unknown&FileNames != 0:
		return false
	default:
		b.split(w.Unknown)
		b.text = append(b.text, raw...)
	}
	return true
}

// oneWord says whether a value without quotes around it stays one word, as it is.
func oneWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(nameByte(c) || strings.IndexByte("/.-_,:@%+=", c) >= 0 || c >= 0x80) {
			return false
		}
	}
	return s != ""
}

// tells says whether a variable of the environment tells who and where one is, and holds no secret.
func tells(name string) bool {
	for have := range strings.FieldsSeq(tellsOfUser) {
		if have == name {
			return true
		}
	}
	return false
}
