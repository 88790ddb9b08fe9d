package shell

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds. What exceeds one gets a Doubt; rules that deny or ask see what was found before.
const (
	maxChars   = 10_000   // parsed; of a longer script the beginning is guessed at
	maxBytes   = 64 << 10 // guessed at
	maxNesting = 64       // of groups, substitutions, loops and words
	maxInline  = 4        // bash -c within bash -c
	maxUnits   = 2_000    // of a script
	maxDoubts  = 64       // kept; one suffices to refuse
	maxScripts = 64       // inner scripts in all
	maxGuesses = 12       // starts of an inner command tried for a program like sudo
)

// Read reads text as bash would run it: bash -c text, not interactively, in o.Dir. It takes time
// in proportion to the text, at most some milliseconds, and never panics.
func Read(text string, o Options) Script {
	s := Borrow(text, o)
	s.reader.units, s.reader.words = nil, nil // they are the caller's now
	s.Release()
	return s
}

// Borrow is Read for who needs the script for a moment only: its Units and what they hold are
// used again for another text after Release. Their texts may be kept.
func Borrow(text string, o Options) Script {
	r := newReader(o, false)
	r.top(text)
	if len(r.units) == 0 && len(r.doubts) == 0 {
		r.doubt(DoubtSyntax, 0, len(text), "There is no command.")
	}
	s := Script{Text: text, Units: r.units, Doubts: r.doubts, Cut: r.cut || r.full, reader: r}
	if o.Zsh && len(s.Doubts) == 0 && !sameInZsh(text) {
		z := newReader(o, true)
		defer z.release()
		z.top(text)
		if len(z.doubts) > 0 || !sameUnits(r.units, z.units) {
			s.Doubts = append(s.Doubts, Doubt{Code: DoubtZsh, End: len(text), Why: "zsh may read this differently than bash."})
		}
	}
	return s
}

// Release gives a script from Borrow back, once. It must not be used any more.
func (s *Script) Release() {
	if s.reader != nil {
		s.reader.release()
		s.reader = nil
	}
}

// reader is one reading. It is used by one goroutine and then released.
type reader struct {
	opts  Options
	zsh   bool // the second reading, as zsh
	bones bool // write substitutions in words as $()
	memory

	units  []Unit
	doubts []Doubt

	// The script at hand: the whole text, or the text of an inner one.
	src      string
	inner    bool // src stood in a word, at start to end of the whole text
	start    int
	end      int
	inline   int // how many scripts deep
	depth    int // of the walk
	full     bool
	cut      bool // a guess did not go to the text's end
	heredocs int  // read so far
	scripts  int  // inner ones read so far
	guessed  bool // the text has been guessed at
	vars     *variable
	varsFull bool // too many: nothing is known of any
	forgets  int  // loops looked through for assignments
	rounds   int  // characters of loops, walked with a value each
	braced   int  // words from braces
	posix    bool // the script is for a sh, which may know less than bash
}

// execContext is where a command runs and what it is connected to.
type execContext struct {
	dir           *workDir
	stdin, stdout Stream
	varies        bool // the here-document does, see Unit.StdinVaries
	out           int
	via           []string
	denyOnly      bool
}

func (p execContext) through(how string) execContext {
	p.via = append(p.via[:len(p.via):len(p.via)], how)
	return p
}

func (r *reader) top(text string) {
	at := execContext{dir: r.keep(workDir{dir: r.opts.Dir, known: r.opts.Dir != ""}), out: -1}
	if len(text) > maxChars && utf8.RuneCountInString(text) > maxChars {
		// It cannot be allowed, and to parse it could take long.
		r.doubt(DoubtLong, 0, len(text), "It has more than 10,000 characters.")
		r.src = text[:min(len(text), maxBytes)]
		r.cut = len(text) > maxBytes
		r.characters(r.src)
		r.guessText(r.src, at)
		return
	}
	if strings.TrimSpace(text) == "" {
		r.src = text
		r.doubt(DoubtSyntax, 0, len(text), "There is no command.")
		return
	}
	r.script(text, at)
}

// script reads and walks one text. What the parser would misread is found before it is asked.
func (r *reader) script(text string, at execContext) {
	r.src = text
	before := len(r.doubts)
	r.characters(text)
	r.lines(text)
	strange := len(r.doubts) > before
	r.source = source{text: text}
	file, err := r.parser.Parse(&r.source, "")
	switch {
	case errors.Is(err, errDeep):
		r.doubt(DoubtNesting, 0, len(text), "It is nested too deeply to be read.")
		strange = true
	case err != nil:
		r.doubt(DoubtSyntax, 0, len(text), "It is not a complete shell command: "+syntaxError(err)+".")
		strange = true
	default:
		r.stmts(file.Stmts, at)
	}
	if strange {
		r.guessText(text, at)
	}
}

func syntaxError(err error) string {
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return pe.Text
	}
	return "unreadable"
}

func (r *reader) doubt(code string, start, end int, why string) {
	if r.inner {
		start, end = r.start, r.end
	}
	if len(r.doubts) >= maxDoubts {
		return
	}
	for _, d := range r.doubts {
		if d.Code == code && d.Start == start {
			return
		}
	}
	r.doubts = append(r.doubts, Doubt{Code: code, Start: start, End: end, Why: why})
}

func (r *reader) doubtAt(code string, n syntax.Node, why string) {
	r.doubt(code, int(n.Pos().Offset()), int(n.End().Offset()), why)
}

// add appends a unit and returns its index, or -1 when there are too many.
func (r *reader) add(u Unit, at execContext) int {
	if len(r.units) >= maxUnits {
		r.full = true
		r.doubt(DoubtUnit, 0, len(r.src), "It does too many things to look at each.")
		return -1
	}
	if r.inner {
		u.Start, u.End, u.Inner = r.start, r.end, r.src
	}
	u.Dir, u.DirKnown = at.dir.dir, at.dir.certain()
	if len(at.dir.others) > 0 {
		u.Dirs = at.dir.all()
	}
	u.Via, u.DenyOnly = at.via, at.denyOnly
	if len(r.units) == cap(r.units) {
		r.units = slices.Grow(r.units, max(16, len(r.units))) // append alone grows a long list by less, and copies it often
	}
	r.units = append(r.units, u)
	return len(r.units) - 1
}

// raw is the source text of a node.
func (r *reader) raw(n syntax.Node) string {
	start, end := int(n.Pos().Offset()), int(n.End().Offset())
	if start < 0 || end > len(r.src) || start > end {
		return ""
	}
	return r.src[start:end]
}

// characters doubts what terminals and people do not show as it is, and what the parser and bash
// take differently: NUL, a lone carriage return, invisible and bidirectional characters, but for those that
// are certainly a part of an emoji.
func (r *reader) characters(text string) {
	for i := 0; i < len(text); i++ {
		b := text[i]
		if b >= 0x20 && b < 0x7f || b == '\n' || b == '\t' {
			continue
		}
		size := 1
		if b >= utf8.RuneSelf {
			if n := emojiLength(text[i:]); n > 0 {
				i += n - 1
				continue
			}
			if i > 0 && isDigit(text[i-1]) && strings.HasPrefix(text[i:], keycap) {
				i += len(keycap) - 1
				continue
			}
			c, n := utf8.DecodeRuneInString(text[i:])
			if !(c == utf8.RuneError && n == 1) && visible(c) {
				i += n - 1
				continue
			}
			size = n
		}
		r.doubt(DoubtCharacter, i, i+size, "It holds an invisible or broken character.")
		return
	}
}

// lines doubts the line ends that the parser and bash read differently.
func (r *reader) lines(text string) {
	for i := 0; i < len(text); i++ {
		n := strings.IndexByte(text[i:], '\\')
		if n < 0 || len(r.doubts) >= maxDoubts {
			return
		}
		i += n
		if i+1 == len(text) {
			r.doubt(DoubtBackslash, i, i+1, "It ends in a backslash.")
			return
		}
		if text[i+1] != '\n' {
			continue
		}
		line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
		if strings.ContainsRune(line, '#') {
			r.doubt(DoubtComment, i, i+1, "A line that may be a comment ends in a backslash.")
		}
		// Within a token, and twice in a row, the two disagree about what is joined.
		if line != "" && line[len(line)-1] != ' ' && line[len(line)-1] != '\t' {
			r.doubt(DoubtBackslash, i, i+1, "A backslash at a line's end stands within a word.")
		}
		if i+2 == len(text) {
			r.doubt(DoubtBackslash, i, i+1, "It ends in a continued line.")
		}
	}
}
