package show

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// member is one key and value of a JSON object. encoding/json is not asked for them because
// it loses what matters here: it folds the case of keys, lets the last of two equal keys win,
// and turns every lone surrogate into U+FFFD.
type member struct {
	key string // decoded; a lone surrogate stands in generalised UTF-8
	raw string // the value's JSON text
}

// object splits a JSON object into its members, in order. ok is false for anything that is not
// exactly one object in valid UTF-8 whose keys differ by more than their case.
func object(in string) (members []member, ok bool) {
	if !utf8.ValidString(in) || !json.Valid([]byte(in)) {
		return nil, false
	}
	return split(in)
}

// split is object for text that is known to be valid JSON.
func split(in string) (members []member, ok bool) {
	i := space(in, 0)
	if in[i] != '{' {
		return nil, false
	}
	seen := map[string]bool{}
	for i = space(in, i+1); in[i] != '}'; {
		end := valueEnd(in, i)
		key := unquote(in[i:end])
		if f := fold(key); seen[f] {
			return nil, false
		} else {
			seen[f] = true
		}
		i = space(in, space(in, end)+1) // past the colon
		end = valueEnd(in, i)
		members = append(members, member{key, in[i:end]})
		if i = space(in, end); in[i] == ',' {
			i = space(in, i+1)
		}
	}
	return members, true
}

// elements splits valid JSON text into the elements of an array; ok is false when it is none.
func elements(in string) (raws []string, ok bool) {
	i := space(in, 0)
	if in[i] != '[' {
		return nil, false
	}
	for i = space(in, i+1); in[i] != ']'; {
		end := valueEnd(in, i)
		raws = append(raws, in[i:end])
		if i = space(in, end); in[i] == ',' {
			i = space(in, i+1)
		}
	}
	return raws, true
}

func space(in string, i int) int {
	for i < len(in) && (in[i] == ' ' || in[i] == '\t' || in[i] == '\n' || in[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns where the value that starts at i ends. It keeps no stack: in valid JSON
// counting brackets is enough.
func valueEnd(in string, i int) int {
	depth := 0
	for ; i < len(in); i++ {
		switch in[i] {
		case '"':
			for i++; in[i] != '"'; i++ {
				if in[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of what a number or word stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// unquote decodes a valid JSON string literal. Escaped surrogates that form no pair become
// generalised UTF-8, which Text shows as what they are.
func unquote(lit string) string {
	lit = lit[1 : len(lit)-1]
	if strings.IndexByte(lit, '\\') < 0 {
		return lit
	}
	b := make([]byte, 0, len(lit))
	for i := 0; i < len(lit); i++ {
		if lit[i] != '\\' {
			b = append(b, lit[i])
			continue
		}
		i++
		switch c := lit[i]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hex4(lit[i+1:])
			i += 4
			if 0xD800 <= r && r < 0xDC00 && strings.HasPrefix(lit[i+1:], `\u`) {
				if low := hex4(lit[i+3:]); 0xDC00 <= low && low < 0xE000 {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					i += 6
				}
			}
			if 0xD800 <= r && r < 0xE000 {
				b = append(b, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
			} else {
				b = utf8.AppendRune(b, r)
			}
		default: // " \ /
			b = append(b, c)
		}
	}
	return string(b)
}

func hex4(s string) rune {
	var r rune
	for i := 0; i < 4; i++ {
		c := s[i]
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// fold maps keys that a careless reader may take for each other to the same string: the
// smallest rune of each case orbit, so that K and the Kelvin sign agree.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		low := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			low = min(low, f)
		}
		return low
	}, s)
}
