package describe

import (
	"strings"
	"unicode/utf8"

	"assent/internal/text/strictjson"
)

// member is one key and value of a JSON object.
type member struct {
	key string // decoded; a lone surrogate stands in generalised UTF-8
	raw string // the value's JSON text
}

// object splits a JSON object into its members, in order. ok is false for anything that is not
// exactly one object in valid UTF-8 of whose keys no reader takes one for another.
func object(raw []byte) (members []member, ok bool) {
	all, err := strictjson.Object(raw)
	if err != nil || !utf8.Valid(raw) {
		return nil, false
	}
	if _, twice := strictjson.Repeated(all); twice {
		return nil, false
	}
	in := string(raw) // once, for all values
	members = make([]member, len(all))
	for i, m := range all {
		members[i] = member{unquote(string(m.Name)), in[m.At : m.At+len(m.Value)]}
	}
	return members, true
}

// elements splits valid JSON text into the elements of an array; ok is false when it is none.
func elements(in string) (raws []string, ok bool) {
	all, err := strictjson.Array([]byte(in))
	for _, v := range all {
		raws = append(raws, string(v))
	}
	return raws, err == nil
}

// unquote decodes a valid JSON string literal. Escaped surrogates that form no pair become
// generalised UTF-8, which show.Text shows as what they are.
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

// Member returns a string member of a JSON object, as a Field shows it before Text. ok is false
// where the input is taken apart by nobody, or the member is missing or no string.
func Member(raw []byte, key string) (value string, ok bool) {
	members, ok := object(raw)
	if !ok {
		return "", false
	}
	for _, m := range members {
		if m.key == key && m.raw[0] == '"' {
			return unquote(m.raw), true
		}
	}
	return "", false
}
