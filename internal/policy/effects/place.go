package effects

import (
	_ "embed"
	"path"
	"strings"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed plants.txt
var plantsText string

// class says what a file is to those who write it.
type class uint8

const (
	ordinary  class = iota
	runsLater       // it runs when somebody builds, tests or opens the project
	runsAlone       // it runs without anybody starting it, or elsewhere
	forAgent        // it tells an agent what to do, or what it may
	forAssent       // it decides what assent allows
	ofSystem        // it belongs to the machine
)

// namePattern is a pattern for the last name of a path, with what stands before its first * and behind
// its last.
type namePattern struct {
	pattern, head, tail string
	class               class
}

func (p *namePattern) match(name string) bool {
	return strings.HasPrefix(name, p.head) && strings.HasSuffix(name, p.tail) && like(p.pattern, name)
}

// plantList is plants.txt, compiled: by the exact last name, by directory, and by pattern.
type plantList struct {
	names, dirs map[string]class // dirs: "/.github/workflows/", at any depth
	tops        map[string]class // first names of dirs, so that most paths need no search
	patterns    []namePattern
	home, root  []struct { // prefixes below the home and from the root
		prefix string
		class  class
	}
	made map[string]bool
}

var plants = sync.OnceValue(func() *plantList {
	l := &plantList{names: map[string]class{}, dirs: map[string]class{}, tops: map[string]class{}, made: map[string]bool{}}
	for title, names := range shell.Lists(plantsText) {
		c := map[string]class{"danger": runsAlone, "agent": forAgent, "assent": forAssent, "attention": runsLater}[title]
		for name := range names {
			at := struct {
				prefix string
				class  class
			}{strings.TrimPrefix(name, "~"), c}
			switch {
			case title == "made":
				l.made[name] = true
			case name[0] == '~':
				l.home = append(l.home, at)
			case name[0] == '/':
				at.class = ofSystem
				if c != runsAlone {
					at.class = c
				}
				l.root = append(l.root, at)
			case strings.HasSuffix(name, "/"):
				l.dirs["/"+name] = c
				top, _, _ := strings.Cut(name, "/")
				l.tops[top] = max(l.tops[top], c)
			case strings.Contains(name, "*"):
				head, rest, _ := strings.Cut(name, "*")
				l.patterns = append(l.patterns, namePattern{name, head, rest[strings.LastIndexByte(rest, '*')+1:], c})
			default:
				l.names[name] = max(l.names[name], c)
			}
		}
	}
	return l
})

// place is where a word of a command leads.
type place struct {
	full    string // absolute and clean; empty where that is not known
	shown   string // relative to the project where it lies there
	outside bool
	unknown bool // it is known only when the command runs
	glob    bool // it is a pattern
	whole   bool // it is the project's root, a home or the root of all, or a pattern of all there
	class   class
	made    bool // it can be made again
	none    bool // it is no file: /dev/null, a dash
	above   bool // the project lies in it
}

// surroundings are what paths are relative to.
type surroundings struct{ project, home, cwd string }

// word is where a word leads that names a file for a command in dir. known says whether dir is certain.
func (e *surroundings) word(w shell.Word, dir string, known bool) place {
	if w.Static {
		switch w.Text {
		case "-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/urandom", "/dev/random":
			return place{shown: w.Text, none: true}
		}
		return e.path(w.Text, dir, known)
	}
	text := w.Text
	if e.home != "" {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "${HOME}", e.home), "$HOME", e.home)
	}
	p := e.path(text, dir, known)
	switch {
	case strings.ContainsAny(text, "$`") || strings.HasPrefix(text, "~") || strings.Contains(text, "…"):
		p.unknown = true
		p.shown = cleanShown(w.Text)
		head := text[:strings.IndexAny(text+"$", "$`~…")]
		p.outside = head != "" && strings.Contains(head, "/") && e.path(head, dir, known).outside
		p.whole = true
	default:
		p.glob = true
		head := text[:strings.IndexAny(text+"*", "*?[{")]
		rest := text[len(head):]
		if cut := strings.LastIndexByte(head, '/'); cut >= 0 || head == "" || strings.Contains(rest, "/") {
			base := e.path(head[:cut+1]+".", dir, known)
			p.outside, p.above = base.outside, base.above
			p.whole = base.whole && strings.Trim(text[cut+1:], "*?./") == "" || strings.HasPrefix(rest, "*") && strings.Trim(rest, "*./{},") == "" && head == ""
		}
		if strings.Contains(text, "..") {
			p.outside = true
		}
		p.shown = cleanShown(w.Text)
	}
	return p
}

// path is where a path leads.
func (e *surroundings) path(text, dir string, known bool) place {
	if text == "" {
		return place{shown: "''", unknown: true}
	}
	full := text
	if text[0] != '/' {
		if text == "~" || strings.HasPrefix(text, "~/") {
			if e.home != "" {
				full = e.home + text[1:]
			}
		} else if dir == "" {
			return place{shown: cleanShown(text), unknown: true, class: plants().classify(strings.ToLower("/"+text), "")}
		} else {
			full = dir + "/" + text
		}
	}
	if len(full) > 4096 {
		return place{shown: cleanShown(text), unknown: true}
	}
	full = path.Clean(full)
	p := place{full: full, unknown: !known && text[0] != '/'}
	rel, inside := below(e.project, full)
	p.outside = !inside
	p.shown = e.short(full)
	if inside {
		p.shown = rel
		if strings.HasPrefix(rel, "~") {
			p.shown = "./" + rel // no home
		}
	}
	folded, list := strings.ToLower(full), plants()
	if inside {
		p.class = list.classify(strings.ToLower("/"+rel), "")
	} else {
		p.class = list.classify(folded, strings.ToLower(e.home))
	}
	p.whole = full == e.project || full == e.home || full == "/" || e.home != "" && full == path.Dir(e.home)
	if _, above := below(full, e.project); above && e.project != "" {
		p.whole, p.above = true, full != e.project
	}
	if p.shown == "" {
		p.shown = "."
	}
	for part := range strings.SplitSeq(strings.ToLower(rel), "/") {
		if inside && list.made[part] {
			p.made = true
			break
		}
	}
	if p.outside && (folded == "/tmp" || strings.HasPrefix(folded, "/tmp/") || strings.HasPrefix(folded, "/var/tmp/") || strings.HasPrefix(folded, "/private/tmp/")) && strings.Count(folded, "/") > 1 {
		p.made = true // nobody keeps what is there
	}
	return p
}

// short is a path with ~ for the home directory.
func (e *surroundings) short(full string) string {
	if e.home == "" || e.home == "/" {
		return full
	}
	if rest, in := below(e.home, full); in {
		return strings.TrimSuffix("~/"+rest, "/")
	}
	return full
}

// below is the part of a clean path below a directory.
func below(dir, at string) (string, bool) {
	switch {
	case dir == "":
		return "", false
	case at == dir:
		return "", true
	case dir == "/":
		return at[1:], true
	case len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir:
		return at[len(dir)+1:], true
	}
	return "", false
}

// classify is what a file is by its place: of a path in lower case that begins with a slash, from the
// project's root or from the root of all. home is the home directory where that may matter.
func (l *plantList) classify(at, home string) class {
	c := ordinary
	name := at[strings.LastIndexByte(at, '/')+1:]
	if n, ok := l.names[name]; ok {
		c = n
	}
	for i := range l.patterns {
		if p := &l.patterns[i]; p.class > c && p.match(name) {
			c = p.class
		}
	}
	for part := range strings.SplitSeq(at[1:], "/") {
		if _, known := l.tops[part]; !known {
			continue
		}
		slashed := at + "/"
		for dir, k := range l.dirs {
			if k > c && strings.Contains(slashed, dir) {
				c = k
			}
		}
		break
	}
	if home == "" {
		return c
	}
	if rest, ok := below(home, at); ok {
		rest = "/" + rest
		for _, p := range l.home {
			if p.class > c && (strings.HasPrefix(rest, p.prefix) || rest+"/" == p.prefix || strings.HasSuffix(p.prefix, "*") && strings.HasPrefix(rest, strings.TrimSuffix(p.prefix, "*"))) {
				c = p.class
			}
		}
		if c < runsAlone && strings.HasPrefix(rest, "/.") {
			c = runsAlone
		}
		return c
	}
	for _, p := range l.root {
		if p.class > c && (strings.HasPrefix(at, p.prefix) || at+"/" == p.prefix) {
			c = p.class
		}
	}
	return c
}

// cleanShown is a word as it stands, when no place is known for it.
func cleanShown(s string) string {
	if len(s) > 400 {
		s = s[:400]
	}
	return s
}
