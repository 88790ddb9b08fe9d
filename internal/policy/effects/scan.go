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

// scan tells flags from arguments. What follows a flag that nobody knows counts as an argument.
func scan(words []shell.Word, known []*row) scanned {
	styleWords := slices.ContainsFunc(known, func(r *row) bool { return r.styleWords })
	s := scanned{words: words, unknown: -1, computed: -1}
	note := func(at int) {
		if s.unknown < 0 {
			s.unknown = at
		}
	}
	s.operands = make([]int, 0, len(words))
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
		if len(t) < 2 || t[0] != '-' {
			s.operands = append(s.operands, i)
			continue
		}
		use := func(f flag, attached string, has bool) {
			u := usedFlag{name: f.name, at: i}
			switch {
			case has:
				u.value, u.word = attached, w
				u.word.Text = attached
				u.word.Prefix = attached
			case f.value && i+1 < len(words):
				i++
				u.value, u.word = words[i].Text, words[i]
			}
			s.flags = append(s.flags, u)
		}
		name, value, has := strings.Cut(w.Text, "=")
		if f, ok := find(known, name); ok {
			use(f, value, has)
			continue
		}
		if strings.HasPrefix(t, "--") || styleWords {
			if f, ok := shortened(known, name); ok {
				use(f, value, has)
			} else if f, ok := patterned(known, w.Text); ok {
				use(f, "", true)
			} else {
				note(i)
			}
			continue
		}
		if f, ok := patterned(known, w.Text); ok {
			use(f, "", true)
			continue
		}
		if strings.Trim(w.Text[1:], "0123456789") == "" { // head -20
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
				use(f, strings.TrimPrefix(w.Text[k+1:], "="), k+1 < len(w.Text))
				break
			}
			s.flags = append(s.flags, usedFlag{name: f.name, at: at})
		}
	}
	return s
}

func find(known []*row, name string) (flag, bool) {
	for _, r := range known {
		if f, ok := r.flags.exact[name]; ok {
			return f, true
		}
	}
	return flag{}, false
}

func letter(known []*row, c byte) (flag, bool) {
	for _, r := range known {
		if c < 128 && r.flags.letters[c] != nil {
			return *r.flags.letters[c], true
		}
	}
	return flag{}, false
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
func (t table) find(base string, words []shell.Word) (rows []*row, skip int, s scanned) {
	all := t.rows(base)
	if all == nil {
		return nil, 0, scanned{}
	}
	general := 0 // the rows without words stand in front
	for general < len(all) && len(all[general].subs) == 0 {
		general++
	}
	first := scan(words, all[:general])
	if general == len(all) {
		return all, 0, first
	}
	rows = make([]*row, 0, 4)
	for _, r := range all {
		if len(r.subs) < skip || !first.begins(r.subs) {
			continue
		}
		if len(r.subs) > skip {
			rows, skip = rows[:0], len(r.subs)
		}
		rows = append(rows, r)
	}
	if skip == 0 {
		return rows, 0, first
	}
	s = scan(words, rows)
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
