package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of brace expansion. A word that exceeds one is not expanded, and so never certain.
const (
	maxBraceWords  = 64   // from one word
	maxBraceParts  = 512  // pieces of text in all of them
	maxArguments   = 1000 // of one command
	maxBraced      = 3000 // words from braces in a script
	maxBraceNumber = 9999
)

// expanded reads an argument of a command: one word, or those that its braces become. Braces are
// expanded before anything else, so what each of them is can be said for certain.
func (r *reader) expanded(w *syntax.Word, at execContext, argv []Word) []Word {
	if r.braced > maxBraced {
		return append(argv, r.word(w, at))
	}
	all := braceWords(w)
	if all == nil || len(argv)+len(all) > maxArguments {
		return append(argv, r.word(w, at))
	}
	r.braced += len(all)
	r.closed(w)
	if r.posix {
		r.doubtAt(DoubtExpansion, w, "Not every sh expands braces.")
	}
	start, end := int(w.Pos().Offset()), int(w.End().Offset())
	if r.inner {
		start, end = r.start, r.end
	}
	for _, parts := range all {
		one := r.piece(&syntax.Word{Parts: parts}, at)
		one.Start, one.End = start, end
		argv = append(argv, one)
	}
	return argv
}

// braceWords returns the words, as their parts, that bash and zsh both make of a word with
// braces. It returns nil for a word without them, and where that is not certain.
func braceWords(w *syntax.Word) [][]syntax.WordPart {
	open := false
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			open = open || strings.IndexByte(part.Value, '{') >= 0
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if !innocent(inner) {
					return nil
				}
			}
		default:
			if !innocent(part) {
				return nil
			}
		}
	}
	if !open {
		return nil
	}
	b := braceReader{tokens: braceTokens(w)}
	all, ok := b.sequence(false)
	if !ok || !b.found || b.at != len(b.tokens) {
		return nil
	}
	out := make([][]syntax.WordPart, 0, len(all))
	for _, tokens := range all {
		if len(tokens) == 0 {
			return nil // an empty word: bash drops it, zsh keeps it
		}
		for i, t := range tokens[:len(tokens)-1] {
			// Braces come first: $f{a,b} is $fa $fb.
			if pe, is := t.part.(*syntax.ParamExp); is && nameByte(pe.Param.Value[0]) {
				if next, text := tokens[i+1].part.(*syntax.Lit); text && (nameByte(next.Value[0]) || next.Value[0] == '[') {
					return nil
				}
			}
		}
		out = append(out, joined(tokens))
	}
	return out
}

// innocent says whether a part can stand beside braces without being taken for some itself.
func innocent(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.Lit:
		return true
	case *syntax.ParamExp:
		return part.Short
	}
	return false
}

// braceToken is a character that may be syntax, or an atom: an escaped character, a quoted text,
// a parameter.
type braceToken struct {
	char byte // 0 for an atom
	part syntax.WordPart
}

func braceTokens(w *syntax.Word) []braceToken {
	var all []braceToken
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			all = append(all, braceToken{part: part})
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' {
				end := min(i+2, len(lit.Value))
				all = append(all, braceToken{part: piece(lit, lit.Value[i:end])})
				i = end - 1
				continue
			}
			all = append(all, braceToken{char: c, part: piece(lit, lit.Value[i:i+1])})
		}
	}
	return all
}

func piece(lit *syntax.Lit, text string) *syntax.Lit {
	return &syntax.Lit{ValuePos: lit.ValuePos, ValueEnd: lit.ValueEnd, Value: text}
}

// joined puts neighbouring texts together.
func joined(tokens []braceToken) []syntax.WordPart {
	var parts []syntax.WordPart
	var last *syntax.Lit
	for _, t := range tokens {
		lit, ok := t.part.(*syntax.Lit)
		if ok && last != nil {
			last.Value += lit.Value
			continue
		}
		last = nil
		if ok {
			last = piece(lit, lit.Value)
			parts = append(parts, last)
			continue
		}
		parts = append(parts, t.part)
	}
	return parts
}

type braceReader struct {
	tokens []braceToken
	at     int
	depth  int
	found  bool
}

// sequence reads up to the end, or within braces up to a comma or a closing brace, and returns
// what stands there as the words that it becomes.
func (b *braceReader) sequence(within bool) ([][]braceToken, bool) {
	all := [][]braceToken{nil}
	for b.at < len(b.tokens) {
		t := b.tokens[b.at]
		more := [][]braceToken{{t}}
		switch {
		case within && (t.char == ',' || t.char == '}'):
			return all, true
		case t.char == '}':
			return nil, false
		case t.char == '{':
			if !within && b.at+1 < len(b.tokens) && b.tokens[b.at+1].char == '}' { // {} means itself
				more = [][]braceToken{{t, b.tokens[b.at+1]}}
				b.at += 2
				break
			}
			var ok bool
			if more, ok = b.group(); !ok {
				return nil, false
			}
		default:
			b.at++
		}
		if len(all)*len(more) > maxBraceWords {
			return nil, false
		}
		next, parts := make([][]braceToken, 0, len(all)*len(more)), 0
		for _, head := range all {
			for _, tail := range more {
				next = append(next, append(head[:len(head):len(head)], tail...))
				parts += len(head) + len(tail)
			}
		}
		if parts > maxBraceParts*16 {
			return nil, false
		}
		all = next
	}
	return all, !within
}

// group reads {a,b} or {1..3}.
func (b *braceReader) group() ([][]braceToken, bool) {
	if b.depth++; b.depth > 8 {
		return nil, false
	}
	defer func() { b.depth-- }()
	b.at++
	if words, ok := b.span(); ok {
		b.found = true
		return words, true
	}
	var all [][]braceToken
	for commas := 0; ; commas++ {
		some, ok := b.sequence(true)
		if !ok || b.at == len(b.tokens) {
			return nil, false
		}
		if all = append(all, some...); len(all) > maxBraceWords {
			return nil, false
		}
		closes := b.tokens[b.at].char == '}'
		b.at++
		if closes {
			b.found = b.found || commas > 0
			return all, commas > 0
		}
	}
}

// span reads what is left of {1..3} or {a..e}, without a step and without leading zeros.
func (b *braceReader) span() ([][]braceToken, bool) {
	end := b.at
	var text strings.Builder
	for end < len(b.tokens) && b.tokens[end].char != '}' && end-b.at < 16 {
		if b.tokens[end].char == 0 {
			return nil, false
		}
		text.WriteByte(b.tokens[end].char)
		end++
	}
	if end >= len(b.tokens) || b.tokens[end].char != '}' {
		return nil, false
	}
	from, to, is := strings.Cut(text.String(), "..")
	if !is {
		return nil, false
	}
	name := strconv.Itoa
	low, okLow := plainNumber(from)
	high, okHigh := plainNumber(to)
	if !okLow || !okHigh {
		if !letters(from, to) {
			return nil, false
		}
		low, high = int(from[0]), int(to[0])
		name = func(n int) string { return string(rune(n)) }
	}
	step := 1
	if low > high {
		step = -1
	}
	if (high-low)*step >= maxBraceWords {
		return nil, false
	}
	like := b.tokens[b.at].part.(*syntax.Lit)
	b.at = end + 1
	var all [][]braceToken
	for n := low; ; n += step {
		all = append(all, []braceToken{{char: '_', part: piece(like, name(n))}})
		if n == high {
			return all, true
		}
	}
}

func plainNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s && n <= maxBraceNumber && n >= -maxBraceNumber
}

func letters(a, b string) bool {
	in := func(s string, from, to byte) bool { return len(s) == 1 && s[0] >= from && s[0] <= to }
	return in(a, 'a', 'z') && in(b, 'a', 'z') || in(a, 'A', 'Z') && in(b, 'A', 'Z')
}
