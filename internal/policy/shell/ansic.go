package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// certainANSI decodes the text of $'…' where bash and zsh agree on it in every locale; ok is false
// elsewhere.
func certainANSI(s string) (text string, ok bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		base, digits := 0, 0
		switch c := s[i]; c {
		case '\\', '\'', '"':
			out = append(out, c)
			continue
		case 'a', 'b', 'e', 'f', 'n', 'r', 't', 'v':
			out = append(out, map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11}[c])
			continue
		case 'x':
			base, digits = 16, 2
		case 'u':
			base, digits = 16, 4
		case '0', '1', '2', '3':
			base, digits = 8, 3
			i--
		default:
			return "", false
		}
		if i+1+digits > len(s) {
			return "", false // fewer digits, which also may go on in what follows
		}
		n, err := strconv.ParseUint(s[i+1:i+1+digits], base, 32)
		if err != nil || n == 0 || n >= utf8.RuneSelf {
			return "", false
		}
		out = append(out, byte(n))
		i += digits
	}
	return string(out), true
}

// ansiC decodes $'…', for rules that deny: what it makes of what shells read differently never counts as certain.
func ansiC(s string) []byte {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		digits := func(base, most int) (uint64, bool) {
			n := 0
			for n < most && i+1+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF"[:map[int]int{8: 8, 16: 22}[base]], s[i+1+n]) >= 0 {
				n++
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], base, 32)
			i += n
			return v, err == nil
		}
		switch c := s[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'a', 'b', 'e', 'E', 'f', 'v':
			out = append(out, map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'v': 11}[c])
		case 'x':
			if v, ok := digits(16, 2); ok {
				out = append(out, byte(v))
			}
		case 'u', 'U':
			if v, ok := digits(16, map[byte]int{'u': 4, 'U': 8}[c]); ok {
				out = utf8.AppendRune(out, rune(v))
			} else {
				out = append(out, '\\', c)
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i--
			if v, ok := digits(8, 3); ok {
				out = append(out, byte(v))
			}
		case 'c':
			if i++; i < len(s) {
				out = append(out, s[i]&0x1f)
			}
		case '\\', '\'', '"', '?':
			out = append(out, c)
		default:
			out = append(out, '\\', c)
		}
	}
	return out
}
