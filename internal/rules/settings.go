package rules

import (
	"errors"
	"os"
	"path"
	"strings"

	"assent/internal/shell"
)

// strangeRepository looks for a repository between a directory and the project's own: one that
// was planted there, with a .git or as bare files, has its own configuration, which can name
// programs that git status or git diff run.
func (e *scope) strangeRepository(dir string) string {
	if e.readlink == nil || e.project == "" || !lies(e.project, dir) {
		return ""
	}
	there := func(name string) bool {
		_, err := e.readlink(path.Join(dir, name))
		return !errors.Is(err, os.ErrNotExist)
	}
	for ; ; dir = path.Dir(dir) {
		switch {
		case dir == e.project && !there("HEAD"): // neither, or the project's own
			return ""
		case there(".git"):
			if dir == e.project {
				return ""
			}
			return dir
		case there("HEAD") && there("objects"):
			return dir
		case dir == e.project || dir == "/":
			return ""
		}
	}
}

// ownSettings finds commands that change settings without naming their file: those of the
// repository with git config, those of the agent with its own program.
func ownSettings(u *shell.Unit) string {
	switch u.Base {
	case "claude":
		if len(u.Argv) == 2 && u.Argv[1].Static && (u.Argv[1].Text == "--version" || u.Argv[1].Text == "--help") {
			return ""
		}
		return "`claude` is the agent itself, which no rule allows to start or to change"
	case "git":
		words := u.Argv[min(1, len(u.Argv)):]
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
			words = words[1:]
			if len(words) > 0 && words[0].Text != "config" && len(words) > 1 && words[1].Text == "config" {
				words = words[1:] // the value of a flag
			}
		}
		if len(words) > 0 && words[0].Text == "config" && !readsConfig(words[1:]) {
			return "`git config` can change " + quote(".git/config") + ", which no rule allows"
		}
	}
	return ""
}

// readsConfig says whether the arguments of git config only read.
func readsConfig(words []shell.Word) bool {
	operands := 0
	for _, w := range words {
		if !w.Static {
			return false
		}
		name, _, _ := strings.Cut(w.Text, "=")
		switch name {
		case "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l":
			return true
		case "--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "-z", "--null", "--name-only", "--type", "--bool", "--int", "--path", "--includes":
			continue
		}
		if strings.HasPrefix(w.Text, "-") {
			return false
		}
		if operands == 0 && !strings.Contains(w.Text, ".") && w.Text != "get" && w.Text != "list" {
			return false // the word for what to do, such as edit or set
		}
		if operands == 0 && (w.Text == "get" || w.Text == "list") {
			return true
		}
		operands++
	}
	return operands == 1
}
