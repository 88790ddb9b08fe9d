package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	secretlist "assent/internal/policy/secrets"
)

// secretList is the list, compiled. Everything in it is in lower case.
type secretList struct {
	closed, open []pathGlobOf
	names        map[string]bool // exact names
	kinds        map[string]bool // what follows a * at the start of a name: .pem
	shapes       []glob          // other patterns for names
	shapesBy     needed
	pathsBy      needed
	dirsBy       needed // manyDirs
	named        grams  // some of which every name has that a pattern or a word fits
	exact        ends   // of names and directories
	directories  map[string]bool
	manyDirs     []glob
	paths        []pathGlobOf
	words        []string
	wordsBy      needed

	// The names, the directories, and a name of each kind.
	allNames, allDirectories, allKinds []string
}

// pathGlobOf is a pattern for a path below a home (~), below / or at any depth.
type pathGlobOf struct {
	home, deep bool
	glob       glob
}

func (p *pathGlobOf) match(at, rest string, inHome bool) bool {
	switch {
	case p.home:
		return inHome && p.glob.match(rest)
	default:
		return p.glob.match(at[1:])
	}
}

// secrets compiles the list when it is first needed. It is part of the program, so that a mistake
// in it is a defect.
var secrets = sync.OnceValue(func() *secretList {
	l, err := readSecrets(secretlist.Text)
	if err != nil {
		panic(err)
	}
	return l
})

func readSecrets(text string) (*secretList, error) {
	l := &secretList{names: map[string]bool{}, kinds: map[string]bool{}, directories: map[string]bool{}}
	section := ""
	for i, line := range strings.Split(text, "\n") {
		fail := func(what string) error { return fmt.Errorf("secrets.txt:%d: %s: %q", i+1, what, line) }
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line != strings.ToLower(line) || line != strings.TrimSpace(line) {
			return nil, fail("not in lower case, or with space around it")
		}
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		g, err := pathGlob(strings.TrimPrefix(strings.TrimPrefix(line, "~"), "/"))
		if err != nil {
			return nil, fail(err.Error())
		}
		switch section {
		case "[closed]", "[open]", "[paths]":
			p := pathGlobOf{home: line[0] == '~', deep: strings.HasPrefix(line, "**/"), glob: g}
			if !p.home && !p.deep && line[0] != '/' {
				return nil, fail("a path begins with ~/, / or **/")
			}
			switch section {
			case "[closed]":
				l.closed = append(l.closed, p)
			case "[open]":
				l.open = append(l.open, p)
			default:
				l.paths = append(l.paths, p)
			}
		case "[names]":
			switch tail := line[1:]; {
			case g.exact:
				l.names[line] = true
			case line[0] == '*' && strings.HasPrefix(tail, ".") && !strings.ContainsAny(tail, "*?["):
				l.kinds[tail] = true
			default:
				l.shapes = append(l.shapes, g)
			}
		case "[directories]":
			if g.exact {
				l.directories[line] = true
			} else {
				l.manyDirs = append(l.manyDirs, g)
			}
		case "[words]":
			l.words = append(l.words, line)
		default:
			return nil, fail("no such section")
		}
	}
	l.allNames, l.allDirectories = slices.Sorted(maps.Keys(l.names)), slices.Sorted(maps.Keys(l.directories))
	for _, kind := range slices.Sorted(maps.Keys(l.kinds)) {
		l.allKinds = append(l.allKinds, "x"+kind)
	}
	often := gramCounts(text)
	for i := range l.shapes {
		l.shapesBy.add(l.shapes[i].need, i, often)
	}
	for i := range l.manyDirs {
		l.dirsBy.add(l.manyDirs[i].need, i, often)
	}
	for i := range l.paths {
		l.pathsBy.add(l.paths[i].glob.need, i, often)
	}
	for _, exact := range append(l.allNames, l.allDirectories...) {
		l.exact.add(exact)
	}
	l.named = l.shapesBy.grams
	l.named.addAll(&l.dirsBy.grams)
	for i, w := range l.words {
		if len(w) < gramSize {
			return nil, fmt.Errorf("secrets.txt: the word %q is too short", w)
		}
		l.wordsBy.add(w, i, often)
	}
	l.named.addAll(&l.wordsBy.grams)
	return l, nil
}

func fold(s string) string      { return secretlist.Fold(s) }
func code(name string) bool     { return secretlist.Code(name) }
func dataName(name string) bool { return secretlist.Data(name) }

// unlisted says for certain that a folded name, and that of which it is a copy, is in no section of names,
// directories and words. It is quick, as most names are.
func (l *secretList) unlisted(name string) bool {
	if len(l.shapesBy.rest)+len(l.dirsBy.rest) > 0 || l.named.any(name) || l.exact.has(name) && (l.names[name] || l.directories[name]) {
		return false
	}
	if i := strings.IndexByte(name, '.'); i >= 0 {
		for i = max(i, 1); i < len(name); i++ {
			if name[i] == '.' && l.kinds[name[i:]] {
				return false
			}
		}
	}
	return secretlist.Originals(name) == nil
}

// directory says whether a folded name is that of a directory of the list, or of a copy of one.
func (l *secretList) directory(name string) bool {
	return l.directories[name] || l.dirsBy.any(name, func(i int) bool { return l.manyDirs[i].match(name) }) || slices.ContainsFunc(secretlist.Originals(name), l.directory)
}

// nameIsSecret says whether a folded name is one of those in the list.
func (l *secretList) nameIsSecret(name string) bool {
	if l.names[name] {
		return true
	}
	for i := range len(name) {
		if i > 0 && name[i] == '.' && l.kinds[name[i:]] {
			return true
		}
	}
	harmless := code(name) && !strings.HasPrefix(name, ".env")
	if l.shapesBy.any(name, func(i int) bool {
		g := &l.shapes[i]
		return (!harmless || !strings.HasSuffix(g.src, "*")) && g.match(name)
	}) {
		return true
	}
	if harmless || strings.Contains(name, "tokeniz") {
		return false
	}
	return l.wordsBy.any(name, func(i int) bool { return strings.Contains(name, l.words[i]) && dataName(name) })
}

// sameRoots are the beginnings of paths under which a system shows its files once more.
var sameRoots = []string{"/private", "/system/volumes/data", "/host", "/hostfs", "/rootfs", "/sysroot"}

// secretPath says whether a clean absolute path is that of a file that may hold a secret. What
// lies in the project is judged by its names only.
func (e *surroundings) secretPath(at string) bool {
	l := secrets()
	at = fold(at)
	for _, r := range sameRoots {
		if rest, ok := under(r, at); ok && rest != "" {
			at = "/" + rest
		}
	}
	if rest, ok := under("/var/run", at); ok {
		at = path.Clean("/run/" + rest)
	}
	at, _, _ = strings.Cut(at, "/..namedfork") // of macOS: a part of the file
	if file, ok := strings.CutSuffix(at, "/rsrc"); ok && file != "" {
		at = file
	}
	if at == "" {
		return true
	}
	slash := max(strings.LastIndexByte(at, '/'), 0)
	name, place := at[slash+1:], e.place(at[:slash])
	unlisted := l.unlisted(name)
	if place.listed || !unlisted && l.directory(name) {
		return true
	}
	rest, inHome := "", place.homeAt > 0 && place.homeAt < len(at)
	if inHome {
		rest = at[place.homeAt:]
	}
	if !unlisted && l.nameIsSecret(name) {
		// The name of the project itself, and of what it lies in, says nothing.
		if _, above := under(at, fold(e.project)); !above || e.project == "" {
			return !slices.ContainsFunc(l.open, func(p pathGlobOf) bool { return p.glob.exact && p.match(at, rest, inHome) })
		}
	}
	if place.anyPath(at, func(i int) bool {
		return l.paths[i].match(at, rest, inHome) && !(code(at) && strings.Contains(l.paths[i].glob.src, "secrets/"))
	}) {
		return true
	}
	if !unlisted && slices.ContainsFunc(secretlist.Originals(name), func(original string) bool { return e.secretPath(at[:slash+1] + original) }) {
		return true
	}
	if place.own || e.ownProject(at) {
		return false
	}
	for i := range l.closed {
		c := &l.closed[i]
		if c.home {
			if !inHome {
				continue
			}
			top, _, _ := strings.Cut(rest, "/")
			if !c.glob.match(top) || strings.Trim(top, ".") == "" { // ... is a pattern of Go's
				continue
			}
		} else if _, ok := under("/"+c.glob.src, at); !ok && !c.glob.match(at[1:]) {
			continue
		}
		return !slices.ContainsFunc(l.open, func(p pathGlobOf) bool { return p.match(at, rest, inHome) })
	}
	return false
}

// homePath returns the part of a folded path below a home directory.
func (e *surroundings) homePath(at string, parts []string) (string, bool) {
	for _, h := range []string{e.home, e.realHome} {
		if h == "" {
			continue
		}
		if rest, ok := under(fold(h), at); ok && rest != "" {
			return rest, true
		}
	}
	for i, p := range parts {
		switch {
		case homesName(p, i) && i+2 < len(parts):
			return strings.Join(parts[i+2:], "/"), true
		case p == "root" && i == 0 && len(parts) > 1:
			return strings.Join(parts[1:], "/"), true
		}
	}
	return "", false
}

// homesName says whether the i-th part of a path is a name of what holds homes.
func homesName(p string, i int) bool {
	return p == "home" || p == "users" || p == "homes" || i == 0 && (p == "u" || len(p) == 5 && strings.HasPrefix(p, "home"))
}

// ownProject says whether a folded path lies in the project, and the project is no home or a
// directory of settings of one.
func (e *surroundings) ownProject(at string) bool {
	for _, p := range []string{e.project, e.realProject} {
		if p == "" {
			continue
		}
		if _, ok := under(fold(p), at); ok && !e.settingsDirectory(fold(p)) {
			return true
		}
	}
	return false
}

func (e *surroundings) settingsDirectory(dir string) bool {
	// Homes are known only as far as links were followed.
	if s := &e.known().settings; !s.known || s.dir != dir || s.realHome != e.realHome {
		*s = settingsFact{dir, e.realHome, true, e.isSettingsDirectory(dir)}
	}
	return e.places.settings.is
}

// settingsFact says whether a directory is one of settings.
type settingsFact struct {
	dir, realHome string
	known, is     bool
}

func (e *surroundings) isSettingsDirectory(dir string) bool {
	if e.holdsHomes(dir) {
		return true
	}
	rest, ok := e.homePath(dir, strings.Split(dir[1:], "/"))
	if !ok {
		return slices.Contains([]string{"/etc", "/var", "/proc", "/dev", "/run", "/var/lib"}, dir)
	}
	parts := strings.Split(rest, "/")
	return parts[0] == "library" && len(parts) < 3 || parts[0][0] == '.' && (len(parts) == 1 && parts[0] != ".dotfiles" || len(parts) == 2 && slices.Contains([]string{".config", ".local", ".cache"}, parts[0]) || len(parts) == 3 && parts[0] == ".local")
}

// systemTops are directories in which systems keep homes or all of their settings.
var systemTops = []string{ // read-only
	"/", "/home", "/users", "/root", "/var", "/var/lib", "/etc", "/proc", "/dev", "/run", "/private", "/private/var", "/private/etc", "/system", "/system/volumes", "/system/volumes/data", "/host", "/library", "/mnt", "/media", "/volumes", "/export/home", "/var/home",
}

// holdsHomes says whether a search of a clean, folded directory would read homes or all of the
// system's settings.
func (e *surroundings) holdsHomes(dir string) bool {
	for _, h := range []string{e.home, e.realHome} {
		if h == "" {
			continue
		}
		if _, ok := under(dir, fold(h)); ok {
			return true
		}
	}
	if slices.Contains(systemTops, dir) {
		return true
	}
	parent, _ := path.Split(dir)
	return (parent == "/home/" || parent == "/users/" || strings.HasSuffix(parent, "/users/")) && !e.ownName(dir)
}

// ownName says whether a directory is the project itself: one directly below /home, as containers
// have it.
func (e *surroundings) ownName(dir string) bool {
	return e.project != "" && fold(e.project) == dir && (e.home == "" || fold(e.home) != dir)
}
