package effects

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// scanned are the words of a command, told apart by the flags that a row knows.
type scanned struct {
	words    []shell.Word // behind the program
	operands []int        // indices in words, without flags and their values
	flags    []usedFlag
	unknown  int // index of the first flag that is not known, else -1
	computed int // index of the first word that may become a flag, else -1
}

type usedFlag struct {
	name  string // as the table has it
	at    int    // index in words
	value string
	word  shell.Word // of the value; its text is value
}

// scanMemory is where the scans of one request have their lists, one behind the other.
type scanMemory struct {
	ints  []int
	flags []usedFlag
}

// room returns empty lists for the scan of so many words.
func (m *scanMemory) room(n int) ([]int, []usedFlag) {
	if cap(m.ints)-len(m.ints) < n {
		m.ints = make([]int, 0, max(n, 64))
	}
	if cap(m.flags)-len(m.flags) < min(n, 8) {
		m.flags = make([]usedFlag, 0, 32)
	}
	return m.ints[len(m.ints):], m.flags[len(m.flags):]
}

// used keeps what a scan put into its lists. One that outgrew its room has lists of its own.
func (m *scanMemory) used(s *scanned) {
	if n := len(m.ints) + len(s.operands); n <= cap(m.ints) {
		m.ints = m.ints[:n]
	}
	if n := len(m.flags) + len(s.flags); n <= cap(m.flags) {
		m.flags = m.flags[:n]
	}
	s.operands, s.flags = slices.Clip(s.operands), slices.Clip(s.flags)
}

// forget empties the memory for another request.
func (m *scanMemory) forget() {
	clear(m.flags[:cap(m.flags)])
	m.ints, m.flags = m.ints[:0], m.flags[:0]
}

// scan tells flags from arguments. What follows a flag that nobody knows counts as an argument.
func (m *scanMemory) scan(words []shell.Word, known []*row) scanned {
	styleWords := slices.ContainsFunc(known, func(r *row) bool { return r.styleWords })
	script := slices.ContainsFunc(known, func(r *row) bool { return r.script })
	s := scanned{words: words, unknown: -1, computed: -1}
	note := func(at int) {
		if s.unknown < 0 {
			s.unknown = at
		}
	}
	s.operands, s.flags = m.room(len(words))
	defer m.used(&s)
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.Prefix
		if !w.Static && w.MaybeFlag && s.computed < 0 {
			s.computed = i
		}
		if t == "--" && w.Static {
			s.flags = append(s.flags, usedFlag{name: "--", at: i})
			for k := i + 1; k < len(words); k++ {
				s.operands = append(s.operands, k)
			}
			break
		}
		if len(t) < 2 || t[0] != '-' || script && len(s.operands) > 0 { // behind a script stands what it is given
			s.operands = append(s.operands, i)
			continue
		}
		name, value, has := strings.Cut(w.Text, "=")
		if f, ok := find(known, name); ok {
			i = s.use(f, i, value, has)
			continue
		}
		if strings.HasPrefix(t, "--") || styleWords {
			if f, ok := shortened(known, name); ok {
				i = s.use(f, i, value, has)
			} else if f, ok := patterned(known, w.Text); ok {
				i = s.use(f, i, "", true)
			} else {
				note(i)
			}
			continue
		}
		if f, ok := patterned(known, w.Text); ok {
			i = s.use(f, i, "", true)
			continue
		}
		if number(w.Text[1:]) { // head -20
			continue
		}
		at := i
		for k := 1; k < len(w.Text); k++ {
			f, ok := letter(known, w.Text[k])
			if !ok {
				note(at)
				if at == i { // the rest may be its value
					continue
				}
				break
			}
			if f.value {
				i = s.use(f, i, strings.TrimPrefix(w.Text[k+1:], "="), k+1 < len(w.Text))
				break
			}
			s.flags = append(s.flags, usedFlag{name: f.name, at: at})
		}
	}
	return s
}

// use notes the flag in the word at an index, with the value that it has there, or else the next word for
// its value if it takes one. It returns the index of the last word that is used up.
func (s *scanned) use(f flag, at int, attached string, has bool) int {
	u := usedFlag{name: f.name, at: at}
	switch {
	case has:
		u.value, u.word = attached, s.words[at]
		u.word.Text, u.word.Prefix = attached, attached
	case f.value && at+1 < len(s.words) && (f.like != "#" || number(s.words[at+1].Text)):
		at++
		u.value, u.word = s.words[at].Text, s.words[at]
	}
	s.flags = append(s.flags, u)
	return at
}

func number(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && s[i] != '.' {
			return false
		}
	}
	return s != ""
}

// find returns a flag by its name; where one row says that it takes a value, it does.
func find(known []*row, name string) (found flag, ok bool) {
	for _, r := range known {
		if f, is := r.flags.exact[name]; is && (!ok || f.value && !found.value) {
			found, ok = f, true
		}
	}
	return found, ok
}

// letter is find for -x.
func letter(known []*row, c byte) (found flag, ok bool) {
	for _, r := range known {
		if c < 128 && r.flags.letters[c] != nil && (!ok || !found.value) {
			found, ok = *r.flags.letters[c], true
		}
	}
	return found, ok
}

// shortened finds a long flag of which the beginning is written, as most programs take it.
func shortened(known []*row, name string) (flag, bool) {
	if len(name) < 4 || !strings.HasPrefix(name, "--") {
		return flag{}, false
	}
	for _, r := range known {
		for _, f := range r.flags.long {
			if strings.HasPrefix(f.name, name) {
				return f, true
			}
		}
	}
	return flag{}, false
}

func patterned(known []*row, text string) (flag, bool) {
	for _, r := range known {
		for _, f := range r.flags.patterns {
			if like(f.name, text) {
				return f, true
			}
		}
	}
	return flag{}, false
}

// has says whether one of the flags or words stands in the command.
func (s *scanned) has(list []flag) bool {
	return slices.ContainsFunc(list, func(f flag) bool { _, ok := s.spot(f); return ok })
}

// spot returns the index of the word with a flag, or of an argument that is like a word.
func (s *scanned) spot(f flag) (int, bool) {
	if !f.isWord() || f.name == "--" {
		for _, u := range s.flags {
			if u.name == f.name && (f.like == "" || like(f.like, u.value)) && !asks(u) {
				return u.at, true
			}
		}
		return 0, false
	}
	for _, i := range s.operands {
		if w := s.words[i]; f.name == w.Text || strings.Contains(f.name, "*") && like(f.name, w.Text) {
			return i, true
		}
	}
	return 0, false
}

// asks says whether a flag names a method of HTTP that changes nothing: curl -X GET.
func asks(u usedFlag) bool {
	switch u.name {
	case "-X", "--request", "--method":
		return u.value == "GET" || u.value == "HEAD" || u.value == "get"
	}
	return false
}

// find returns the rows that are about a command, those with the most words; more than one where
// several say something. skip is how many arguments are such words.
func (t table) find(m *scanMemory, base string, words []shell.Word) (rows []*row, skip int, s scanned) {
	x := t.rows(base)
	if x == nil { // no flag of it is known, so none can be told from an argument
		computed := slices.IndexFunc(words, func(w shell.Word) bool { return !w.Static && w.MaybeFlag })
		return nil, 0, scanned{unknown: -1, computed: computed}
	}
	first := m.scan(words, x.all[:x.general])
	if x.general == len(x.all) {
		return x.all, 0, first
	}
	rows = x.all[:x.general:x.general]
	if len(first.operands) > 0 && first.words[first.operands[0]].Static {
		for _, r := range x.by(first.words[first.operands[0]].Text) {
			if len(r.subs) < skip || !first.begins(r.subs) {
				continue
			}
			if len(r.subs) > skip {
				rows, skip = rows[:0:0], len(r.subs)
			}
			rows = append(rows, r)
		}
	}
	if skip == 0 {
		return rows, 0, first
	}
	s = m.scan(words, rows)
	s.operands = s.operands[min(skip, len(s.operands)):]
	return rows, skip, s
}

// begins says whether the arguments begin with these words.
func (s *scanned) begins(subs [][]string) bool {
	if len(s.operands) < len(subs) {
		return false
	}
	for k, alternatives := range subs {
		w := s.words[s.operands[k]]
		if !w.Static || !slices.ContainsFunc(alternatives, func(a string) bool { return like(a, w.Text) }) {
			return false
		}
	}
	return true
}
