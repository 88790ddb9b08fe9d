package policy

import (
	"assent/internal/policy/shell"
	"strings"
)

// awkDoor finds, among the words of awk, a flag other than -F and -v, and a program that runs a
// command, writes a file or cannot be read for certain. What one awk takes for a long flag
// with a value, another skips, and takes the value for its program.
func awkDoor(words []shell.Word, mine []bool) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.Prefix
		switch {
		case t == "-F" || t == "-v":
			i++
			if i < len(words) && words[i].Glob {
				return shown(words[i])
			}
		case strings.HasPrefix(t, "-F") || strings.HasPrefix(t, "-v"):
			if w.Glob {
				return shown(w)
			}
		case mine[i] && (t == "-f" || t == "--file"):
			return ""
		case w.Static && t == "--":
		case strings.HasPrefix(t, "-") && len(t) > 1:
			if !mine[i] {
				return shown(w)
			}
		default:
			if mine[i] || w.Static && safeAwk(w.Text) {
				return ""
			}
			return shown(w)
		}
	}
	return ""
}

// safeAwk says whether an awk program neither runs a command nor writes a file, and reads nothing
// but the files that the command names.
func safeAwk(text string) bool {
	prints := false // within a statement of print or printf
	depth := 0      // of parentheses since then
	division := false
	var header, closed bool // a keyword whose parenthesis heads a statement was the last word; such a head was closed
	var heads []bool        // open parentheses: whether they are such heads
	for i := 0; i < len(text); {
		if c := text[i]; closed && c == '/' {
			return false // readers differ in whether it divides
		} else if c != ' ' && c != '\t' {
			closed = false
			header = header && c == '('
		}
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '"':
			for i++; ; i++ {
				if i >= len(text) || text[i] == '\n' {
					return false
				}
				if text[i] == '\\' {
					i++
				} else if text[i] == '"' {
					break
				}
			}
			i++
			division = true
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '\n': // a statement may go on behind it: print 1,
			division = false
			i++
		case c == ';' || c == '}' || c == '{':
			prints, depth, division = false, 0, false
			i++
		case c == '/' && !division:
			for i++; ; i++ {
				if i >= len(text) || text[i] == '\n' || text[i] == '[' && bracketHolds(text[i:], '/') {
					return false
				}
				if text[i] == '\\' {
					i++
				} else if text[i] == '/' {
					break
				}
			}
			i++
			division = true
		case c == '|':
			if i+1 >= len(text) || text[i+1] != '|' {
				return false
			}
			i += 2
			division = false
		case c == '>':
			if i+1 < len(text) && text[i+1] == '>' || prints && depth <= 0 {
				return false
			}
			i++
			division = false
		case c == '@' || c == '\\' || c == 0:
			return false
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			from := i
			for i < len(text) && (text[i] == '_' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z' || text[i] >= '0' && text[i] <= '9') {
				i++
			}
			switch text[from:i] {
			case "system", "extension", "load_ext":
				return false
			case "getline", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "ARGC": // other files, the environment
				return false
			case "if", "while", "for", "switch":
				header = true
			case "print", "printf":
				prints, depth = true, 0
				closed = true
			case "return", "exit", "else", "do", "in", "case", "length", "next", "nextfile", "delete", "func", "function", "break", "continue", "default":
				closed = true
			}
			division = true
		case c == '(':
			heads, header = append(heads, header), false
			depth++
			division = false
			i++
		case c == ')':
			if n := len(heads) - 1; n >= 0 {
				closed, heads = heads[n], heads[:n]
			}
			depth--
			division = true
			i++
		case c == ']' || c == '$' || c >= '0' && c <= '9' || c == '.':
			division = true
			i++
		case (c == '+' || c == '-') && i+1 < len(text) && text[i+1] == c:
			division = true
			i += 2
		default:
			division = false
			i++
		}
	}
	return true
}

// bracketHolds says whether a bracket expression holds a character, which to some ends what the
// expression stands in.
func bracketHolds(s string, c byte) bool {
	end := strings.IndexByte(s[1:], ']') + 1
	if end < 1 {
		return true
	}
	if end == 1 || end == 2 && s[1] == '^' {
		if n := strings.IndexByte(s[end+1:], ']'); n >= 0 {
			end += n + 1
		}
	}
	return strings.IndexByte(s[:end], c) >= 0
}
