package policy

import (
	"errors"
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
	folded *glob  // below for names in which case does not count; nil where that is the same
}

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
	if p.below, err = pathGlob(s); err == nil && fold(s) != s {
		var g glob
		if g, err = pathGlob(fold(s)); err == nil {
			p.folded = &g
		}
	}
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

// inFolded is in for file systems that do not tell case apart, where .ENV is .env, nor some other ways to write
// a name. It serves guards.
func (p *pathPattern) inFolded(base, at string) bool {
	if base == "" {
		return false
	}
	foldedBase, foldedAt := fold(base), fold(at)
	if foldedBase == base && foldedAt == at && p.folded == nil {
		return false // in has said it
	}
	rest, ok := under(foldedBase, foldedAt)
	switch {
	case !ok:
		return false
	case p.all:
		return true
	case p.folded != nil:
		return p.folded.match(rest)
	}
	return p.below.match(rest)
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
