package policy

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxPath is the longest path that Linux opens; longer ones are no paths.
const maxPath = 4096

// surroundings are what the paths of one call are read against. It is used by one goroutine.
type surroundings struct {
	cwd, project, home string
	// readlink is os.Readlink, or a function that knows no links.
	readlink func(string) (string, error)
	// linkless is the function of that name; nil where readlink is not that of the system.
	linkless func(string) (none, there bool)

	realProject, realHome string // with links resolved; filled when first needed
	// start is the directory that most paths begin with, and where its links lead; see resolve.
	start, realStart string
	// last is the path that was resolved last, where its links lead and how many there are: a script that goes
	// down and down asks for each directory.
	last, realLast string
	lastLinks      int
	// How long the part of realStart and realLast is that does not exist; 0: all of it may.
	startGone, lastGone int
	places              *places // that were looked at last, also for other calls; made when it is needed
	space               []string
}

func (e *surroundings) base(p *pathPattern) string {
	switch p.anchor {
	case atHome:
		return e.home
	case atProject:
		return e.project
	case atSettings:
		if p.dir != "" {
			return p.dir
		}
		return e.project
	default:
		return "/"
	}
}

// realBase is base with symbolic links resolved. Only what the user or the system chose is
// resolved: the home, the project, the first element of an absolute path (/tmp on a Mac). A
// link further down may have been made by the agent.
func (e *surroundings) realBase(p *pathPattern) string {
	switch p.anchor {
	case atHome:
		if e.realHome == "" && e.home != "" {
			e.realHome = e.resolve(e.home)
		}
		return e.realHome
	case atProject:
		if e.realProject == "" && e.project != "" {
			e.realProject = e.resolve(e.project)
		}
		return e.realProject
	case atSettings:
		if p.dir == "" {
			q := pathPattern{anchor: atProject}
			return e.realBase(&q)
		}
		return e.resolve(p.dir)
	default:
		return "/"
	}
}

// resolvedPath is one path of a call, with where links lead from it.
type resolvedPath struct {
	spelled string   // clean and absolute
	real    []string // with links resolved: as the system would, and of the clean spelling
}

// resolvePath reads a path that is relative to dir. ok is false where that gives no absolute path, or
// one that is too long.
func (e *surroundings) resolvePath(dir, text string) (p resolvedPath, ok bool) {
	if text == "" || len(text) > maxPath || strings.IndexByte(text, 0) >= 0 {
		return resolvedPath{}, false
	}
	full := text
	if text[0] != '/' {
		if dir == "" || dir[0] != '/' {
			return resolvedPath{}, false
		}
		full = dir + "/" + text
	}
	if len(full) > maxPath {
		return resolvedPath{}, false
	}
	p = resolvedPath{spelled: path.Clean(full)}
	if e.readlink == nil {
		return p, true
	}
	p.real = e.one(e.resolve(p.spelled))
	if strings.Contains(full, "..") {
		if r := e.resolve(full); r != p.real[0] {
			p.real = append(p.real, r)
		}
	}
	return p, true
}

// one is a list of one path. Many share their memory.
func (e *surroundings) one(at string) []string {
	if len(e.space) == cap(e.space) {
		e.space = make([]string, 0, 8)
	}
	n := len(e.space)
	e.space = append(e.space, at)
	return e.space[n : n+1 : n+1]
}

// inside says whether the path lies in one of the patterns however it is spelled, as an allow
// needs it.
func (e *surroundings) inside(at resolvedPath, patterns []pathPattern) bool {
	if !e.anySpelled(at.spelled, patterns) {
		return false
	}
	for _, r := range at.real {
		if r == "" || !e.anyReal(r, patterns) {
			return false
		}
	}
	return true
}

func (e *surroundings) anySpelled(at string, patterns []pathPattern) bool {
	for i := range patterns {
		if p := &patterns[i]; p.in(e.base(p), at) {
			return true
		}
	}
	return false
}

func (e *surroundings) anyReal(at string, patterns []pathPattern) bool {
	for i := range patterns {
		if p := &patterns[i]; p.in(e.realBase(p), at) || p.anchor == atRoot && p.in("/", e.unresolveTop(at, p)) {
			return true
		}
	}
	return false
}

// unresolveTop gives a resolved path the pattern's own first element back where that is a link
// of the system: /private/tmp/x is /tmp/x to the pattern /tmp/**.
func (e *surroundings) unresolveTop(at string, p *pathPattern) string {
	top, _, _ := strings.Cut(p.below.src, "/")
	if top == "" || strings.ContainsAny(top, "*?[") {
		return at
	}
	if rest, ok := under(e.resolve("/"+top), at); ok {
		return path.Clean("/" + top + "/" + rest)
	}
	return at
}

// touches says whether the path lies in one of the patterns in any spelling, as a deny or an
// ask needs it.
func (e *surroundings) touches(at resolvedPath, patterns []pathPattern) bool {
	for i := range patterns {
		p := &patterns[i]
		if p.in(e.base(p), at.spelled) || p.inFolded(e.base(p), at.spelled) {
			return true
		}
		for _, r := range at.real {
			if r != "" && (p.in(e.realBase(p), r) || p.in(e.base(p), r) || p.inFolded(e.realBase(p), r)) {
				return true
			}
		}
	}
	return false
}

// mayTouch says whether a text that is known in part may become a path in one of the patterns.
func (e *scope) mayTouch(text []token, patterns []pathPattern) bool {
	for i := range patterns {
		if e.mayTouchOne(text, &patterns[i]) {
			return true
		}
	}
	return len(text) == 1 && text[0].kind == anything
}

func (e *scope) mayTouchOne(text []token, p *pathPattern) bool {
	if len(text) == 1 && text[0].kind == anything {
		return true
	}
	base := e.base(p)
	return base != "" && e.meets(text, e.whole(p, base))
}

// whole is a pattern below a directory as one pattern.
func (e *scope) whole(p *pathPattern, base string) []token {
	if all, has := e.wholes[p]; has {
		return all
	}
	all := literals(strings.TrimSuffix(base, "/"))
	if p.below.src != "" && !p.all {
		all = append(all, token{kind: literal, char: '/'})
		all = append(all, globTokens(p.below)...)
	} else {
		all = append(all, token{kind: below}, token{kind: anything})
	}
	if e.wholes == nil {
		e.wholes = map[*pathPattern][]token{}
	}
	e.wholes[p] = all
	return all
}

// maxLinks is how many symbolic links Linux follows in one path.
const maxLinks = 40

// resolve follows the symbolic links of the longest existing part of an absolute path the way
// the system does: a link before the .. that follows it. It returns "" for a path of which that
// cannot be said.
func (e *surroundings) resolve(full string) string {
	if e.readlink == nil {
		return path.Clean(full)
	}
	at, rest, links := "/", full, 0
	gone := 0 // how long the part of at is that does not exist: below it there is no link
	if e.start == "" && e.cwd != "" {
		e.start = e.cwd
		e.realStart = e.resolve(e.cwd)
		e.startGone = e.lastGone
	}
	switch more, below := under(e.start, full); {
	case e.start == "":
	case below && e.realStart != "":
		at, rest, gone = e.realStart, more, e.startGone
	case automounted(e.start):
	case e.realStart == e.start && lies(full, e.start): // no part of it is a link
		at, rest = full, ""
	case full == e.start && e.linkless != nil:
		if none, there := e.linkless(full); none {
			if at, rest = full, ""; !there {
				gone = len(full)
			}
		}
	}
	if more, ok := under(e.last, full); ok && len(e.last) > len(e.start) {
		at, rest, links, gone = e.realLast, more, e.lastLinks, e.lastGone
	}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		switch part {
		case "", ".":
			continue
		case "..":
			if at = path.Dir(at); len(at) < gone {
				gone = 0
			}
			continue
		}
		next := child(at, part, full)
		if gone > 0 {
			at = next
			continue
		}
		if at == "/" && automounter(fold(part)) {
			if there := path.Clean("/" + part + "/" + rest); e.networkPlace(there) {
				return there // a look would open a connection
			}
		}
		target, err := e.readlink(next)
		switch {
		case err == nil:
			if links++; links > maxLinks || len(target)+len(rest) > maxPath {
				return ""
			}
			if strings.HasPrefix(target, "/") {
				at = "/"
			}
			rest = target + "/" + rest
		case errors.Is(err, os.ErrPermission):
			return "" // what lies behind is not known
		default:
			at = next // no link, or nothing there
			if errors.Is(err, os.ErrNotExist) {
				gone = len(at)
			}
		}
	}
	e.last, e.realLast, e.lastLinks, e.lastGone = full, at, links, gone
	return at
}

// child is the path of a plain name in a clean absolute directory: what path.Join makes of them. It is a part of full
// where that begins with it, as where no link was followed.
func child(at, name, full string) string {
	if at == "/" {
		at = ""
	}
	if n := len(at) + 1 + len(name); len(full) >= n && full[len(at)] == '/' && full[len(at)+1:n] == name && full[:len(at)] == at {
		return full[:n]
	}
	return at + "/" + name
}

// clean makes a directory of a call absolute and clean, or empty.
func clean(dir string) string {
	if !filepath.IsAbs(dir) || strings.IndexByte(dir, 0) >= 0 {
		return ""
	}
	return path.Clean(dir)
}
