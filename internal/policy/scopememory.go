package policy

import (
	"os"
	"strings"
	"sync"
	"syscall"

	"assent/internal/policy/shell"
)

// scopeMemory is what the evaluation of the next call uses again. Of a call nothing stays in it but places.
type scopeMemory struct {
	operands []shell.Word             // scratch
	resolved map[pathIn]resolvedPath  // paths that were resolved
	links    map[string]link          // what was asked of the disk: one call looks at the same directories again and again
	wholes   map[*pathPattern][]token // see whole
	patterns map[string]bool          // for names: whether they are made to fit secrets
	kept     *places
}

// pathIn is a path as it is written, with the directory that it is seen from where it is relative.
type pathIn struct{ dir, text string }

// link is the answer of readlink.
type link struct {
	to  string
	err error
}

// Bounds of what is remembered during one call, and of what is kept for the next one.
const (
	maxKnownLinks = 1000
	maxKept       = 256
)

var scopes sync.Pool

func newScope() *scope {
	if e, ok := scopes.Get().(*scope); ok {
		e.places = e.kept
		return e
	}
	e := &scope{}
	e.kept = &places{}
	e.places = e.kept
	e.operands = make([]shell.Word, 0, 8)
	e.resolved, e.links = make(map[pathIn]resolvedPath, 32), make(map[string]link, 32)
	return e
}

// release gives the scope back, as new but for its empty memory.
func (e *scope) release() {
	if len(e.resolved) > maxKept || len(e.links) > maxKept || cap(e.operands) > maxKept {
		return
	}
	m := e.scopeMemory
	clear(m.operands[:cap(m.operands)])
	clear(m.resolved)
	clear(m.links)
	m.operands, m.patterns, m.wholes = m.operands[:0], nil, nil
	*e = scope{scopeMemory: m}
	scopes.Put(e)
}

// resolvePath is that of surroundings, and remembers what it resolved.
func (e *scope) resolvePath(dir, text string) (resolvedPath, bool) {
	if strings.IndexByte(text, 0) >= 0 {
		return resolvedPath{}, false
	}
	if e.readlink == nil { // as quick as remembering it
		return e.surroundings.resolvePath(dir, text)
	}
	key := pathIn{dir, text}
	if strings.HasPrefix(text, "/") {
		key.dir = ""
	}
	if at, ok := e.resolved[key]; ok {
		return at, at.spelled != ""
	}
	at, ok := e.surroundings.resolvePath(dir, text)
	if e.resolved == nil {
		e.resolved = map[pathIn]resolvedPath{}
	}
	e.resolved[key] = at
	return at, ok
}

// remembered returns readlink with a memory.
func (e *scope) remembered(readlink func(string) (string, error)) func(string) (string, error) {
	if readlink == nil {
		return nil
	}
	return func(at string) (string, error) {
		a, ok := e.links[at]
		if !ok {
			a.to, a.err = readlink(at)
			if len(e.links) < maxKnownLinks {
				e.links[at] = a
			}
		}
		return a.to, a.err
	}
}

// readlink is os.Readlink without what that allocates: most names are no links.
func readlink(at string) (string, error) {
	var few [256]byte
	for {
		n, err := syscall.Readlink(at, few[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return "", err
		case n == len(few):
			return os.Readlink(at)
		}
		return string(few[:n]), nil
	}
}
