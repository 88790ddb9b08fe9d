// Package show makes foreign text safe to look at: what an agent, a repository or an attacker
// wrote reaches a page, a terminal, a log or a push notice only through here.
//
// Text and Line are injective: two different inputs never look the same by way of characters
// that cannot be seen. Characters that look alike in a font (Latin a, Cyrillic а) are beyond
// it. Everything it replaces is written between white square brackets, ⟦U+202E⟧ for a
// character and ⟦xFF⟧ for a byte that is no UTF-8, and a literal ⟦ is itself replaced, so an
// input cannot pretend to be a replacement.
package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many nonspacing marks may stand on one base character. Hebrew with accents
// and Vietnamese need three; more paint over the neighbouring lines.
const maxMarks = 4

// Text returns s with everything invisible or misleading made visible. Line feeds and tabs
// stay. The result is valid UTF-8, at most twelve times as long as s.
func Text(s string) string { return visible(s, true) }

// Line is Text for places of one line (a terminal row, a log entry, a title): line feeds and
// tabs are made visible too.
func Line(s string) string { return visible(s, false) }

// Field is a part of a tool's input, ready to be displayed.
type Field struct {
	// Name is the member's key, quoted like a JSON string unless it is a plain word, with a
	// path where a known list is taken apart: edits[0].old_string.
	Name string `json:"name"`
	// Text is the value after Text: of a string what it says, of anything else its JSON.
	Text string `json:"text"`
	// Kind is what sort of text it is. Every kind but json comes from a JSON string.
	Kind string `json:"kind"`
}

// The kinds of Field.
const (
	KindCode    = "code"     // runs, or becomes a file
	KindWords   = "words"    // the agent's own description: a claim, to be set apart as such
	KindText    = "text"     // any other string
	KindJSON    = "json"     // a value that is no string, as JSON text
	KindPath    = "path"     // a file name
	KindURL     = "url"      // an address
	KindDiffOld = "diff-old" // what an edit takes away
	KindDiffNew = "diff-new" // what an edit puts in its place
)

const hexDigits = "0123456789ABCDEF"

func visible(s string, multiline bool) string {
	i := plainPrefix(s, multiline)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	b.WriteString(s[:i])
	// A mark needs something visible to stand on, and only so many may stand there.
	marks := maxMarks
	if i > 0 && s[i-1] > ' ' {
		marks = 0
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if sr := Surrogate(s[i:]); sr != 0 {
				writeRune(&b, sr)
				n = 3
			} else {
				writeByte(&b, s[i])
			}
			marks = maxMarks
		case r == '\n' && multiline, r == '\t' && multiline, r == ' ':
			b.WriteByte(s[i])
			marks = maxMarks
		case !safe(r), unicode.Is(unicode.M, r) && marks >= maxMarks:
			// A spacing mark without a base would stand on the bracket before it.
			writeRune(&b, r)
			marks = maxMarks
		case unicode.Is(unicode.Mn, r):
			b.WriteString(s[i : i+n])
			marks++
		default:
			b.WriteString(s[i : i+n])
			marks = 0
		}
		i += n
	}
	return b.String()
}

// plainPrefix returns the length of the leading part of s that needs no look at all, which
// mostly is the whole of it.
func plainPrefix(s string, multiline bool) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if ' ' <= c && c < 0x7f || multiline && (c == '\n' || c == '\t') {
			continue
		}
		return i
	}
	return len(s)
}

// safe reports whether r is displayed by itself: something is seen, and nothing else moves or
// changes. Spaces other than U+0020 look like it and are not it.
func safe(r rune) bool {
	switch {
	case r == '⟦', r == utf8.RuneError, r == 0xFFFC:
		return false
	case r < 0x7f:
		return r >= ' '
	case !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.N, unicode.P, unicode.S):
		// Controls, format characters, odd spaces, line separators, enclosing marks,
		// surrogates, private use, unassigned.
		return false
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		// Among them the Hangul fillers and the grapheme joiner.
		return false
	}
	switch r {
	case 0x2800, // braille blank
		0x13440,        // Egyptian mirror
		0x1BC9D,        // Duployan letter selector
		0x1D159,        // musical null notehead
		0x16FE4,        // Khitan filler
		0x17B4, 0x17B5: // Khmer inherent vowels
		return false
	}
	return true
}

// Surrogate returns the surrogate that s starts with in generalised UTF-8, where the JSON
// escape \ud800 without its partner ends up, or 0.
func Surrogate(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

func writeRune(b *strings.Builder, r rune) {
	b.WriteString("⟦U+")
	shift := 12
	if r > 0xFFFFF {
		shift = 20
	} else if r > 0xFFFF {
		shift = 16
	}
	for ; shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[r>>shift&15])
	}
	b.WriteString("⟧")
}

func writeByte(b *strings.Builder, c byte) {
	b.WriteString("⟦x")
	b.WriteByte(hexDigits[c>>4])
	b.WriteByte(hexDigits[c&15])
	b.WriteString("⟧")
}
