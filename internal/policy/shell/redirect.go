package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects reads redirections, in order, and returns what the command then is connected to and
// which units are its files.
func (r *reader) redirects(list []*syntax.Redirect, at execContext) (execContext, []int) {
	var files []int
	for _, d := range list {
		fd := ""
		if d.N != nil {
			fd = d.N.Value
			if !digits(fd) || len(fd) > 2 {
				r.doubtAt(DoubtRedirect, d, "The number of the descriptor is chosen by the shell.")
			}
		}
		if d.Word != nil {
			raw := r.raw(d.Word)
			name, _, is := strings.Cut(raw, "=")
			element, _, subscript := strings.Cut(raw, "[") // bash then reads up to the ], over blanks and semicolons
			if is && syntax.ValidName(strings.TrimSuffix(name, "+")) || subscript && syntax.ValidName(element) {
				r.doubtAt(DoubtRedirect, d, "The word after a redirection looks like an assignment.")
			}
			// In >2>x bash takes 2>x for a redirection of its own.
			if end := int(d.Word.End().Offset()); end < len(r.src) && (r.src[end] == '<' || r.src[end] == '>') {
				if s := r.raw(d.Word); digits(s) || strings.HasPrefix(s, "{") {
					r.doubtAt(DoubtRedirect, d, "The word after a redirection may be the number of another.")
				}
			}
		}
		in, out := fd == "" || fd == "0", fd == "" || fd == "1"
		switch d.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			all := d.Op == syntax.RdrAll || d.Op == syntax.AppAll
			i, stream := r.target(d, at, Write)
			if i >= 0 {
				files = append(files, i)
			}
			if out || all {
				at.stdout, at.out = stream, i
			}
		case syntax.RdrIn:
			i, stream := r.target(d, at, ReadFile)
			if i >= 0 {
				files = append(files, i)
			}
			if in {
				at.stdin = stream
			}
		case syntax.DplIn, syntax.DplOut:
			r.duplicate(d, at)
			switch {
			case fd == "1", fd == "" && d.Op == syntax.DplOut:
				at.stdout, at.out = OtherFD, -1
			case fd == "0", fd == "":
				at.stdin = OtherFD
			}
		case syntax.Hdoc, syntax.DashHdoc:
			at.varies = r.heredoc(d, at) || at.varies
			if in {
				at.stdin = Heredoc
			}
		case syntax.WordHdoc:
			at.varies = !r.word(d.Word, at).Static || at.varies
			if in {
				at.stdin = Heredoc
			}
		default: // <>, and what bash does not know
			r.doubtAt(DoubtRedirect, d, "This redirection is not read alike everywhere.")
			if i, _ := r.target(d, at, Write); i >= 0 {
				files = append(files, i)
			}
			at.stdin, at.stdout, at.out = OtherFD, OtherFD, -1
		}
	}
	return at, files
}

// target adds the file of a redirection; -1 for what is no file.
func (r *reader) target(d *syntax.Redirect, at execContext, kind Kind) (int, Stream) {
	w := r.word(d.Word, at)
	if w.Static {
		switch w.Text {
		case "/dev/null":
			return -1, DevNull
		case "/dev/stdout", "/dev/stderr":
			if kind == Write {
				return -1, OtherFD
			}
		case "/dev/stdin":
			if kind == ReadFile {
				return -1, OtherFD
			}
		}
	} else {
		r.doubtAt(DoubtRedirect, d, "The name of the file is computed.")
	}
	if strings.Contains(w.Text, "/dev/tcp/") || strings.Contains(w.Text, "/dev/udp/") {
		r.doubtAt(DoubtRedirect, d, "It opens a network connection.")
	}
	if w.Text == "" {
		r.doubtAt(DoubtRedirect, d, "The name of the file is empty.")
	}
	return r.add(Unit{Kind: kind, Start: int(d.Pos().Offset()), End: int(d.End().Offset()), Path: w, Out: -1, Of: -1}, at), File
}

// duplicate doubts >&x and <&x unless x is a number or a dash with nothing after it: of >&--x
// bash takes >&- and hands -x to the command.
func (r *reader) duplicate(d *syntax.Redirect, at execContext) {
	from := int(d.OpPos.Offset()) + 2
	rest := ""
	if from <= len(r.src) {
		rest = r.src[from:]
	}
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	if n == 0 && strings.HasPrefix(rest, "-") {
		n = 1
	}
	if n == 0 || n > 2 || n < len(rest) && strings.IndexByte(" \t\n;|&)", rest[n]) < 0 {
		r.doubtAt(DoubtRedirect, d, "What follows >& or <& is not just a number.")
		w := r.word(d.Word, at)
		r.add(Unit{Kind: Write, Start: int(d.Pos().Offset()), End: int(d.End().Offset()), Path: w, Out: -1, Of: -1}, at)
		if r.guessed {
			return
		}
		r.guessed = true
		r.guessText(strings.NewReplacer(">&-", " ", "<&-", " ").Replace(r.src), at)
	}
}

// heredoc reads a here-document. It is data if its delimiter is quoted; else the substitutions
// in it are read. It returns true when the text depends on values known only when it runs.
func (r *reader) heredoc(d *syntax.Redirect, at execContext) (varies bool) {
	r.heredocs++
	quoted, ok := delimiter(r.raw(d.Word))
	if end := int(d.Word.End().Offset()); !ok || end < len(r.src) && strings.IndexByte(wordEnds, r.src[end]) < 0 {
		r.doubtAt(DoubtHeredoc, d, "The delimiter of the here-document is not a plain word.")
	}
	if d.Hdoc == nil {
		r.doubtAt(DoubtHeredoc, d, "The here-document is empty.")
		return false
	}
	if !r.ends(d) {
		r.doubtAt(DoubtHeredoc, d, "Where the here-document ends is not read alike everywhere.")
	}
	if body := r.raw(d.Hdoc); !quoted {
		switch {
		case strings.ContainsRune(body, '\\') && strings.ContainsAny(body, "$`"), strings.Contains(body, "\\\n"):
			r.doubtAt(DoubtHeredoc, d, "Backslashes in the here-document are not read alike everywhere.")
		case strings.ContainsRune(body, '`'):
			r.doubtAt(DoubtHeredoc, d, "The here-document runs commands.")
		}
	}
	var b wordText
	for _, p := range d.Hdoc.Parts {
		if _, ok := p.(*syntax.Lit); ok {
			continue
		}
		varies = true
		if _, ok := p.(*syntax.ParamExp); !ok {
			r.doubtAt(DoubtHeredoc, d, "The here-document runs commands.")
		}
		r.part(p, at, &b, true)
	}
	return varies
}

// ends says whether a here-document ends where the parser says, and nowhere else to anyone. Within
// $(…) bash also ends it at a line that begins with the delimiter and holds a closing parenthesis.
func (r *reader) ends(d *syntax.Redirect) bool {
	word := strings.Trim(r.raw(d.Word), `'"\`)
	from, end := int(d.Hdoc.Pos().Offset()), int(d.Hdoc.End().Offset())
	for from < len(r.src) {
		line, rest, _ := strings.Cut(r.src[from:], "\n")
		text := line
		if d.Op == syntax.DashHdoc {
			text = strings.TrimLeft(line, "\t")
		}
		if text == word {
			return end == from+len(line)
		}
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), word) {
			return false
		}
		from = len(r.src) - len(rest)
		if rest == "" {
			return false
		}
	}
	return false
}

// delimiter says whether a here-document's delimiter is quoted, and whether it is of a kind that
// is read alike everywhere.
func delimiter(s string) (quoted, ok bool) {
	switch {
	case len(s) > 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0]:
		quoted, s = true, s[1:len(s)-1]
	case len(s) > 1 && s[0] == '\\':
		quoted, s = true, s[1:]
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			return true, false
		}
	}
	return quoted, s != ""
}
