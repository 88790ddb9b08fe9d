package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed sidedoors.txt
var sideDoorsText string

// doorRow is one entry of sidedoors.txt, which says what its lines mean.
type doorRow struct {
	subs     [][]string // words that must stand in the command, in this order
	doors    []string
	begin    [4]uint64 // with which characters the doors begin behind their dashes
	ok       []string
	takes    []string
	value    string // letters
	null     []string
	words    []glob
	only     *flagSet
	pure     bool // the words alone open the door
	clusters bool
	oneDash  bool
	joined   bool
	starts   bool // the program starts what its words say
}

// sideTable are the rows by program.
var sideTable = sync.OnceValue(func() map[string]*programDoors {
	rows, err := readSideDoors(sideDoorsText)
	if err != nil {
		return nil // nothing open is allowed then; a test reads it
	}
	table := make(map[string]*programDoors, len(rows))
	for program, mine := range rows {
		doors := &programDoors{rows: mine, starts: slices.ContainsFunc(mine, func(r *doorRow) bool { return r.starts }), first: map[string]uint64{}}
		for i, r := range mine {
			if len(r.subs) == 0 {
				doors.always |= 1 << i
				continue
			}
			for _, word := range r.subs[0] {
				doors.first[word] |= 1 << i
			}
		}
		table[program] = doors
	}
	return table
})

// programDoors are the rows of one program, with what those that apply together say to be harmless: there
// are few such groups, and nearly every command of the program has one of them.
type programDoors struct {
	rows   []*doorRow
	starts bool // one of its words may name another program, which it starts
	// The bits of rows for any command, and of those for a command whose first word this is; of at most 64 rows.
	always uint64
	first  map[string]uint64

	mu     sync.RWMutex
	groups map[uint64]*harmless // by the bits of the rows that apply; at most maxGroups
}

const maxGroups = 1000

// applying returns the bits of the rows that apply to the words, and what these say to be harmless.
func (p *programDoors) applying(words []shell.Word) (group uint64, h *harmless) {
	if len(p.rows) > 64 {
		h = &harmless{}
		for _, r := range p.rows {
			if _, ok := r.applies(words); ok {
				h.add(r)
			}
		}
		return ^uint64(0), h
	}
	may := ^uint64(0)
	if len(words) > 0 && words[0].Static && !strings.HasPrefix(words[0].Prefix, "-") && !strings.HasPrefix(words[0].Prefix, "+") {
		may = p.always | p.first[words[0].Text] // it is the subcommand
	}
	for i, r := range p.rows {
		if may&(1<<i) == 0 {
			continue
		}
		if _, ok := r.applies(words); ok {
			group |= 1 << i
		}
	}
	p.mu.RLock()
	h = p.groups[group]
	p.mu.RUnlock()
	if h != nil {
		return group, h
	}
	h = &harmless{}
	for i, r := range p.rows {
		if group&(1<<i) != 0 {
			h.add(r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.groups == nil {
		p.groups = map[uint64]*harmless{}
	}
	if len(p.groups) < maxGroups {
		p.groups[group] = h
	}
	return group, h
}

func readSideDoors(text string) (map[string][]*doorRow, error) {
	table := map[string][]*doorRow{}
	var row *doorRow
	var programs []string
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if line[0] != '\t' {
			row = &doorRow{pure: true, clusters: true}
			programs = strings.Split(fields[0], ",")
			for _, alternatives := range fields[1:] {
				row.subs = append(row.subs, strings.Split(alternatives, ","))
			}
			for _, p := range programs {
				table[p] = append(table[p], row)
				row.clusters = row.clusters && !writesOneDash(p)
			}
			continue
		}
		if row == nil {
			return nil, fmt.Errorf("side doors, line %d: no program stands above it", n+1)
		}
		row.pure = false
		switch rest := fields[1:]; fields[0] {
		case "door":
			row.doors = append(row.doors, rest...)
			for _, door := range rest {
				c := strings.TrimLeft(door, "-")[0]
				row.begin[c>>6] |= 1 << (c & 63)
			}
		case "ok":
			row.ok = append(row.ok, rest...)
		case "takes":
			row.takes = append(row.takes, rest...)
		case "null":
			row.null = append(row.null, rest...)
		case "value":
			for _, flag := range rest {
				row.value += flag[1:]
			}
		case "word":
			for _, w := range rest {
				row.words = append(row.words, textGlob(w))
			}
		case "only":
			set, err := newFlagSet(rest, programs)
			if err != nil {
				return nil, fmt.Errorf("side doors, line %d: %w", n+1, err)
			}
			row.only = set
		case "starts":
			if len(rest) > 0 || len(row.subs) > 0 {
				return nil, fmt.Errorf("side doors, line %d: starts is said of a program as a whole", n+1)
			}
			row.starts = true
		case "style":
			switch rest[0] {
			case "clusters":
				row.clusters = true
			case "words":
				row.clusters, row.oneDash = false, true
			case "joined":
				row.clusters, row.oneDash, row.joined = false, true, true
			default:
				return nil, fmt.Errorf("side doors, line %d: no such style", n+1)
			}
		default:
			return nil, fmt.Errorf("side doors, line %d: %q is not known", n+1, fields[0])
		}
	}
	for _, rows := range table {
		for _, r := range rows {
			if r.only != nil && r.clusters {
				r.only.clusters = true
			}
			if r.pure && len(r.subs) == 0 {
				return nil, fmt.Errorf("side doors: a program has an empty row")
			}
		}
	}
	return table, nil
}

// applies returns whether the words of the row stand in the command, and the index of the last of
// them, -1 without any. The first is the subcommand: the first word, if that is no flag. A word
// that is known only when it runs may be any.
func (r *doorRow) applies(words []shell.Word) (last int, ok bool) {
	at := 0
	last = -1
	for i, alternatives := range r.subs {
		found := false
		for ; at < len(words) && !found; at++ {
			w := words[at]
			if found = w.Static && slices.Contains(alternatives, w.Text) || !w.Static && !strings.Contains(w.Prefix, "/"); found {
				last = at
			}
			if i == 0 && !found && !strings.HasPrefix(w.Prefix, "-") && !strings.HasPrefix(w.Prefix, "+") && (at == 0 || !strings.HasPrefix(words[at-1].Prefix, "-")) {
				return -1, false // another subcommand
			}
		}
		if !found {
			return -1, false
		}
	}
	return last, true
}

// harmless is what the rows that apply to a command together say to be harmless.
type harmless struct {
	ok      []string
	letters string // short flags of ok
	value   string // short flags with a value
	takes   []string
}

func (h *harmless) add(r *doorRow) {
	h.ok = append(h.ok, r.ok...)
	h.value += r.value
	h.takes, h.ok = append(h.takes, r.takes...), append(h.ok, r.takes...)
	for _, flag := range r.ok {
		if len(flag) == 2 {
			h.letters += flag[1:]
		}
	}
}

// opens says whether a word opens one of the row's doors.
func (r *doorRow) opens(w shell.Word, h *harmless) bool {
	t := w.Prefix
	if len(r.words) > 0 {
		if w.Static && matchAny(r.words, w.Text) {
			return true
		}
		if !w.Static && !strings.Contains(t, "/") && (t == "" || slices.ContainsFunc(r.words, func(g glob) bool {
			met, _ := meeting(append(literals(t), token{kind: anything}), globTokens(g))
			return met
		})) {
			return true
		}
	}
	if len(t) < 2 || t[0] != '-' || !r.mayOpen(t) {
		return false
	}
	name, _, _ := strings.Cut(t, "=")
	if slices.Contains(h.ok, name) {
		return false
	}
	return slices.ContainsFunc(r.doors, func(door string) bool { return r.isDoor(t, name, door, h) })
}

// mayOpen says whether a door begins with a character behind the dashes of a flag, or, as short flags stand together,
// with any of its. A flag for which it says no is no door.
func (r *doorRow) mayOpen(flag string) bool {
	if strings.HasPrefix(flag, "--") {
		return len(flag) == 2 || r.begins(flag[2])
	}
	for i := 1; i < len(flag) && flag[i] != '='; i++ {
		if r.begins(flag[i]) {
			return true
		}
	}
	return false
}

func (r *doorRow) begins(c byte) bool { return r.begin[c>>6]&(1<<(c&63)) != 0 }

// isDoor says whether a word is the flag: in full, shortened, with its value, or in a cluster.
func (r *doorRow) isDoor(word, name, door string, h *harmless) bool {
	flag := strings.TrimSuffix(door, "=")
	switch {
	case name == flag:
		return true
	case strings.HasPrefix(flag, "--"):
		return len(name) > 2 && strings.HasPrefix(flag, name) || r.oneDash && flag[1:] == name
	case len(flag) > 2:
		return strings.HasPrefix(word, "--") && name[1:] == flag // Go takes --exec for -exec
	case strings.HasPrefix(word, "--"):
		return name[1:] == flag // Go takes --o for -o
	case r.joined:
		return flag != door && strings.HasPrefix(word, flag)
	case !r.clusters || digits(word[1:]):
		return false
	}
	for i := 1; i < len(word) && word[i] != '='; i++ {
		if word[i] == flag[1] && strings.IndexByte(h.letters, word[i]) < 0 {
			return true
		}
		if strings.IndexByte(h.value, word[i]) >= 0 {
			return false // the rest is its value
		}
	}
	return false
}

// withoutNull takes out flags whose value is /dev/null or -: they name no file.
func (r *doorRow) withoutNull(words []shell.Word) []shell.Word {
	if len(r.null) == 0 {
		return words
	}
	nothing := func(s string) bool { return s == "-" || s == "/dev/null" }
	if !slices.ContainsFunc(words, func(w shell.Word) bool {
		return w.Static && len(w.Text) > 1 && w.Text[0] == '-' && nothingAttached(w.Text) || nothing(w.Text)
	}) {
		return words
	}
	kept := make([]shell.Word, 0, len(words))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Static && len(w.Text) > 1 && w.Text[0] == '-' {
			if name, value, is := strings.Cut(w.Text, "="); is && slices.Contains(r.null, name) && nothing(value) {
				continue
			}
			next := i+1 < len(words) && words[i+1].Static && nothing(words[i+1].Text)
			if next && slices.Contains(r.null, w.Text) {
				i++
				continue
			}
			if head, found := r.nullCluster(w.Text, next); found {
				if next && !nothingAttached(w.Text) {
					i++
				}
				if len(head) > 1 {
					w.Text, w.Prefix = head, head
					kept = append(kept, w)
				}
				continue
			}
		}
		kept = append(kept, w)
	}
	return kept
}

func nothingAttached(s string) bool {
	return len(s) > 2 && strings.HasSuffix(s, "-") || strings.HasSuffix(s, "/dev/null")
}

// nullCluster takes a short flag of null off the end of a cluster such as -sSo, or -qO-.
func (r *doorRow) nullCluster(word string, next bool) (head string, found bool) {
	if !r.clusters || strings.HasPrefix(word, "--") {
		return "", false
	}
	if nothingAttached(word) {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "/dev/null"), "-")
	} else if !next {
		return "", false
	}
	for _, flag := range r.null {
		if len(flag) == 2 && len(word) > 1 && word[len(word)-1] == flag[1] {
			head = word[:len(word)-1]
			for i := 1; i < len(head); i++ {
				if strings.IndexByte(r.value, head[i]) >= 0 || r.only != nil && r.only.short[head[i]&127] != noValue {
					return "", false
				}
			}
			return head, true
		}
	}
	return "", false
}
