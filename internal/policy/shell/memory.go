package shell

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// memory is what the next reading uses again. Nothing of a text stays in it: release overwrites
// all of it, and the parser with one that has never been used.
type memory struct {
	parser   *syntax.Parser
	fresh    *syntax.Parser
	source   source
	workDirs []workDir // the last piece of them, filled up to its length
	words    []Word    // of commands; the same
}

// Readers that are not in use, by dialect.
var bashReaders, zshReaders sync.Pool

func newReader(o Options, zsh bool) *reader {
	pool, variant := &bashReaders, syntax.LangBash
	if zsh {
		pool, variant = &zshReaders, syntax.LangZsh
	}
	r, ok := pool.Get().(*reader)
	if !ok {
		r = &reader{}
		r.parser, r.fresh = syntax.NewParser(syntax.Variant(variant)), syntax.NewParser(syntax.Variant(variant))
	}
	r.opts, r.zsh = o, zsh
	return r
}

// release gives the reader back, as new but for its empty memory.
func (r *reader) release() {
	pool := &bashReaders
	if r.zsh {
		pool = &zshReaders
	}
	*r.parser = *r.fresh
	clean := reader{memory: memory{parser: r.parser, fresh: r.fresh}}
	if cap(r.units) <= 64 && cap(r.words) <= 256 {
		clear(r.units)
		clear(r.words)
		clear(r.workDirs)
		clean.units, clean.words, clean.workDirs = r.units[:0], r.words[:0], r.workDirs[:0]
	}
	*r = clean
	pool.Put(r)
}

// keep returns a copy of w that lives until the reading ends.
func (r *reader) keep(w workDir) *workDir {
	if len(r.workDirs) == cap(r.workDirs) {
		r.workDirs = make([]workDir, 0, 16)
	}
	r.workDirs = append(r.workDirs, w)
	return &r.workDirs[len(r.workDirs)-1]
}

// argv returns an empty list for n words, which are allocated together for several commands.
func (r *reader) argv(n int) []Word {
	if cap(r.words)-len(r.words) < n {
		r.words = make([]Word, 0, max(n, 64))
	}
	from := len(r.words)
	r.words = r.words[:from+n]
	return r.words[from : from : from+n]
}

// maxFrames is how deep the parser's stack may be, looked at once in each KiB of text.
const maxFrames = 64 * 16

var errDeep = errors.New("nested too deeply")

// source hands the text to the parser, which takes at most a KiB at a time, and stops it when its
// stack has grown too deep. The parser recurses as deep as the text nests, has no bound of its
// own, and a stack that overflows takes the whole process with it.
type source struct {
	text string
	at   int
	read bool
	pcs  [1]uintptr
}

func (s *source) Read(p []byte) (int, error) {
	if s.read && !shallow(s.text) && runtime.Callers(maxFrames, s.pcs[:]) > 0 {
		return 0, errDeep
	}
	s.read = true
	if s.at == len(s.text) {
		return 0, io.EOF
	}
	n := copy(p, s.text[s.at:])
	s.at += n
	return n, nil
}

// shallow says that a text is too short and has too few brackets for a deep stack, so that the
// frames need no counting, which takes half as long as all of the parsing. An opening bracket
// takes at most 28 of them, any other two characters at most 4 (if within if).
func shallow(text string) bool {
	if len(text) > 256 {
		return false
	}
	brackets := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{', '`':
			brackets++
		}
	}
	return brackets <= 8
}
