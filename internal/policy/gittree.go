package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// gitLeavesFiles are the parts of git that change no file of a work tree but those that they are named. Any other,
// an alias included, may put another version of every tracked file there.
var gitLeavesFiles = map[string]bool{ // read-only
	"add": true, "annotate": true, "blame": true, "branch": true, "bundle": true, "cat-file": true, "check-attr": true, "check-ignore": true,
	"cherry": true, "clone": true, "commit": true, "commit-tree": true, "config": true, "count-objects": true, "describe": true, "diff": true, "diff-files": true,
	"diff-index": true, "diff-tree": true, "fetch": true, "for-each-ref": true, "fsck": true, "gc": true, "grep": true, "hash-object": true,
	"help": true, "init": true, "log": true, "ls-files": true, "ls-remote": true, "ls-tree": true, "merge-base": true, "mv": true, "name-rev": true, "notes": true,
	"push": true, "range-diff": true, "reflog": true, "remote": true, "rev-list": true, "rev-parse": true, "shortlog": true, "show": true,
	"show-ref": true, "status": true, "symbolic-ref": true, "tag": true, "var": true, "verify-commit": true, "verify-tag": true,
	"version": true, "whatchanged": true, "write-tree": true,
}

// gitRewrites says whether a git command may change files of its work tree that it does not name: a merge, a patch,
// what was stashed.
func gitRewrites(u *shell.Unit) bool {
	words := u.Argv[min(1, len(u.Argv)):]
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.Static:
			return true
		case w.Text == "-C" || w.Text == "-c" || w.Text == "--git-dir" || w.Text == "--work-tree" || w.Text == "--namespace" || w.Text == "--config-env":
			i++ // its value
		case strings.HasPrefix(w.Text, "-"):
		case w.Text == "rm": // git matches patterns by itself, in all directories
			return slices.ContainsFunc(words[i+1:], func(w shell.Word) bool {
				return !w.Static || strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, "*?[\\") || strings.HasPrefix(w.Text, "--p")
			})
		case w.Text == "stash" || w.Text == "worktree" || w.Text == "submodule":
			more := words[i+1:]
			return len(more) == 0 || !more[0].Static || !slices.Contains([]string{"list", "show", "status"}, more[0].Text)
		case w.Text == "reset":
			return slices.ContainsFunc(words[i+1:], func(w shell.Word) bool {
				return !w.Static || strings.HasPrefix(w.Text, "--") && !slices.Contains([]string{"--", "--soft", "--mixed", "--quiet"}, w.Text)
			})
		default:
			return !gitLeavesFiles[w.Text]
		}
	}
	return false // git alone, git --version
}

// guardsTree says whether a git command may rewrite what a rule about edits is about. A rule about reading is not
// meant: what git puts there is not shown.
func (m *fileMatch) guardsTree(u *shell.Unit, e *scope) truth {
	if u.Base != "git" || m.ops&(opEdit|opWrite) == 0 || !gitRewrites(u) {
		return no
	}
	found := no
	for _, dir := range []string{".", e.project} {
		if dir != "" {
			found = found.or(perhaps.and(e.holds(shell.Word{Text: dir, Prefix: dir, Static: true}, u, m.paths)))
		}
	}
	return found
}
