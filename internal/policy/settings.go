package policy

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// strangeRepository looks for a repository between a directory and the project's own: one that
// was planted there, with a .git or as bare files, has its own configuration, which can name
// programs that git status or git diff run.
func (e *scope) strangeRepository(dir string) string {
	if e.strange.dir != dir || !e.strange.known {
		e.strange = strangeDir{dir, true, e.isStrange(dir)}
	}
	if e.strange.is {
		return dir
	}
	return ""
}

// strangeDir says whether a directory is, or lies in, a repository of its own.
type strangeDir struct {
	dir       string
	known, is bool
}

func (e *scope) isStrange(dir string) bool {
	if e.readlink == nil || e.project == "" || !lies(e.project, dir) {
		return false
	}
	// A link may lead out of the project, to where another repository begins further up.
	top, at := e.realBase(&pathPattern{anchor: atProject}), e.resolve(dir)
	if top == "" || at == "" || !lies(top, at) {
		return true
	}
	gone := 0 // how long the part of at is that does not exist: nothing lies in it
	if e.last == dir {
		gone = e.lastGone
	}
	there := func(name string) bool {
		if gone > 0 && len(at) >= gone {
			return false
		}
		_, err := e.readlink(child(at, name, ""))
		return !errors.Is(err, os.ErrNotExist)
	}
	for ; ; at = path.Dir(at) {
		switch {
		case at == top && !there("HEAD"): // neither, or the project's own
			return false
		case there(".git"):
			return at != top
		case there("HEAD") && there("objects"):
			return true
		case at == top || at == "/":
			return false
		}
	}
}

// mayPlant says whether something else in the command may change files, and so make a directory a
// repository before git looks at it.
func (e *scope) mayPlant(git *shell.Unit) bool {
	for i := range e.units {
		u := &e.units[i]
		switch {
		case u == git, u.Kind == shell.ReadFile, u.Kind == shell.Assign:
		case u.Kind != shell.Command:
			return true
		case u.Base == "git":
			if len(u.Argv) < 2 || !slices.Contains(lookingGit, u.Argv[1].Text) {
				return true
			}
		case u.Base == "mkdir":
			return true
		case usesOf(u.Base)&(plainWords|printsWords) != 0, u.Base == "sed" && len(u.Argv) > 2 && u.Argv[1].Text == "-n" && printsLines.MatchString(u.Argv[2].Text) && !slices.ContainsFunc(u.Argv[3:], mayBeFlag):
		case mayChange(u.Base):
			return true
		}
	}
	return false
}

// printsLines are the scripts of sed that only print some lines.
var printsLines = lazily(`^[0-9$]+(,[0-9$]+)?p$`)

func mayBeFlag(w shell.Word) bool { return w.MaybeFlag || strings.HasPrefix(w.Prefix, "-") }

// lookingGit are commands of git that leave the working tree as it is.
var lookingGit = []string{
	"status", "log", "diff", "show", "branch", "rev-parse", "rev-list", "ls-files", "ls-tree", "remote", "tag", "describe", "blame", "merge-base", "cat-file",
	"shortlog", "reflog", "for-each-ref", "show-ref", "symbolic-ref", "name-rev", "grep", "whatchanged", "diff-tree", "diff-index", "diff-files", "check-ignore", "count-objects", "cherry", "config",
}

// ownSettings finds commands that change settings without naming their file: those of the
// repository with git config, those of the agent with its own program.
func ownSettings(u *shell.Unit) string {
	switch {
	case agentProgram(u.Base):
		if len(u.Argv) == 2 && u.Argv[1].Static && (u.Argv[1].Text == "--version" || u.Argv[1].Text == "--help") {
			return ""
		}
		if u.Base != "claude" {
			return quote(u.Base) + " is a coding agent, which no rule allows to start or to change"
		}
		return "`claude` is the agent itself, which no rule allows to start or to change"
	case u.Base == "git":
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

// unpacksTo returns the directory that an archive is unpacked into.
func unpacksTo(u *shell.Unit) (shell.Word, bool) {
	here := shell.Word{Text: ".", Prefix: ".", Static: true}
	words := u.Argv[min(1, len(u.Argv)):]
	flags, to := "", []string(nil)
	switch u.Base {
	case "tar", "gtar", "bsdtar", "star":
		to = []string{"-C", "--directory", "--cd"}
		unpacks := false
		for i, w := range words {
			t := w.Text
			switch {
			case !w.Static && w.MaybeFlag, strings.HasPrefix(t, "--ext"), strings.HasPrefix(t, "--ge"):
				unpacks = true
			case i == 0 && !strings.HasPrefix(t, "--"), strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--"):
				unpacks = unpacks || strings.Contains(t, "x")
			}
		}
		if !unpacks {
			return here, false
		}
	case "unzip", "7z", "7za", "7zr", "unrar":
		flags, to = "ltvpZ", []string{"-d"}
	case "cpio", "pax", "patch", "gpatch":
		to = []string{"-D", "--directory", "-d"}
	default:
		return here, false
	}
	at := here
	for i, w := range words {
		t := w.Text
		if flags != "" && i == 0 && (len(t) > 1 && t[0] == '-' && strings.ContainsAny(t, flags) || t == "l" || t == "t") {
			return here, false
		}
		for _, flag := range to {
			switch name, value, is := strings.Cut(t, "="); {
			case t == flag && i+1 < len(words):
				at = words[i+1]
			case is && name == flag:
				at.Text, at.Prefix = value, value
			case len(flag) == 2 && strings.HasPrefix(t, flag) && len(t) > 2:
				at.Text, at.Prefix = t[2:], t[2:]
			}
		}
	}
	if !at.Static {
		return here, true
	}
	return at, true
}
