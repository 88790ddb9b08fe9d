package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// sedDoor finds, among the words of sed, a flag that is not known to be harmless and a script that
// runs a command, reads or writes a file, or cannot be read for certain.
func sedDoor(words []shell.Word, mine []bool) string {
	scripted := false // -e or -f said where the script is
	for i, w := range words {
		if strings.HasPrefix(w.Prefix, "-e") || strings.HasPrefix(w.Prefix, "-f") || strings.HasPrefix(w.Prefix, "--e") || strings.HasPrefix(w.Prefix, "--fi") || strings.HasPrefix(w.Prefix, "-") && !strings.HasPrefix(w.Prefix, "--") && strings.HasSuffix(w.Prefix, "e") && !mine[i] {
			scripted = true
		}
	}
	ended, script := false, false
	for i, w := range words {
		t := w.Text
		switch {
		case !w.Static && w.MaybeFlag && !ended && !mine[i]: // flags may follow the names of files
			return t
		case script:
			script = false
			if !mine[i] && !safeSed(w) {
				return t
			}
		case ended || len(w.Prefix) < 2 || w.Prefix[0] != '-':
			if scripted {
				continue
			}
			scripted = true
			if !mine[i] && !safeSed(w) {
				return t
			}
		case !w.Static:
			if !mine[i] {
				return t
			}
		case t == "--":
			ended = true
		case strings.HasPrefix(t, "--expression="):
			w.Text = t[len("--expression="):]
			if !mine[i] && !safeSed(w) {
				return t
			}
		case t == "--expression":
			script = true
		case slices.Contains([]string{"--quiet", "--silent", "--regexp-extended", "--null-data", "--separate", "--unbuffered", "--posix", "--sandbox", "--debug", "--help", "--version"}, t):
		case t[1] == '-':
			if !mine[i] {
				return t
			}
		default:
		letters:
			for k := 1; k < len(t); k++ {
				switch t[k] {
				case 'n', 'E', 'r', 's', 'u', 'z':
				case 'l':
					if !digits(t[k+1:]) && !mine[i] {
						return t
					}
					break letters
				case 'e':
					if k+1 == len(t) {
						script = true
						break letters
					}
					w.Text = t[k+1:]
					if !mine[i] && !safeSed(w) {
						return t
					}
					break letters
				default:
					if !mine[i] {
						return t
					}
					break letters
				}
			}
		}
	}
	return ""
}

func safeSed(w shell.Word) bool {
	if !w.Static {
		return false
	}
	p := sedScript{w.Text, 0}
	return p.safe()
}

// sedScript reads a script of sed as far as its commands are known to change text only.
type sedScript struct {
	text string
	at   int
}

func (p *sedScript) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *sedScript) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedScript) line() {
	for p.at < len(p.text) && p.text[p.at] != '\n' {
		p.at++
	}
}

func (p *sedScript) safe() bool {
	if strings.IndexByte(p.text, 0) >= 0 {
		return false
	}
	for {
		p.skip(" \t\n;{}")
		if p.at == len(p.text) {
			return true
		}
		if !p.address() {
			return false
		}
		p.skip(" \t!")
		if p.peek() == '{' {
			continue
		}
		c := p.peek()
		p.at++
		switch c {
		case '#':
			p.line()
			continue
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		case 'q', 'Q', 'l', 'L':
			p.skip(" \t")
			p.skip("0123456789")
		case ':', 'b', 't', 'T':
			// A label ends at a blank for some, where the next command then begins.
			p.skip(" \t")
			p.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
		case 'a', 'i', 'c':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				if p.text[p.at] == '\\' {
					p.at++
				}
				p.at++
			}
			if p.at > len(p.text) {
				return false // the text stands in the next -e
			}
		case 's', 'y':
			d := p.peek()
			if d == 0 || d == '\n' || d == '\\' {
				return false
			}
			p.at++
			if !p.upTo(d, c == 's') || !p.upTo(d, false) {
				return false
			}
			if c == 's' {
				p.skip("gpiIMm0123456789")
			}
		default: // e, w, W, r, R, v and what nobody knows
			return false
		}
		p.skip(" \t")
		if p.at < len(p.text) && strings.IndexByte(";\n}#", p.peek()) < 0 {
			return false
		}
	}
}

// upTo reads to behind the delimiter, which in a bracket expression ends nothing. What a backslash
// does there differs.
func (p *sedScript) upTo(d byte, pattern bool) bool {
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == d:
			return true
		case c == '\\':
			p.at++
		case c == '\n' && pattern:
			return false
		case c == '[' && pattern:
			end := p.at
			if end < len(p.text) && p.text[end] == '^' {
				end++
			}
			if end < len(p.text) && p.text[end] == ']' {
				end++
			}
			for end < len(p.text) && p.text[end] != ']' {
				if p.text[end] == '[' && end+1 < len(p.text) && p.text[end+1] == ':' { // [:space:]
					if n := strings.Index(p.text[end:], ":]"); n > 0 {
						end += n + 1
					}
				}
				end++
			}
			if end >= len(p.text) || strings.Contains(p.text[p.at:end], "\n") || strings.HasSuffix(p.text[p.at:end], "\\") || strings.Contains(p.text[p.at:end], "\\\\") {
				return false
			}
			p.at = end + 1
		}
	}
	return false
}

func (p *sedScript) address() bool {
	for n := 0; n < 2; n++ {
		switch c := p.peek(); {
		case c >= '0' && c <= '9' || n == 1 && (c == '+' || c == '~'):
			p.skip("0123456789+~")
		case c == '$':
			p.at++
		case c == '/', c == '\\':
			p.at++
			if c == '\\' {
				if c = p.peek(); c == 0 || c == '\n' || c == '\\' {
					return false
				}
				p.at++
			}
			if !p.upTo(c, true) {
				return false
			}
			p.skip("IM")
		default:
			return n == 0
		}
		p.skip(" \t")
		if p.peek() != ',' {
			return true
		}
		p.at++
		p.skip(" \t")
	}
	return true
}
