package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordText gathers what a word becomes.
type wordText struct {
	text    []byte
	prefix  string
	dynamic bool
	many    bool
	dash    bool
	tilde   bool
	unknown Source
	expands bool
}

// wordEnds are the characters that may follow a word that is an argument, a value or a pattern.
const wordEnds = " \t\n;|&()<>`"

// vary notes that what follows is not known. dash says that it may begin with one.
func (b *wordText) vary(dash bool, from Source) {
	b.unknown |= from
	if b.dynamic {
		return
	}
	b.dynamic, b.prefix = true, string(b.text)
	if len(b.text) > 0 {
		dash = b.text[0] == '-'
	}
	b.dash = b.dash || dash
}

// split notes that the word may become any number of words that begin with anything.
func (b *wordText) split(from Source) {
	b.vary(true, from)
	b.many, b.dash = true, true
}

// word reads one word, and the commands in its substitutions.
func (r *reader) word(w *syntax.Word, at execContext) Word {
	r.closed(w)
	return r.piece(w, at)
}

// closed doubts a word that does not end where the parser says.
func (r *reader) closed(w *syntax.Word) {
	if w == nil || len(w.Parts) == 0 {
		return
	}
	if end := int(w.End().Offset()); end < len(r.src) && strings.IndexByte(wordEnds, r.src[end]) < 0 {
		// To bash a # in a word is a character; the parser sometimes begins a comment there.
		r.doubtAt(DoubtComment, w, "Where this word ends is not read alike everywhere.")
	}
}

// piece reads a word, or what stands for one within an expansion.
func (r *reader) piece(w *syntax.Word, at execContext) Word {
	out := Word{Static: true}
	if w == nil || len(w.Parts) == 0 {
		return out
	}
	out.Start, out.End = int(w.Pos().Offset()), int(w.End().Offset())
	if r.inner {
		out.Start, out.End = r.start, r.end
	}
	if len(w.Parts) == 1 {
		switch part := w.Parts[0].(type) {
		case *syntax.Lit:
			if plainText(part.Value) {
				out.Text, out.Prefix = part.Value, part.Value
				return out
			}
		case *syntax.SglQuoted:
			if !part.Dollar {
				out.Text, out.Prefix = part.Value, part.Value
				return out
			}
		case *syntax.DblQuoted:
			if s, ok := onlyText(part); ok && r.depth+2 <= maxNesting {
				out.Text, out.Prefix = s, s
				return out
			}
		}
	}
	var b wordText
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			r.bare(lit, w, i, &b)
			continue
		}
		r.part(part, at, &b, false)
	}
	out.Text = string(b.text)
	out.Prefix, out.tilde, out.Expanded = out.Text, b.tilde, b.expands
	if b.dynamic {
		out.Static, out.Prefix, out.Glob, out.MaybeFlag = false, b.prefix, b.many, b.dash
		out.Unknown = b.unknown
	}
	return out
}

// onlyText returns the text of "…" that holds nothing else.
func onlyText(q *syntax.DblQuoted) (string, bool) {
	if q.Dollar || len(q.Parts) != 1 {
		return "", false
	}
	lit, ok := q.Parts[0].(*syntax.Lit)
	if !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
		return "", false
	}
	return lit.Value, true
}

// plainText says that an unquoted literal means itself.
func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '{', '~':
			return false
		case '=':
			if i == 0 {
				return false
			}
		}
	}
	return true
}

// bare reads the i-th part of a word, text without quotes.
func (r *reader) bare(lit *syntax.Lit, w *syntax.Word, i int, b *wordText) {
	s := lit.Value
	for k := 0; k < len(s); k++ {
		switch c := s[k]; c {
		case '\\':
			if k+1 == len(s) {
				r.doubtAt(DoubtBackslash, lit, "A backslash stands at the end of a word.")
				b.vary(true, Other)
				return
			}
			k++
			b.text = append(b.text, s[k])
		case '*', '?':
			b.vary(true, FileNames)
			b.many = true
			b.text = append(b.text, c)
		case '[':
			// Without a closing bracket it is a character, but the bracket may come from anything that follows.
			if strings.IndexByte(s[k:], ']') >= 0 || i+1 < len(w.Parts) {
				b.vary(true, FileNames)
				b.many = true
			} else if r.zsh && s != "[" {
				r.doubtAt(DoubtZsh, lit, "zsh takes it for a broken pattern.")
			}
			b.text = append(b.text, c)
		case '{':
			rest := s[k:]
			if strings.ContainsRune(rest, ',') || strings.Contains(rest, "..") || i+1 < len(w.Parts) {
				b.vary(true, Other)
				b.many = true
			}
			b.text = append(b.text, c)
		case '~':
			switch {
			case i == 0 && k == 0:
				end := strings.IndexByte(s, '/')
				if end < 0 {
					end = len(s)
				}
				if end == 1 && (len(s) > 1 || len(w.Parts) == 1) && r.opts.Home != "" {
					b.tilde = true
					b.text = append(b.text, r.opts.Home...)
					continue
				}
				b.vary(false, Other)
			case k > 0 && (s[k-1] == '=' || s[k-1] == ':'), k == 0:
				b.vary(false, Other)
			}
			b.text = append(b.text, c)
		case '=':
			if i == 0 && k == 0 && (r.zsh || r.opts.Zsh) && (len(s) > 1 || len(w.Parts) > 1) {
				r.doubtAt(DoubtZsh, lit, "zsh puts a program's path in place of a word that begins with =.")
			}
			b.text = append(b.text, c)
		default:
			b.text = append(b.text, c)
		}
	}
}

// part reads one part of a word that is not bare text.
func (r *reader) part(part syntax.WordPart, at execContext, b *wordText, quoted bool) {
	r.depth++
	defer func() { r.depth-- }()
	if r.tooDeep(part) {
		b.split(Other)
		return
	}
	switch part := part.(type) {
	case *syntax.Lit:
		r.doubleQuoted(part.Value, b)
	case *syntax.SglQuoted:
		if part.Dollar {
			if text, ok := certainANSI(part.Value); ok {
				if r.posix {
					r.doubtAt(DoubtExpansion, part, "Not every sh knows $'…'.")
				}
				b.text = append(b.text, text...)
				return
			}
			b.vary(true, Other)
			b.text = append(b.text, ansiC(part.Value)...)
			return
		}
		b.text = append(b.text, part.Value...)
	case *syntax.DblQuoted:
		if part.Dollar {
			b.vary(true, Other)
		}
		for _, inner := range part.Parts {
			r.part(inner, at, b, true)
		}
	case *syntax.ParamExp:
		r.param(part, at)
		name := ""
		if part.Param != nil {
			name = part.Param.Value
		}
		switch {
		case r.expands(part, at, quoted, b):
			return
		case part.Short && (name == "?" || name == "#" || name == "$"):
			b.vary(false, Number)
		case quoted && name != "@" && part.Index == nil:
			b.vary(true, Other)
		default:
			b.split(Other)
		}
		b.text = append(b.text, r.raw(part)...)
	case *syntax.CmdSubst:
		r.subst(part, at)
		if quoted {
			b.vary(true, Output)
		} else {
			b.split(Output)
		}
		b.text = append(b.text, r.substText(part)...)
	case *syntax.ArithmExp:
		if part.Bracket || part.Unsigned {
			r.doubtAt(DoubtArithmetic, part, "This form of arithmetic is not read alike everywhere.")
		}
		r.arithm(part.X, at)
		b.vary(true, Other) // it may be negative
		b.text = append(b.text, r.substText(part)...)
	case *syntax.ProcSubst:
		if part.Op == syntax.CmdIn {
			b.vary(false, Substitution)
		} else {
			b.vary(false, Other)
		}
		b.text = append(b.text, r.substText(part)...)
		r.procSubst(part, at)
	default: // *syntax.ExtGlob, and what later versions add
		r.doubtAt(DoubtGlob, part, "It holds an extended pattern.")
		b.split(Other)
		b.text = append(b.text, r.raw(part)...)
	}
}

func (r *reader) substText(n syntax.Node) string {
	if r.bones {
		return "$()"
	}
	return r.raw(n)
}

// doubleQuoted appends text as it stands between double quotes.
func (r *reader) doubleQuoted(s string, b *wordText) {
	for k := 0; k < len(s); k++ {
		if s[k] == '\\' && k+1 < len(s) {
			switch s[k+1] {
			case '$', '`', '"', '\\':
				k++
			case '\n':
				k++
				continue
			}
		}
		b.text = append(b.text, s[k])
	}
}
