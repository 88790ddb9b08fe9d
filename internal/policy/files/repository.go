package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
)

// repoFile is where a repository keeps its rules, below its root.
const repoFile = ".assent/rules.yaml"

// maxRepos bounds the repositories that are remembered, and maxRepoBytes their files in all, as the
// rules in memory take some hundred times as much. The one that was not asked about for longest
// goes first.
const (
	maxRepos     = 64
	maxRepoBytes = 1 << 20
)

// repo is the rules of one repository, with all others.
type repo struct {
	seen     stamp
	set      *policy.Set // nil: the file is not there, or broken
	doubt    string      // why nothing is allowed by rule here; empty if it may be
	state    hook.RuleFile
	problems []hook.RuleProblem
	used     time.Time
}

// size is the length of its file, if its rules are remembered.
func (r *repo) size() int64 {
	if r.set == nil {
		return 0
	}
	return r.seen.size
}

// repository returns the rules for requests from the repository at root, nil if it has none of
// its own, and why nothing may be allowed there. Its file is read again whenever it has changed.
func (b *Book) repository(root string) (*policy.Set, string) {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root {
		return nil, ""
	}
	in, seen, err := openBelow(root)
	if in != nil {
		defer in.Close()
	}
	b.mu.Lock()
	r := b.repos[root]
	sources := b.sources
	if r != nil && err == nil && r.seen == seen {
		r.used = time.Now()
		b.mu.Unlock()
		return r.set, r.doubt
	}
	delete(b.repos, root)
	b.mu.Unlock()
	if err == nil && in == nil {
		return nil, ""
	}
	r = b.readRepository(filepath.Join(root, repoFile), in, err, sources)
	r.seen, r.used = seen, time.Now()
	b.remember(root, r, sources)
	return r.set, r.doubt
}

func (b *Book) readRepository(path string, in *os.File, err error, sources []policy.Source) *repo {
	r := &repo{state: hook.RuleFile{Path: path, Layer: string(policy.Repository), State: hook.FileInForce}}
	var data []byte
	if err == nil {
		data, err = whole(in, maxRepoFile)
	}
	if err == nil {
		o := b.options()
		o.SkipTests = true // a stranger's, and a file that only tightens needs none
		r.set, err = policy.Load(append(sources[:len(sources):len(sources)], policy.Source{Name: path, Layer: policy.Repository, Data: data}), o)
	}
	if err != nil {
		r.set = nil
		for _, p := range policy.Problems(err) {
			r.problems = append(r.problems, problemOf(p))
		}
		if r.problems == nil {
			r.problems = []hook.RuleProblem{(&file{path: path}).problem(err)}
		}
		r.problems = limited(r.problems)
		r.state.State = hook.FileBroken
		r.doubt = "this repository's rules are broken, and nothing is allowed by rule in it: " + text(r.problems[0])
		b.cfg.Logf("rules of a repository are broken: %s", text(r.problems[0]))
		return r
	}
	r.state.LoadedAt = time.Now().UTC()
	for _, n := range r.set.Notices() {
		if n.File == path {
			r.problems = append(r.problems, problemOf(n))
		}
	}
	r.problems = limited(r.problems)
	return r
}

// remember keeps r, unless other files came into force while it was made.
func (b *Book) remember(root string, r *repo, sources []policy.Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(sources) != len(b.sources) || len(sources) > 0 && &sources[0] != &b.sources[0] {
		return
	}
	sum := r.size()
	for _, o := range b.repos {
		sum += o.size()
	}
	for len(b.repos) > 0 && (len(b.repos) >= maxRepos || sum > maxRepoBytes) {
		oldest := ""
		for k, o := range b.repos {
			if oldest == "" || o.used.Before(b.repos[oldest].used) {
				oldest = k
			}
		}
		sum -= b.repos[oldest].size()
		delete(b.repos, oldest)
	}
	b.repos[root] = r
}

// openBelow opens the file of the repository at root, which no link leads out of. Nil without an
// error: there is none.
func openBelow(root string) (*os.File, stamp, error) {
	dir, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, stamp{}, nil // nothing to be seen from here, and so nothing to obey
	}
	if err != nil { // too many open files, perhaps: what it would deny is not known
		return nil, stamp{}, err
	}
	defer dir.Close()
	in, err := dir.OpenFile(repoFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, stamp{}, nil
	}
	if err != nil {
		return nil, stamp{}, err
	}
	fi, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, stamp{}, err
	}
	return in, stampOf(fi), nil
}
