package policy

import (
	"path"
	"slices"
	"strings"

	secretlist "assent/internal/policy/secrets"
	"assent/internal/policy/shell"
)

// Most words of most commands are flags, numbers and plain names in the directory that the command runs in. That
// such a word names nothing that is protected and no secret is found out once for both, from the characters of the
// word and what is known of the directory, by the same lists. Where that is not certain, the word takes the long
// way: an ordinary word is one of which the long way would find nothing.

// maxOrdinary is how long an ordinary word may be, and maxOrdinaryWords how many of a command are looked at.
const (
	maxOrdinary      = 64
	maxOrdinaryWords = 64
	maxOrdinaryDir   = 100 // a script that goes down and down asks for each directory
)

// ordinaryWords are the ordinary words of one unit in one directory, by their places in Argv.
type ordinaryWords struct {
	argv []shell.Word
	dir  string
	led  led
	set  uint64
}

// ordinaryDir says whether names in a directory can be told to be ordinary by the names alone.
type ordinaryDir struct {
	dir       string
	led       led
	known, is bool
	linkless  bool // nothing in it can be a link
	asked     int  // names that were asked for a link
	folded    string
}

// led is where links lead from the home and the project, as far as that is known and they do lead elsewhere: what the
// list of secrets says about a place depends on it.
type led struct{ home, project string }

func (e *surroundings) led() led {
	l := led{e.realHome, e.realProject}
	if l.home == e.home {
		l.home = ""
	}
	if l.project == e.project {
		l.project = ""
	}
	return l
}

// ordinaryByte is a byte of ordinary words in lower case, 0 for others.
var ordinaryByte = func() (all [256]byte) { // read-only
	for c := range all {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-', c == '.', c == '=':
			all[c] = byte(c)
		case c >= 'A' && c <= 'Z':
			all[c] = byte(c) + 'a' - 'A'
		}
	}
	return all
}()

// findOrdinary notes which words of a unit are ordinary.
func (e *scope) findOrdinary(p *protection, u *shell.Unit) {
	e.ordinary = ordinaryWords{}
	if u.Kind != shell.Command || len(u.Dirs) > 0 || len(u.Argv) < 2 {
		return
	}
	d := e.ordinaryDir(p, u.Dir)
	if !d.is {
		return
	}
	e.ordinary = ordinaryWords{argv: u.Argv, dir: u.Dir, led: e.led()}
	for i := 1; i < min(len(u.Argv), maxOrdinaryWords); i++ {
		if w := &u.Argv[i]; w.Static && !w.Glob && p.ordinaryText(w.Text, d.folded) {
			e.ordinary.set |= 1 << i
		}
	}
}

// isOrdinary says whether the i-th word of a unit is ordinary.
func (e *scope) isOrdinary(i int, u *shell.Unit) bool {
	o := &e.ordinary
	return i < maxOrdinaryWords && o.set&(1<<i) != 0 && len(o.argv) == len(u.Argv) && &o.argv[0] == &u.Argv[0] && o.dir == u.Dir &&
		o.led == e.led() && !e.linked(u.Argv[i].Text)
}

// linked says whether one of the names in an ordinary word is that of a symbolic link.
func (e *scope) linked(text string) bool {
	if e.ordinaryAt.linkless {
		return false
	}
	d := &e.ordinaryAt
	var few [8]string
	for _, t := range spellings(few[:0], text) {
		if d.asked++; d.asked == fewAsked && e.linkless != nil && !automounted(d.dir) {
			if d.linkless = noLinkIn(d.dir); d.linkless {
				return false
			}
		}
		if _, err := e.readlink(d.dir + "/" + t); err == nil {
			return true
		}
	}
	return false
}

// fewAsked names are asked for a link one by one; of more the directory is asked for all of its names.
const fewAsked = 8

func (e *scope) ordinaryDir(p *protection, dir string) *ordinaryDir {
	d := &e.ordinaryAt
	if !d.known || d.dir != dir || d.led != e.led() {
		*d = ordinaryDir{dir: dir, led: e.led(), known: true}
		d.is = e.isOrdinaryDir(p, d)
	}
	return d
}

func (e *scope) isOrdinaryDir(p *protection, d *ordinaryDir) bool {
	l := secrets()
	if p.shortSigns || len(l.shapesBy.rest)+len(l.dirsBy.rest) > 0 {
		return false
	}
	if len(d.dir) < 2 || d.dir[0] != '/' || len(d.dir) > maxOrdinaryDir || strings.Contains(d.dir, "..") || strings.IndexByte(d.dir, 0) >= 0 || path.Clean(d.dir) != d.dir {
		return false
	}
	// No name in it leads anywhere else, and nothing of assent's lies below it.
	if d.linkless = e.readlink == nil; !d.linkless {
		if e.resolve(d.dir) != d.dir {
			return false
		}
		d.linkless = e.last == d.dir && e.lastGone > 0
	}
	if e.facts(p, d.dir).above {
		return false
	}
	// It lies in the project, where names are all that counts, and neither homes nor a system's files lie in it.
	folded := fold(d.dir)
	for _, r := range sameRoots {
		if _, ok := under(r, folded); ok {
			return false
		}
	}
	if _, ok := under("/var/run", folded); ok {
		return false
	}
	for _, h := range []string{e.home, e.realHome} {
		if _, ok := under(folded, fold(h)); ok && h != "" {
			return false
		}
	}
	if strings.HasSuffix(folded, "/users") || slices.ContainsFunc(systemTops, func(top string) bool {
		return strings.HasPrefix(top, folded) && strings.LastIndexByte(top, '/') == len(folded)
	}) {
		return false
	}
	d.folded = folded
	place := e.place(folded)
	return place.own && !place.listed && len(place.paths) == 0
}

// ordinaryText says whether none of the names in a word is on a list, or is a copy of one, or holds a sign. dir is
// the directory that the name would lie in, folded.
func (p *protection) ordinaryText(text, dir string) bool {
	if text == "" || len(text) > maxOrdinary || text[len(text)-1] == '.' {
		return false
	}
	l := secrets()
	gram, upper, dots, named, equals := uint32(0), false, false, false, -1
	for i := range len(text) {
		c := text[i]
		folded := ordinaryByte[c]
		if folded == 0 {
			return false
		}
		upper = upper || folded != c
		gram = (gram<<8 | uint32(folded)) & 0xffffff
		if i >= gramSize-1 {
			if p.grams.has(gram) {
				return false
			}
			named = named || l.named.has(gram)
		}
		switch {
		case c == '.':
			if dots = true; text[i+1] == '.' { // it ends in something else
				return false
			}
		case c == '=' && equals < 0:
			equals = i
		}
	}
	if upper {
		text = fold(text)
	}
	if dots {
		for i := 1; i < len(text); i++ {
			if text[i] == '.' && l.kinds[text[i:]] {
				return false
			}
		}
	}
	var few [8]string
	for _, name := range spellings(few[:0], text) {
		if !l.ordinaryName(name, dir) || named && l.named.any(name) && (l.directory(name) || l.nameIsSecret(name)) {
			return false
		}
	}
	return true
}

// ordinaryName is ordinaryText for what depends on where a name begins.
func (l *secretList) ordinaryName(name, dir string) bool {
	gram := uint32(dir[len(dir)-1])<<16 | '/'<<8 | uint32(name[0])
	if l.pathAcross(gram, dir, name) || len(name) > 1 && l.pathAcross((gram<<8|uint32(name[1]))&0xffffff, dir, name) {
		return false
	}
	return !(l.exact.has(name) && (l.names[name] || l.directories[name])) && name != "rsrc" && secretlist.Originals(name) == nil
}

// pathAcross says whether a path may match a pattern that needs characters of which some stand on each side of its
// last slash.
func (l *secretList) pathAcross(gram uint32, dir, name string) bool {
	return l.pathsBy.grams.has(gram) && slices.ContainsFunc(l.pathsBy.by[gram], func(i int) bool {
		return across(l.paths[i].glob.need, dir, name)
	})
}

// across says whether a text stands in dir/name over the slash between the two.
func across(text, dir, name string) bool {
	for i := range len(text) {
		if text[i] == '/' && strings.HasSuffix(dir, text[:i]) && strings.HasPrefix(name, text[i+1:]) {
			return true
		}
	}
	return false
}
