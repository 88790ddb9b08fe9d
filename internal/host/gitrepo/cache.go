package gitrepo

import (
	"os"
	"path"
	"sync"
	"time"

	"assent/internal/hook"
)

const (
	// maxRoots is how many work trees a Cache remembers.
	maxRoots = 512
	// settled is how long a file must have been as it is before it is believed that a change
	// would show in its time: clocks of file systems tick slowly.
	settled = 2 * time.Second
)

// Cache finds work trees as Find does, for a process that asks for the same ones again and again.
// HEAD and the branch's own file are small, and are read every time, so that an answer is never
// behind the repository. What takes long to read, packed-refs and the configuration, is read
// again when the file is another one. The zero value is ready.
//
// # Concurrency
//
// Find may be called from any goroutine. No lock is held while files are read.
type Cache struct {
	mu    sync.Mutex
	roots map[string]known // guarded by mu; by their top directory
}

// known is what is remembered of one work tree.
type known struct {
	git            gitDirs
	packed, remote memo
}

// memo is what a file answered to a question, and the file as it was then.
type memo struct {
	file             os.FileInfo // nil: there was none
	question, answer string
	holds            bool
}

// Find returns the work tree that dir stands in; see the function Find.
func (c *Cache) Find(dir string) hook.Repo {
	root, g, ok := find(dir)
	if !ok {
		return hook.Repo{}
	}
	c.mu.Lock()
	k := c.roots[root]
	c.mu.Unlock()
	if k.git != g {
		k = known{git: g}
	}
	r := hook.Repo{Root: root}
	r.Branch, r.Head = g.head(func(ref string) string {
		return k.packed.ask(path.Join(g.common, "packed-refs"), ref, g.packed)
	})
	r.Remote = k.remote.ask(path.Join(g.common, "config"), "", func(string) string { return g.remote() })

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roots == nil {
		c.roots = map[string]known{}
	}
	if _, ok := c.roots[root]; !ok && len(c.roots) >= maxRoots {
		for some := range c.roots { // whichever: a reader of so many has no favourites
			delete(c.roots, some)
			break
		}
	}
	c.roots[root] = k
	return r
}

// ask returns what read does, which it calls if the file is not the one it knows. The file is
// looked at before it is read: what changes between is read again the next time.
func (m *memo) ask(file, question string, read func(question string) string) string {
	fi, err := os.Stat(file)
	if err != nil {
		fi = nil
	}
	if m.holds && m.question == question && same(m.file, fi) {
		return m.answer
	}
	holds := fi == nil || time.Since(fi.ModTime()) > settled
	*m = memo{file: fi, question: question, answer: read(question), holds: holds}
	return m.answer
}

// same reports whether a file is as it was. Git replaces a file instead of writing into it.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
