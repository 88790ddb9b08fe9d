package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// hasSign is a quick look without regard to the case of ASCII letters: a word without a sign,
// and not above the state, is harmless.
func (p *protection) hasSign(s string) bool {
	for i := range len(s) {
		for _, sign := range p.signs[lower(s[i])] {
			if len(s)-i >= len(sign) && startsFold(s[i:], sign) {
				return true
			}
		}
	}
	return false
}

func startsFold(s, prefix string) bool {
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// touch is what a command does with the paths that it is given.
type touch struct {
	namesOnly   bool // it tells about them
	changes     bool // it may change what is there
	directories bool // of a directory it may read all that lies in it
}

func (p *protection) word(w shell.Word, u *shell.Unit, e *scope, how touch) string {
	text := w.Text
	if !w.Static && e.home != "" && strings.Contains(text, "HOME") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "${HOME}", e.home), "$HOME", e.home)
	}
	sign := p.hasSign(text)
	if !sign && how.namesOnly && !w.Glob {
		return ""
	}
	if sign && !w.Static && !(w.Only(shell.FileNames) && text == strings.ToLower(text)) {
		return quote(w.Text) + " may become " + notAllowed
	}
	if !w.Static && w.Glob && !strings.ContainsAny(text, "$`") {
		for _, t := range alternatives(text) {
			if why := p.globWord(w, t, u, e, how); why != "" {
				return why
			}
		}
		return ""
	}
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	if !sign && strings.HasPrefix(text, "-") && !mayLead(text) || len(text) > maxPath || !e.spend(10) {
		return ""
	}
	if !sign && e.readlink == nil && (how.namesOnly || !how.directories) {
		return "" // only a link or a search of all below could lead there
	}
	var few [8]string
	for _, t := range spellings(few[:0], text) {
		at, ok := e.resolvePath(dir, t)
		if !ok {
			continue
		}
		if how.namesOnly && u.Base != "mkdir" {
			switch path.Base(at.spelled) {
			case ".git": // test -d .git, find . -path ./.git -prune: what is in it is not touched
				continue
			case ".claude":
				if !e.readsComputed() && !e.readsInput() {
					continue
				}
			}
		}
		if sign && p.touches(at, e, how.changes) {
			return quote(w.Text) + " is " + notAllowed
		}
		if how.namesOnly {
			continue
		}
		if !sign && slices.ContainsFunc(at.real, func(r string) bool { return r != at.spelled && p.hasSign(r) }) && p.touches(at, e, how.changes) {
			return quote(w.Text) + " leads to " + notAllowed
		}
		if how.directories && p.above(at, e) {
			return quote(w.Text) + " holds assent's state"
		}
	}
	return ""
}

// mayLead says whether a word may lead out of the directory that a command runs in.
func mayLead(s string) bool {
	slash := strings.IndexByte(s, '/')
	return slash == 0 || slash > 0 && (s[0] == '-' || strings.ContainsAny(s, "=:@")) || strings.Contains(s, "..")
}

// span is a brace expansion such as {1..5}.
var span = lazily(`\{[^{},/]*\.\.[^{},/]*\}`)

// saysNothing says whether a word of a search names no file: the pattern, or what is left out.
func saysNothing(i int, words []shell.Word, role func(int, shell.Word) wordRole) bool {
	w := words[i]
	switch {
	case role == nil || !w.Static:
		return false
	case strings.HasPrefix(w.Text, "--exclude-dir=") || strings.HasPrefix(w.Text, "--exclude="):
		return true
	case i > 0 && words[i-1].Static && (words[i-1].Text == "--exclude-dir" || words[i-1].Text == "--exclude"):
		return true
	}
	return role(i, w) == wordPlain
}

// alternatives are the patterns that a word with braces becomes.
func alternatives(text string) []string {
	if !strings.Contains(text, "{") {
		return []string{text}
	}
	all, err := braces(span.ReplaceAllString(text, "*"))
	if err != nil {
		return []string{strings.NewReplacer("{", "*", "}", "*", ",", "*").Replace(text)}
	}
	return all
}

// globWord looks at a pattern for files. Hidden files are matched only by a pattern that begins
// with a dot.
func (p *protection) globWord(w shell.Word, text string, u *shell.Unit, e *scope, how touch) string {
	whole := w
	first := strings.IndexAny(text, "*?[")
	if w.Text, w.Static = text, first < 0; w.Static {
		w.Prefix, w.Glob = text, false
		how.namesOnly = false
		return p.word(w, u, e, how)
	}
	w.Prefix = text[:first]
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	tokens := pathTokens(w, dir)
	hiddenNames := false
	for part := range strings.SplitSeq(text, "/") {
		hiddenNames = hiddenNames || strings.HasPrefix(part, ".") && (strings.ContainsAny(part, "*?[") || p.hidden[part])
	}
	mayBe := func(q *pathPattern) string {
		if !hiddenNames && strings.HasPrefix(q.src, "**/.") {
			return ""
		}
		if strings.HasPrefix(q.src, "**/") && !hiddenNames {
			name, _, _ := strings.Cut(q.src[3:], "/")
			if name, _, _ = strings.Cut(name, "*"); name == "" && !p.hasSign(text) || !strings.Contains(text, name) {
				return "" // no more than any other pattern
			}
		}
		if !e.spend(60) {
			return "There is too much in it to compare."
		}
		if e.mayTouchOne(tokens, q) {
			return quote(whole.Text) + " may become " + notAllowed
		}
		return ""
	}
	for i := range p.paths {
		if why := mayBe(&p.paths[i]); why != "" {
			return why
		}
	}
	if how.changes {
		for i := range p.kept {
			if why := mayBe(&p.kept[i]); why != "" {
				return why
			}
		}
	}
	// A search of ../h* reads all of what that becomes.
	if hiddenNames || how.directories && (!namesOnly(u.Base) || e.readsComputed()) {
		for _, s := range p.state {
			for at := path.Dir(s); at != "/"; at = path.Dir(at) {
				if meet(tokens, literals(at)) {
					return quote(whole.Text) + " may hold assent's state"
				}
			}
		}
	}
	return ""
}
