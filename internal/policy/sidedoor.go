package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A rule that leaves the arguments of a program open, as Bash(git log *) does, does not mean its
// side doors: the flags and words with which it writes a file, runs another program, reads what
// nobody named, or works in another place than the command seems to. The rule must name them
// itself. They are known for the programs in sidedoors.txt and in the files beside this one; what
// cannot be read for certain in a command of theirs may be one, too. The list is no promise that
// every other flag is harmless; a closed list of flags is.

// sideDoor returns the first word of the command that its rule does not mean, and why.
func (m *commandMatch) sideDoor(u *shell.Unit) (word, why string) {
	if m.flags != nil && m.flags.only != nil {
		return "", ""
	}
	words := u.Argv[1:]
	mine := m.named(words)
	if w := m.overridden(words, mine); w != "" {
		return w, "may undo a flag that the rule names"
	}
	if w := m.elsewhere(u.Base, words, mine); w != "" {
		return w, "is not what the rule names"
	}
	base := doorName(u.Base)
	return programOf(base).opened(base, words, mine)
}

// doorName is the name under which the doors of a program are known: gcc-12 and x86_64-linux-gnu-gcc have those of
// gcc, vim.tiny those of vim.
func doorName(base string) string {
	known := func(name string) bool { return programOf(name).doors != nil || hasSideWords(name) }
	if known(base) {
		return base
	}
	name := programStem(base)
	if stem, _, is := strings.Cut(name, "."); is {
		name = stem
	}
	if parts := strings.Split(name, "-"); len(parts) > 2 && !known(name) { // the machine that it compiles for
		name = parts[len(parts)-1]
	}
	if known(name) {
		return name
	}
	return base
}

const sideWhy = "writes a file, runs a program or works elsewhere: a rule must name it"

// named says for each word whether the rule itself names it.
func (m *commandMatch) named(words []shell.Word) []bool {
	mine := make([]bool, len(words))
	if m.flags != nil { // flags and arguments were told apart: there are no positions
		for i, w := range words {
			mine[i] = w.Static && slices.ContainsFunc(m.args, func(gs []glob) bool {
				return slices.ContainsFunc(gs, func(g glob) bool { return g.exact && g.src == w.Text })
			})
		}
		return mine
	}
	for i := range min(len(m.args), len(words)) {
		w := words[i]
		for _, g := range m.args[i] {
			switch {
			case !w.Static:
			case g.exact && g.src == w.Text:
				mine[i] = true
			case !g.exact && g.re == nil:
				// --output=* names the flag; a * alone names nothing.
				head, _, _ := strings.Cut(g.src, "*")
				flag, _, is := strings.Cut(head, "=")
				mine[i] = mine[i] || is && strings.HasPrefix(w.Text, flag+"=") && g.match(w.Text)
			}
		}
	}
	return mine
}

// shown is how a word is told of: one that has no text, as $"", is not to look like no word.
func shown(w shell.Word) string {
	if w.Text == "" {
		return "…"
	}
	return w.Text
}

// opened finds the side door of a program, or of one that it runs with the words that follow.
func (p *program) opened(program string, words []shell.Word, mine []bool) (word, why string) {
	if sideTable() == nil {
		return program, "cannot be looked up in the table of side doors"
	}
	if w := sideWord(program, words, mine); w != "" {
		return w, sideWhy
	}
	if doors := p.doors; doors != nil {
		group, h := doors.applying(words)
		w, values := uncertain(program, words, mine, h)
		if w != "" {
			return w, "may become a flag or a word that a rule must name"
		}
		mine = values
		for i, r := range doors.rows {
			if group&(1<<min(i, 63)) == 0 {
				continue
			}
			last, ok := r.applies(words)
			switch {
			case !ok:
			case r.pure:
				if !mine[last] {
					return shown(words[last]), sideWhy
				}
			default:
				if w := r.find(words, mine, h); w != "" {
					return w, sideWhy
				}
			}
		}
	}
	if p.runsOperand {
		for i, w := range words {
			if !w.Static || strings.HasPrefix(w.Text, "-") {
				continue
			}
			name, _, _ := strings.Cut(w.Text[strings.LastIndexByte(w.Text, '/')+1:], "@")
			if inner := programOf(name); name != program && (inner.doors != nil || hasSideWords(name)) {
				return inner.opened(name, words[i+1:], mine[i+1:])
			}
		}
	}
	return "", ""
}

// find returns the first word that opens a door of the row.
func (r *doorRow) find(words []shell.Word, mine []bool, h *harmless) string {
	if r.only != nil {
		return r.unlisted(words, mine, h)
	}
	for i, w := range words {
		if w.Static && w.Text == "--" && !r.oneDash {
			// What follows are operands, which may still be doors.
			for k := i + 1; k < len(words); k++ {
				if !mine[k] && (words[k].Prefix == "" || words[k].Prefix[0] != '-') && r.opens(words[k], h) {
					return shown(words[k])
				}
			}
			return ""
		}
		if mine[i] || !r.opens(w, h) {
			continue
		}
		if null := r.withoutNull(words); len(null) < len(words) && !slices.ContainsFunc(null, func(n shell.Word) bool { return n.Start == w.Start && n.Text == w.Text }) {
			continue
		}
		return shown(w)
	}
	return ""
}

// unlisted is find for a row with a closed list.
func (r *doorRow) unlisted(words []shell.Word, mine []bool, h *harmless) string {
	var rest []shell.Word
	for i, w := range words {
		if !mine[i] {
			rest = append(rest, w)
		}
	}
	rest = r.withoutNull(rest)
	if _, fault := r.only.scan(rest, false, nil); fault != nil {
		return shown(fault.word)
	}
	for _, w := range rest {
		if r.opens(w, h) {
			return shown(w)
		}
	}
	return ""
}

// uncertain finds a word that is known only when the command runs and may become a flag. Without one
// it returns mine, with the words that are certainly the value of a flag.
func uncertain(program string, words []shell.Word, mine []bool, h *harmless) (word string, values []bool) {
	ended := false
	value, unclear := false, false // of the flag in front: this word is its value, or may be
	for i, w := range words {
		if value && !w.Glob {
			value = false
			if !w.Static {
				if values == nil {
					values = slices.Clone(mine)
				}
				values[i] = true
			}
			continue
		}
		if w.Static {
			ended = ended || w.Text == "--" && !writesOneDash(program)
			dash := len(w.Text) > 1 && w.Text[0] == '-'
			value = !unclear && !ended && slices.Contains(h.takes, w.Text)
			unclear = dash && !value && !slices.Contains(plainFlags, w.Text) && !strings.Contains(w.Text, "=")
			continue
		}
		value, unclear = false, false
		if mine[i] || !w.MaybeFlag || ended {
			continue
		}
		if name, _, is := strings.Cut(w.Prefix, "="); is && strings.HasPrefix(name, "-") && !(w.Glob && strings.ContainsAny(w.Text, "$`")) {
			continue // certainly this flag
		}
		return shown(w), nil
	}
	if values == nil {
		values = mine
	}
	return "", values
}

// plainFlags never take the next word for their value, in the programs that have takes.
var plainFlags = []string{"-a", "-q", "-s", "-v", "--all", "--amend", "--allow-empty", "--no-edit", "--quiet", "--signoff", "--verbose", "--no-verify", "--draft", "--fill", "push"}

// overridden finds a word that undoes a flag of the rule: tsc --noEmit false, terraform fmt
// -check -check=false, --dry-run … --no-dry-run. Programs take the last one.
func (m *commandMatch) overridden(words []shell.Word, mine []bool) string {
	for i, flag := range words {
		if !mine[i] || len(flag.Text) < 2 || flag.Text[0] != '-' {
			continue
		}
		name, _, valued := strings.Cut(strings.TrimLeft(flag.Text, "-"), "=")
		name = strings.ToLower(name)
		for k := i + 1; k < len(words); k++ {
			w := words[k]
			if mine[k] {
				continue
			}
			if k == i+1 && falsy(w.Text) {
				return shown(w)
			}
			if len(w.Prefix) < 2 || w.Prefix[0] != '-' {
				continue
			}
			other, _, has := strings.Cut(strings.TrimLeft(w.Prefix, "-"), "=")
			other = strings.ToLower(other)
			again := other == name && (has || k+1 < len(words) && (valued || falsy(words[k+1].Text)))
			if again || negates(name, other) || negates(other, name) {
				return shown(w)
			}
		}
	}
	return ""
}

func falsy(s string) bool {
	return slices.Contains([]string{"false", "off", "no", "n", "none", "null", "0", "f"}, strings.ToLower(s))
}

// negates says whether a flag's name, perhaps shortened, is the opposite of another.
func negates(name, other string) bool {
	if other == "no-"+name || len(name) > 2 && other == "no"+name {
		return true
	}
	return len(name) > 1 && len(other) > 3 && strings.HasPrefix("no-"+name, other) && strings.HasPrefix(other, "no-")
}

// elsewhere finds an operand that a rule such as Bash(tee docs/*) or Bash(curl https://host/*)
// does not mean: the place it names is for all of them.
func (m *commandMatch) elsewhere(program string, words []shell.Word, mine []bool) string {
	if len(m.args) == 0 || m.flags != nil || !m.rest {
		return ""
	}
	last := m.args[len(m.args)-1]
	if !slices.ContainsFunc(last, func(g glob) bool { return !g.exact && g.re == nil && strings.Contains(g.src, "/") }) {
		return ""
	}
	known := programOf(program)
	if !known.everyOperand {
		return ""
	}
	values := map[string]bool{}
	var rows []*doorRow
	if doors := known.doors; doors != nil {
		rows = doors.rows
	}
	for _, r := range rows {
		if r.only != nil {
			for name, mode := range r.only.long {
				values[name] = mode == hasValue
			}
			for c, mode := range r.only.short {
				values["-"+string(rune(c))] = mode == hasValue
			}
		}
	}
	for i := len(m.args); i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w.Prefix, "-") && len(w.Prefix) > 1 || i > 0 && values[words[i-1].Text] || mine[i] {
			continue
		}
		if program == "head" || program == "tail" {
			if prev := words[i-1].Text; prev == "-n" || prev == "-c" || prev == "--lines" || prev == "--bytes" {
				continue
			}
		}
		text := w.Text
		if !w.Static {
			if !w.Glob || strings.ContainsAny(text, "$`{}()\\'\"~") || strings.Contains(text, "..") {
				return shown(w)
			}
			text = w.Prefix + "x" // a name in the same place
		}
		if !matchArg(last, text) {
			return shown(w)
		}
	}
	return ""
}
