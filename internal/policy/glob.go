package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// token is one element of a glob.
type token struct {
	kind  tokenKind
	char  byte   // literal
	class string // the characters of a class, ranges written out
	not   bool   // class is negated
}

type tokenKind uint8

const (
	literal  tokenKind = iota
	anyChar            // ?: one character but /
	class              // [abc]
	star               // *: any characters but /; in a text glob any characters
	anything           // any characters, / too
	dirs               // **/ begins: it may be left out, or
	within             // any characters, up to a /
	below              // /** at the end: it may be left out, or a / and the anything after it
)

// glob is a compiled pattern. In a path glob * and ? do not cross a slash.
type glob struct {
	src    string
	tokens []token
	exact  bool // no wildcards: src is the text itself
	re     *regexp.Regexp
	is     func(string) bool // a shape that has a name: is:jq
	size   int               // of re, in instructions
	need   string            // a part that every match has; a quick look before the walk
	plain  bool              // see matchPlain
}

func (g *glob) match(s string) bool {
	if g.exact {
		return s == g.src
	}
	if g.re != nil {
		return g.re.MatchString(s)
	}
	if g.is != nil {
		return g.is(s)
	}
	if !strings.Contains(s, g.need) {
		return false
	}
	if g.plain {
		return matchPlain(g.tokens, s)
	}
	return matchTokens(g.tokens, s)
}

// plainTokens says whether all that stands for any number of characters in a pattern is the same.
func plainTokens(p []token) bool {
	many := literal
	for _, t := range p {
		switch {
		case t.kind <= class:
		case t.kind > anything, many != literal && many != t.kind:
			return false
		default:
			many = t.kind
		}
	}
	return true
}

// matchPlain is matchTokens for a pattern in which each * is alike. It takes the shortest that a * may stand
// for, and more of the last one where what follows does not fit: what an earlier one stood for need not change.
func matchPlain(p []token, s string) bool {
	i, j := 0, 0
	again, from := -1, 0 // behind the last *, and where what follows it was tried last
	for i < len(s) {
		switch {
		case j < len(p) && p[j].kind <= class && p[j].one(s[i]):
			i, j = i+1, j+1
		case j < len(p) && p[j].kind > class:
			again, from = j+1, i
			j++
		case again > 0 && (p[again-1].kind == anything || s[from] != '/'):
			from++
			i, j = from, again
		default:
			return false
		}
	}
	for j < len(p) && p[j].kind > class {
		j++
	}
	return j == len(p)
}

// cost is how many steps a comparison with a text of n bytes takes at most.
func (g *glob) cost(n int) int {
	switch {
	case g.exact:
		return 0
	case g.re != nil:
		return g.size * n / 64
	case g.is != nil:
		return n / 16
	}
	return len(g.tokens) * n / 64
}

// textGlob compiles a pattern in which only * is special and matches anything, as in Claude
// Code's rule strings.
func textGlob(src string) glob {
	if !strings.Contains(src, "*") {
		return glob{src: src, exact: true}
	}
	g := glob{src: src}
	for i := range len(src) {
		if src[i] != '*' {
			g.tokens = append(g.tokens, token{kind: literal, char: src[i]})
		} else if n := len(g.tokens); n == 0 || g.tokens[n-1].kind != anything {
			g.tokens = append(g.tokens, token{kind: anything})
		}
	}
	g.need, g.plain = longestLiteral(g.tokens), plainTokens(g.tokens)
	return g
}

// pathGlob compiles one path pattern without braces.
func pathGlob(src string) (glob, error) {
	g := glob{src: src, exact: !strings.ContainsAny(src, "*?[")}
	for i := 0; i < len(src); i++ {
		rest := src[i:]
		start := i == 0 || src[i-1] == '/'
		switch {
		case rest == "/**":
			g.tokens = append(g.tokens, token{kind: below}, token{kind: anything})
			i = len(src)
		case start && rest == "**":
			g.tokens = append(g.tokens, token{kind: anything})
			i = len(src)
		case start && strings.HasPrefix(rest, "**/"):
			g.tokens = append(g.tokens, token{kind: dirs}, token{kind: within})
			i += 2
		case strings.HasPrefix(rest, "**"):
			return glob{}, errors.New("** must stand alone between slashes")
		case rest[0] == '*':
			g.tokens = append(g.tokens, token{kind: star})
		case rest[0] == '?':
			g.tokens = append(g.tokens, token{kind: anyChar})
		case rest[0] == '[':
			t, n, err := readClass(rest)
			if err != nil {
				return glob{}, err
			}
			g.tokens = append(g.tokens, t)
			i += n - 1
		case rest[0] == '\\':
			return glob{}, errors.New("backslashes are not read in patterns")
		default:
			g.tokens = append(g.tokens, token{kind: literal, char: rest[0]})
		}
	}
	g.need, g.plain = longestLiteral(g.tokens), plainTokens(g.tokens)
	return g, nil
}

// longestLiteral is the longest text that stands in every match.
func longestLiteral(tokens []token) string {
	best, run := "", []byte(nil)
	for _, t := range tokens {
		if t.kind != literal {
			run = nil
			continue
		}
		if run = append(run, t.char); len(run) > len(best) {
			best = string(run)
		}
	}
	return best
}

func readClass(s string) (token, int, error) {
	end := strings.IndexByte(s[1:], ']') + 1
	if end < 2 {
		return token{}, 0, errors.New("a [ without characters and ]")
	}
	t := token{kind: class}
	in := s[1:end]
	if in[0] == '!' || in[0] == '^' {
		t.not = true
		in = in[1:]
	}
	if in == "" || strings.ContainsAny(in, "/[\\") {
		return token{}, 0, fmt.Errorf("[%s] is no list of characters", short(s[1:end]))
	}
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		if in[i] >= 0x80 {
			return token{}, 0, errors.New("only ASCII characters can stand in [ ]")
		}
		if i+2 < len(in) && in[i+1] == '-' {
			for c := int(in[i]); c <= int(in[i+2]); c++ {
				b.WriteByte(byte(c))
			}
			i += 2
			continue
		}
		b.WriteByte(in[i])
	}
	t.class = b.String()
	return t, end + 1, nil
}

// braces expands {a,b}, also several and nested ones, to at most 64 patterns.
func braces(src string) ([]string, error) {
	open := strings.LastIndexByte(src, '{') // the last one holds no other
	if open < 0 {
		if strings.Contains(src, "}") {
			return nil, errors.New("a } without {")
		}
		return []string{src}, nil
	}
	length := strings.IndexByte(src[open:], '}')
	if length < 0 {
		return nil, errors.New("a { without }")
	}
	var all []string
	for alt := range strings.SplitSeq(src[open+1:open+length], ",") {
		more, err := braces(src[:open] + alt + src[open+length+1:])
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > 64 {
			return nil, errors.New("the braces stand for more than 64 patterns")
		}
	}
	return all, nil
}

// one says whether a token that takes one character takes c.
func (t token) one(c byte) bool {
	switch t.kind {
	case literal:
		return t.char == c
	case anyChar:
		return c != '/'
	default: // class
		return c != '/' && (strings.IndexByte(t.class, c) >= 0) != t.not
	}
}

// step calls next with every position that is reached from j by the character c.
func step(p []token, j int, c byte, next func(int)) {
	switch t := p[j]; t.kind {
	case literal, anyChar, class:
		if t.one(c) {
			next(j + 1)
		}
	case star:
		if c != '/' {
			next(j)
		}
	case anything:
		next(j)
	case within:
		next(j)
		if c == '/' {
			next(j + 1)
		}
	case below:
		if c == '/' {
			next(j + 1)
		}
	}
}

// free calls next with every position that is reached from j without a character.
func free(p []token, j int, next func(int)) {
	switch p[j].kind {
	case star, anything:
		next(j + 1)
	case dirs:
		next(j + 1)
		next(j + 2)
	case below:
		next(j + 2)
	}
}

// positions is a set of positions in a pattern, and the way through it.
type positions []bool

func (at positions) close(p []token) {
	for j := range p { // free steps only lead forward
		if at[j] {
			free(p, j, func(k int) { at[k] = true })
		}
	}
}

// matchTokens walks all ways through the pattern at once, so its cost is bounded by the product
// of the two lengths.
func matchTokens(p []token, s string) bool {
	var space [2][64]bool
	at, next := positions(space[0][:]), positions(space[1][:])
	if len(p) >= len(at) {
		at, next = make(positions, len(p)+1), make(positions, len(p)+1)
	}
	at[0] = true
	at.close(p)
	for i := range len(s) {
		clear(next)
		alive := false
		for j := range p {
			if at[j] {
				step(p, j, s[i], func(k int) { next[k], alive = true, true })
			}
		}
		if !alive {
			return false
		}
		next.close(p)
		at, next = next, at
	}
	return at[len(p)]
}
