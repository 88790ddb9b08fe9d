package policy

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// anchor says what a path pattern is relative to.
type anchor uint8

const (
	atRoot     anchor = iota // /
	atHome                   // ~/
	atProject                // ${project}
	atSettings               // the directory of the settings file
	atCwd                    // the agent's working directory
)

// pathPattern is a compiled path pattern: an anchor, and a glob below it.
type pathPattern struct {
	src    string
	anchor anchor
	dir    string // for atSettings
	below  glob   // relative to the anchor, without a slash in front
	inner  bool   // added to a guard: what is in the directory it names
	all    bool   // everything below the anchor, and the anchor itself
}

// maxPath is the longest path that Linux opens; longer ones are no paths.
const maxPath = 4096

// pathPatterns compiles a pattern of a structured rule.
func pathPatterns(src string) ([]pathPattern, error) {
	alternatives, err := expand(src)
	if err != nil {
		return nil, err
	}
	var all []pathPattern
	for _, s := range alternatives {
		p := pathPattern{src: s}
		switch {
		case s == "${project}" || strings.HasPrefix(s, "${project}/"):
			p.anchor, s = atProject, strings.TrimPrefix(s[len("${project}"):], "/")
		case s == "~" || strings.HasPrefix(s, "~/"):
			p.anchor, s = atHome, strings.TrimPrefix(s[1:], "/")
		case s == "**" || strings.HasPrefix(s, "**/"):
			p.anchor = atRoot
		case strings.HasPrefix(s, "/"):
			p.anchor, s = atRoot, s[1:]
		default:
			return nil, errors.New("a path pattern starts with ${project}/, ~/, / or **/")
		}
		if err := p.compile(s); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// expand expands braces but leaves ${project} alone.
func expand(src string) ([]string, error) {
	const mark = "\x00project\x00"
	s := strings.ReplaceAll(src, "${project}", mark)
	if strings.Contains(s, "$") {
		return nil, errors.New("only ${project} is replaced in a path")
	}
	all, err := braces(s)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], mark, "${project}")
	}
	return all, err
}

func (p *pathPattern) compile(s string) error {
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." || part == "." {
			return errors.New("a pattern must not hold . or .. between slashes")
		}
	}
	if strings.Contains(s, "//") {
		return errors.New("a pattern must not hold //")
	}
	s = strings.TrimSuffix(s, "/")
	p.all = s == "**"
	var err error
	p.below, err = pathGlob(s)
	return err
}

// stringPatterns compiles the path of a Claude Code rule string, which is read like a line of
// .gitignore: //absolute, ~/home, /relative to the settings file, ./relative or relative. A
// guard is a pattern of a deny or an ask rule, which is read as wide as it can be meant; that
// of an allow rule is read as narrow.
func stringPatterns(src, settingsDir string, guard bool) ([]pathPattern, error) {
	alternatives, err := braces(strings.ReplaceAll(src, "${HOME}", "$HOME"))
	if err != nil {
		return nil, err
	}
	if rest := strings.TrimPrefix(src, "$HOME/"); strings.Contains(strings.TrimPrefix(rest, "${HOME}/"), "$") || !guard && rest != src {
		return nil, errors.New("no variable is replaced in a path; write ~/ for the home directory")
	}
	var all []pathPattern
	add := func(p pathPattern, s string) error {
		err := p.compile(s)
		all = append(all, p)
		return err
	}
	for i := 0; i < len(alternatives); i++ {
		s := alternatives[i]
		p := pathPattern{src: s}
		directory := strings.HasSuffix(s, "/")
		floating := false // a guard's name without a slash is meant at any depth
		switch {
		case strings.HasPrefix(s, "//"):
			s = s[2:]
		case s == "~" || strings.HasPrefix(s, "~/"):
			p.anchor, s = atHome, strings.TrimPrefix(s[1:], "/")
		case strings.HasPrefix(s, "/"):
			if guard && systemRoot(s) { // /etc/shadow is meant as it stands, most likely
				alternatives = append(alternatives, "/"+s)
			}
			p.anchor, p.dir, s = atSettings, settingsDir, s[1:]
		case guard && (strings.HasPrefix(s, "$HOME/") || strings.HasPrefix(s, "${HOME}/")):
			_, s, _ = strings.Cut(s, "/")
			p.anchor = atHome
		case strings.HasPrefix(s, "./"):
			p.anchor, s = atCwd, s[2:]
		default:
			p.anchor = atCwd
			floating = !strings.Contains(strings.TrimSuffix(s, "/"), "/")
		}
		if guard && p.anchor == atCwd && (floating || strings.HasPrefix(s, "**/") || s == "**") {
			p.anchor = atRoot
			if floating && s != "**" {
				s = "**/" + s
			}
		}
		if p.anchor == atCwd {
			p.anchor = atProject // the agent moves its working directory; its project stays
		}
		s = strings.TrimSuffix(s, "/")
		if directory && !guard {
			s += "/**"
		}
		if err := add(p, s); err != nil {
			return nil, err
		}
		// To a guard a directory means what is in it, too.
		if guard && !strings.HasSuffix(s, "**") && s != "" {
			p.inner = true
			if err := add(p, s+"/**"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// surroundings are what the paths of one call are read against. It is used by one goroutine.
type surroundings struct {
	cwd, project, home string
	// readlink is os.Readlink, or a function that knows no links.
	readlink func(string) (string, error)

	realProject, realHome string       // with links resolved; filled when first needed
	settings              settingsFact // of the last directory, where no links are followed

	// start is the directory that most paths begin with, and where its links lead; see resolve.
	start, realStart string
	// last is the path that was resolved last, where its links lead and how many there are: a script that goes
	// down and down asks for each directory.
	last, realLast string
	lastLinks      int
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

// in says whether the clean absolute path lies in the pattern, seen from base.
func (p *pathPattern) in(base, at string) bool {
	if base == "" {
		return false
	}
	rest, ok := under(base, at)
	if !ok {
		return false
	}
	return p.all || p.below.match(rest)
}

// inFolded is in for file systems that do not tell case apart, where .ENV is .env: it lowers
// the path. It serves guards.
func (p *pathPattern) inFolded(base, at string) bool {
	rest, ok := under(base, at)
	if !ok || base == "" {
		return false
	}
	folded := strings.ToLower(rest)
	return folded != rest && p.below.match(folded)
}

// under returns the part of a clean path below base: empty for base itself.
func under(base, at string) (string, bool) {
	if at == base {
		return "", true
	}
	if base == "/" {
		return at[1:], strings.HasPrefix(at, "/")
	}
	if len(at) > len(base) && at[len(base)] == '/' && strings.HasPrefix(at, base) {
		return at[len(base)+1:], true
	}
	return "", false
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
	p.real = append(p.real, e.resolve(p.spelled))
	if strings.Contains(full, "..") {
		if r := e.resolve(full); r != p.real[0] {
			p.real = append(p.real, r)
		}
	}
	return p, true
}

// inside says whether the path lies in one of the patterns however it is spelled, as an allow
// needs it.
func (e *surroundings) inside(at resolvedPath, patterns []pathPattern) bool {
	if !slices.ContainsFunc(patterns, func(p pathPattern) bool { return p.in(e.base(&p), at.spelled) }) {
		return false
	}
	for _, r := range at.real {
		if r == "" {
			return false
		}
		if !slices.ContainsFunc(patterns, func(p pathPattern) bool {
			return p.in(e.realBase(&p), r) || p.anchor == atRoot && p.in("/", e.unresolveTop(r, &p))
		}) {
			return false
		}
	}
	return true
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
	if len(text) == 1 && text[0].kind == anything {
		return true
	}
	for i := range patterns {
		p := &patterns[i]
		base := e.base(p)
		if base == "" {
			continue
		}
		full := literals(strings.TrimSuffix(base, "/"))
		if p.below.src != "" && !p.all {
			full = append(full, token{kind: literal, char: '/'})
			full = append(full, globTokens(p.below)...)
		} else {
			full = append(full, token{kind: below}, token{kind: anything})
		}
		if e.meets(text, full) {
			return true
		}
	}
	return false
}

func literals(s string) []token {
	all := make([]token, len(s))
	for i := range len(s) {
		all[i] = token{kind: literal, char: s[i]}
	}
	return all
}

func globTokens(g glob) []token {
	switch {
	case g.exact:
		return literals(g.src)
	case g.re != nil || g.is != nil: // may be anything
		return []token{{kind: anything}}
	}
	return g.tokens
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
	switch {
	case e.start == "" && e.cwd != "" && full != e.cwd:
		e.start = e.cwd
		e.realStart = e.resolve(e.cwd)
		fallthrough
	default:
		if below, ok := under(e.start, full); ok && below != "" && e.start != "" && e.realStart != "" {
			at, rest = e.realStart, below
		}
	}
	if below, ok := under(e.last, full); ok && len(e.last) > len(e.start) {
		at, rest, links = e.realLast, below, e.lastLinks
	}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := "/" + part // at is clean and absolute, and part a plain name: what path.Join makes of them
		if at != "/" {
			next = at + next
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
		}
	}
	e.last, e.realLast, e.lastLinks = full, at, links
	return at
}

// clean makes a directory of a call absolute and clean, or empty.
func clean(dir string) string {
	if !filepath.IsAbs(dir) || strings.IndexByte(dir, 0) >= 0 {
		return ""
	}
	return path.Clean(dir)
}
