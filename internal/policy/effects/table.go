package effects

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assent/internal/hook"
)

//go:embed table.txt
var tableText string

// row is one entry of table.txt, which says what its lines mean.
type row struct {
	n          int // line in the file
	programs   []string
	subs       [][]string // words that follow the program, each with its alternatives
	lines      []line
	known      []flag // of all its lines
	flags      flagSet
	styleWords bool
	tasks      bool
	script     bool
	code, sql  bool
	checks     bool
	runs       bool // code of the project, by one of its lines
}

// line is one effect of a row.
type line struct {
	kind, phrase string
	tail         string // words behind the object
	obj          string // @all, =-o,--output, #1, %-c, 'text', or empty
	risk         hook.Risk
	tree         bool
	find         bool // of find -delete; no row has it
	derived      bool // what is written is made of the project's own code; of rows that run that
	on, but      []flag
}

// flag is a flag, or a word without a dash that an argument has to be like.
type flag struct {
	name  string
	value bool
	like  string // what its value is like; empty: anything
}

func (f flag) isWord() bool { return f.name[0] != '-' || f.name == "--" }

// table are the rows by program; those of a pattern stand under the empty name.
type table map[string]*rowIndex

// rowIndex are the rows of a program: all, those without words in front, and those that may be about a
// command by its first word.
type rowIndex struct {
	all     []*row
	general int               // how many have no words
	first   map[string][]*row // by the first word; of others any
	any     []*row            // whose first word is a pattern
}

func newRowIndex(rows []*row) *rowIndex {
	x := &rowIndex{all: rows, first: map[string][]*row{}}
	for x.general < len(rows) && len(rows[x.general].subs) == 0 {
		x.general++
	}
	pattern := func(w string) bool { return strings.Contains(w, "*") }
	for _, r := range rows[x.general:] {
		if slices.ContainsFunc(r.subs[0], pattern) {
			x.any = append(x.any, r)
			continue
		}
		for _, w := range r.subs[0] {
			x.first[w] = nil
		}
	}
	for w := range x.first { // in the order of the table
		for _, r := range rows[x.general:] {
			if slices.Contains(r.subs[0], w) || slices.ContainsFunc(r.subs[0], pattern) {
				x.first[w] = append(x.first[w], r)
			}
		}
	}
	return x
}

// by returns the rows with words that may be about a command with this first word.
func (x *rowIndex) by(word string) []*row {
	if rows, ok := x.first[word]; ok {
		return rows
	}
	return x.any
}

// theTable is part of the program, so that a mistake in it is a defect.
var theTable = sync.OnceValue(func() table {
	t, err := readTable(tableText)
	if err != nil {
		panic(err)
	}
	return t
})

// Kinds are the words of schemas/Effect.json.
var Kinds = []string{ // read-only
	"reads", "writes", "overwrites", "deletes", "moves", "publishes", "sends", "downloads", "runs-downloaded", "installs", "reads-secrets",
	"escalates", "permissions", "agent-settings", "assent", "kills", "database", "plants", "runs-project", "unknown", "asks", "other",
}

// objectNames are the objects that have a name.
var objectNames = []string{ // read-only
	"@all", "@first", "@rest", "@last", "@init", "@dest", "@srcs", "@in", "@dd", "@host", "@push", "@db", "@script", "#1", "#all", "#rest", "#cmd",
}

func readTable(text string) (table, error) {
	t := map[string][]*row{}
	var r *row
	n := 0
	fail := func(what string) error { return fmt.Errorf("table.txt:%d: %s", n, what) }
	for l := range strings.SplitSeq(text, "\n") {
		n++
		switch {
		case l == "" || l[0] == '#':
			continue
		case l[0] != '\t':
			fields := strings.Fields(l)
			r = &row{n: n, programs: strings.Split(fields[0], ",")}
			for _, sub := range fields[1:] {
				r.subs = append(r.subs, strings.Split(sub, ","))
			}
			for _, p := range r.programs {
				if strings.Contains(p, "*") {
					p = ""
				}
				t[p] = append(t[p], r)
			}
			continue
		case r == nil:
			return nil, fail("no program stands above it")
		}
		words, ok := quoted(l)
		if !ok {
			return nil, fail("a quotation does not end")
		}
		switch words[0] {
		case "flags", "value":
			for _, w := range words[1:] {
				f := readFlag(w)
				f.value = f.value || words[0] == "value"
				r.known = append(r.known, f)
			}
		case "style":
			r.styleWords = true
		case "tasks":
			r.tasks = true
		case "script":
			r.script = true
		case "code":
			r.code = true
		case "sql":
			r.sql = true
		default:
			e, err := readLine(words)
			if err != nil {
				return nil, fail(err.Error())
			}
			r.lines = append(r.lines, e)
			for _, list := range [][]flag{e.on, e.but} {
				for _, f := range list {
					if !f.isWord() {
						r.known = append(r.known, f)
					}
				}
			}
		}
	}
	// What is said of a program's flags without a subcommand holds with one, too.
	for name, rows := range t {
		for _, base := range rows {
			if len(base.subs) > 0 || name == "" {
				continue
			}
			for _, sub := range rows {
				if len(sub.subs) > 0 {
					for _, f := range base.known {
						if f.value && !slices.ContainsFunc(sub.known, func(k flag) bool { return k.name == f.name }) {
							sub.known = append(sub.known, f)
						}
					}
				}
			}
		}
	}
	for _, rows := range t {
		for _, r := range rows {
			derived := slices.ContainsFunc(r.lines, func(l line) bool { return l.kind == "runs-project" && len(l.on)+len(l.but) == 0 })
			for i := range r.lines {
				r.lines[i].derived = derived
				r.runs = r.runs || r.lines[i].kind == "runs-project"
				r.checks = r.checks || r.lines[i].phrase == checksOrFormats
			}
		}
		slices.SortStableFunc(rows, func(a, b *row) int { return min(len(a.subs), 1) - min(len(b.subs), 1) })
		for _, r := range rows {
			if r.flags.exact == nil {
				r.flags = newFlagSet(r.known)
			}
		}
	}
	indexed := table{}
	for name, rows := range t {
		indexed[name] = newRowIndex(rows)
	}
	return indexed, nil
}

// flagSet finds flags.
type flagSet struct {
	exact    map[string]flag
	letters  [128]*flag // -x
	patterns []flag
	long     []flag
}

func newFlagSet(all []flag) flagSet {
	s := flagSet{exact: map[string]flag{}}
	for _, f := range all {
		if old, twice := s.exact[f.name]; twice {
			if f.value == old.value || old.value {
				continue
			}
			f.value = false // --force-with-lease, which may have a value
		}
		s.exact[f.name] = f
		switch {
		case strings.Contains(f.name, "*"):
			s.patterns = append(s.patterns, f)
		case strings.HasPrefix(f.name, "--"):
			s.long = append(s.long, f)
		case len(f.name) == 2 && f.name[1] < 128:
			s.letters[f.name[1]] = &f
		}
	}
	return s
}

func readFlag(w string) flag {
	name, value, has := strings.Cut(w, "=")
	if w[0] != '-' || !has || name == "" {
		return flag{name: w}
	}
	return flag{name, true, value}
}

func readLine(words []string) (line, error) {
	e := line{kind: words[0]}
	if !slices.Contains(Kinds, e.kind) {
		return e, fmt.Errorf("%q is no kind of effect", e.kind)
	}
	list := &e.on
	flags := false
	for _, w := range words[1:] {
		switch {
		case w == "on":
			list, flags = &e.on, true
		case w == "but":
			list, flags = &e.but, true
		case flags:
			*list = append(*list, readFlag(w))
		case w[0] == '"' && e.phrase != "":
			e.tail = w[1:]
		case w[0] == '"':
			e.phrase = w[1:]
		case strings.IndexByte("@=#%'", w[0]) >= 0:
			if (w[0] == '@' || w[0] == '#') && !slices.Contains(objectNames, w) {
				return e, fmt.Errorf("%q is no object", w)
			}
			e.obj = w
		case w == "tree":
			e.tree = true
		default:
			e.risk = hook.Risk(w)
			if w != string(hook.Calm) && e.risk.Level() == 3 && e.risk != hook.Danger {
				return e, fmt.Errorf("%q is neither object nor risk", w)
			}
		}
	}
	return e, nil
}

// quoted splits a line into words; what stands in quotes is one, without the closing quote.
func quoted(l string) (words []string, ok bool) {
	l = strings.TrimSpace(l)
	for l != "" {
		if l[0] == '"' || l[0] == '\'' {
			end := strings.IndexByte(l[1:], l[0])
			if end < 0 {
				return nil, false
			}
			words = append(words, l[:1+end])
			l = strings.TrimSpace(l[end+2:])
			continue
		}
		w, rest, _ := strings.Cut(l, " ")
		words = append(words, w)
		l = strings.TrimSpace(rest)
	}
	return words, len(words) > 0
}

// rows returns the rows of a program: by its name, by its name without a version, or by a pattern.
func (t table) rows(base string) *rowIndex {
	if rows := t[base]; rows != nil && base != "" {
		return rows
	}
	if short := strings.TrimRight(base, "0123456789.-"); short != base && short != "" && t[short] != nil {
		return t[short]
	}
	var all []*row
	if patterns := t[""]; patterns != nil {
		for _, r := range patterns.all {
			if slices.ContainsFunc(r.programs, func(p string) bool { return strings.Contains(p, "*") && like(p, base) }) {
				all = append(all, r)
			}
		}
	}
	if all == nil {
		return nil
	}
	return newRowIndex(all)
}

// like says whether a text is as a pattern in which * is any text.
func like(pattern, s string) bool {
	if pattern != "" && pattern[0] != '*' && (s == "" || s[0] != pattern[0]) { // most
		return false
	}
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		middle, more, another := strings.Cut(rest, "*")
		if !another {
			return len(s) >= len(middle) && strings.HasSuffix(s, middle)
		}
		i := strings.Index(s, middle)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(middle):], more
	}
}
