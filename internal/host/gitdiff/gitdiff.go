// Package gitdiff says what changed in a git work tree in which an agent works.
//
// It runs git on a repository that the agent may have written to, and git does what a repository's
// configuration says: it runs monitors, filters, drivers and hooks. So git is given a directory of its own in
// place of the repository's. The objects come from there, and nothing else: no configuration, no hooks, no
// index with marks that hide files; attributes in the work tree name drivers that do not exist here.
package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assent/internal/api"
	"assent/internal/host/gitrepo"
)

// ErrNoRepository says that a directory is not the top of a git work tree.
var ErrNoRepository = errors.New("it works in no git repository")

// Bounds of what git says but for the diff, in bytes, and of the paths of the files that are told.
const (
	maxOut   = 4 << 20
	maxPaths = 128 << 10
)

// emptyTrees are the names of the tree without files, which git knows without having it, by the length of names.
var emptyTrees = map[int]string{
	40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}

// ErrNoGit says that there is no git to run.
var ErrNoGit = errors.New("no git was found that nobody else, and no agent, can replace")

// Read has program, which is git, compare what stands in dir, the top of a work tree, with the commit from which its branch went off that
// of beside, another work tree of the repository; "", or where there is no such commit: with its own HEAD.
// Ignored files and what is within submodules are not in it.
func Read(ctx context.Context, program, dir, beside string) (api.AgentDiff, error) {
	if program == "" {
		return api.AgentDiff{}, ErrNoGit
	}
	repo := gitrepo.Find(dir)
	objects := filepath.Join(gitrepo.CommonDir(dir), "objects")
	if repo.Root != dir || strings.ContainsAny(objects, "\n\"") {
		return api.AgentDiff{}, ErrNoRepository
	}
	d := api.AgentDiff{Directory: dir, Branch: repo.Branch, Base: repo.Head, Files: []api.AgentChangedFile{}}
	tmp, err := os.MkdirTemp("", "assent-diff-")
	if err != nil {
		return d, err
	}
	defer os.RemoveAll(tmp)
	g := git{ctx: ctx, program: program, dir: tmp, tree: dir}
	if err := g.make(objects, len(repo.Head)); err != nil {
		return d, err
	}
	if repo.Head != "" && beside != "" {
		if other := gitrepo.Find(beside); other.Head != "" {
			g.goOff(&d, other.Head, repo.Head)
		}
	}
	against := d.Base
	if against == "" {
		against = emptyTrees[40]
	}
	if _, err := g.run(maxOut, "read-tree", against); err != nil {
		return d, err
	}
	// Without these two, new files would be missing, and each of the calls below would read all files. They
	// fail for files that are not readable, which the diff says itself.
	_, _ = g.run(maxOut, "add", "--intent-to-add", "--ignore-errors", "--", ".")
	_, _ = g.run(maxOut, "update-index", "-q", "--refresh")
	if err := g.files(&d, against); err != nil {
		return d, err
	}
	text, err := g.run(api.MaxAgentDiff, diff(against, "--patch")...)
	if errors.Is(err, errLong) {
		d.Truncated, err = true, nil
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	d.Diff = strings.ToValidUTF8(string(text), "\uFFFD")
	return d, err
}

func diff(against string, how ...string) []string {
	return append(append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all"}, how...), against, "--")
}

// goOff finds out where the branch of head went off that of other, and how many commits it has since.
func (g git) goOff(d *api.AgentDiff, other, head string) {
	out, err := g.run(maxOut, "merge-base", other, head)
	base := strings.TrimSpace(string(out))
	if err != nil || len(base) != len(head) {
		return // of a shallow clone, say
	}
	out, err = g.run(maxOut, "rev-list", "--count", base+".."+head)
	if n, errN := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && errN == nil {
		d.Base, d.Commits = base, n
	}
}

// files lists what changed.
func (g git) files(d *api.AgentDiff, against string) error {
	kinds, err := g.run(maxOut, diff(against, "--name-status", "-z")...)
	if err != nil && !errors.Is(err, errLong) {
		return err
	}
	counts, errCounts := g.run(maxOut, diff(against, "--numstat", "-z")...)
	if errCounts != nil && !errors.Is(errCounts, errLong) {
		return errCounts
	}
	d.Truncated = err != nil || errCounts != nil
	lines := map[string][2]string{}
	for row := range strings.SplitSeq(string(counts), "\x00") {
		if f := strings.SplitN(row, "\t", 3); len(f) == 3 {
			lines[f[2]] = [2]string{f[0], f[1]}
		}
	}
	left := maxPaths
	words := strings.Split(string(kinds), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		path := words[i+1]
		if left -= len(path); left < 0 || len(d.Files) == api.MaxChangedFiles {
			d.Truncated = true
			break
		}
		f := api.AgentChangedFile{Path: strings.ToValidUTF8(path, "\uFFFD"), Status: "modified"}
		switch words[i] {
		case "A":
			f.Status = "added"
		case "D":
			f.Status = "deleted"
		}
		n := lines[path]
		f.Added, _ = strconv.Atoi(n[0])
		f.Removed, _ = strconv.Atoi(n[1])
		f.Binary = n[0] == "-"
		d.Files = append(d.Files, f)
	}
	return nil
}

// git runs git on the work tree tree with the repository dir.
type git struct {
	ctx       context.Context
	program   string
	dir, tree string
}

// make makes the repository: one with another one's objects, whose names are so long.
func (g git) make(objects string, length int) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tbigFileThreshold = 1m\n"
	if length == 64 {
		config = strings.Replace(config, "= 0", "= 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	for _, f := range []struct{ name, text string }{
		{"HEAD", "ref: refs/heads/none\n"},
		{"config", config},
		{"objects/info/alternates", objects + "\n"},
		{"refs/heads/.keep", ""},
		{"info/exclude", "/.claude/worktrees/\n"},
		{"info/attributes", "* !diff !filter\n"}, // what the repository's own say would hide text
	} {
		name := filepath.Join(g.dir, f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(f.text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

var errLong = errors.New("git says more than is read")

// run returns what git prints, up to so many bytes; with errLong if that is not all.
func (g git) run(most int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--git-dir=" + g.dir, "--work-tree=" + g.tree, "--literal-pathspecs"}, args...)...)
	cmd.Dir = g.tree
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run git: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(out, int64(most)+1))
	long := len(text) > most
	if long {
		cancel()
	}
	switch errWait := cmd.Wait(); {
	case long:
		return text[:most], errLong
	case g.ctx.Err() != nil:
		return nil, errors.New("git took too long")
	case err != nil:
		return nil, err
	case errWait != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], errWait)
	}
	return text, nil
}
