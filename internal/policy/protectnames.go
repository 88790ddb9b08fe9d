package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A name that is known only when the command runs may be that of a file from which git or the agent takes what to
// run: find . -name config -exec cp x {} \; overwrites .git/config, and tee ./$x whatever x says. A program that
// certainly changes the files that it is given gets no such name by a rule, but for what find found below places
// that hold nothing of the kind, and for patterns, which globWord compares.

// unknownNames says why a word of the unit that is not known may be a file that no rule lets a program change; empty
// otherwise.
func (p *protection) unknownNames(u *shell.Unit, e *scope) (why string) {
	if u.Kind != shell.Command || len(u.Argv) < 2 || u.Base == "mkdir" || !slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool { return !w.Static }) || !mayChange(u.Base) {
		return ""
	}
	certain := fileProgram(u.Base, opEdit) == yes && !onlyPrints(u)
	part := gitPart(u)
	certain = certain || slices.Contains(gitChanges, part)
	inEach(u, func() bool {
		for i, w := range u.Argv[1:] {
			if w.Static || part == "checkout" && slices.Contains([]string{"-b", "-B", "--orphan"}, u.Argv[i].Text) { // a new branch
				continue
			}
			if why = p.unknownName(w, u, e, certain); why != "" {
				return false
			}
		}
		return true
	})
	return why
}

func (p *protection) unknownName(w shell.Word, u *shell.Unit, e *scope, certain bool) string {
	if found, from := e.foundBy(w, u); found {
		if p.foundApart(w, from, e, certain) {
			return ""
		}
	} else if !certain && !mayBePath(w, u) || w.Only(shell.Number|shell.FileNames) || w.Glob && w.Text != "…" && !strings.ContainsAny(w.Text, "$`") {
		return ""
	}
	return quote(w.Text) + " may become " + notAllowed
}

// onlyPrints says whether a sed prints what it makes of the files. A script that writes is a side door.
func onlyPrints(u *shell.Unit) bool {
	return (u.Base == "sed" || u.Base == "gsed") && !slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool {
		t := w.Prefix
		return len(t) > 1 && t[0] == '-' && (strings.Contains(t, "i") || strings.Contains(t, "I")) || !w.Static && w.MaybeFlag && !slices.ContainsFunc(u.Argv[1:], func(d shell.Word) bool { return d.Static && d.Text == "--" })
	})
}

// foundBy says whether a word stands for what find found, or what xargs got, and returns the commands that did;
// none when they are not known.
func (e *scope) foundBy(w shell.Word, u *shell.Unit) (is bool, from []*shell.Unit) {
	switch {
	case !reachedBy(u, "xargs"):
		if is = strings.Contains(w.Text, "{}") && len(u.Via) > 0 && strings.HasPrefix(u.Via[len(u.Via)-1], "find -"); !is {
			return false, nil
		}
		for i := range e.units {
			if f := &e.units[i]; f.Kind == shell.Command && f.Base == "find" && f.Start <= u.Start && u.End <= f.End {
				from = append(from, f)
			}
		}
		return true, from
	case w.Glob && w.Text != "…" && !w.MaybeFlag && w.Only(shell.FileNames):
		return false, nil
	}
	if !e.fedByFinder(u) {
		return true, nil
	}
	for i := range e.units {
		f := &e.units[i]
		switch {
		case f == u:
			return true, from
		case f.Kind != shell.Command || f.Stdout != shell.Pipe:
		case f.Program == "find":
			from = append(from, f)
		case f.Program == "fd" || f.Program == "fdfind" || f.Program == "git":
			return true, nil
		}
	}
	return true, nil // a unit that is no part of the script
}

// foundApart says whether what the commands find certainly is nothing protected: each begins in places that are
// neither that nor, where the program certainly changes what it is given, above the project.
func (p *protection) foundApart(w shell.Word, from []*shell.Unit, e *scope, certain bool) bool {
	for _, f := range from {
		for _, start := range findStarts(f) {
			if !start.Static || !f.DirKnown && !path.IsAbs(start.Text) {
				return !certain
			}
			place := start.Text
			if strings.Contains(w.Text, "{}") { // of find .gi, {}t/hooks is .git/hooks
				place = strings.ReplaceAll(w.Text, "{}", start.Text)
			}
			for _, text := range slices.Compact([]string{start.Text, place}) {
				at, ok := e.resolvePath(f.Dir, text)
				if !ok || p.touches(at, e, true) {
					return false
				}
				if certain && (p.above(at, e) || e.holdsProjectAt(at) || strings.Contains(w.Text, "..")) {
					return false
				}
			}
		}
	}
	return len(from) > 0 || !certain
}

// holdsProjectAt says whether a path, or where it leads, is the project's directory or one above it.
func (e *scope) holdsProjectAt(at resolvedPath) bool {
	if e.project == "" {
		return false
	}
	project := e.resolve(e.project)
	return lies(at.spelled, e.project) || slices.ContainsFunc(at.real, func(r string) bool { return lies(r, e.project) || project != "" && lies(r, project) })
}

// findStarts are the places in which find begins.
func findStarts(u *shell.Unit) []shell.Word {
	var all []shell.Word
	for _, w := range u.Argv[1:] {
		switch {
		case w.Static && (w.Text == "-H" || w.Text == "-L" || w.Text == "-P" || strings.HasPrefix(w.Text, "-O")):
			continue
		case strings.HasPrefix(w.Prefix, "-") || w.Text == "(" || w.Text == "!" || w.Text == ")" || w.Text == ",":
			if len(all) == 0 {
				return []shell.Word{plainWord(u.Argv[0], ".")}
			}
			return all
		}
		all = append(all, w)
	}
	if len(all) == 0 {
		return []shell.Word{plainWord(u.Argv[0], ".")}
	}
	return all
}

// gitChanges are the parts of git that change the files that they are named.
var gitChanges = []string{"mv", "rm", "checkout", "restore", "apply", "am", "clean", "clone", "init", "init-db", "worktree", "submodule", "subtree", "checkout-index", "format-patch", "bundle", "archive", "mailsplit", "merge-file", "stash", "lfs", "sparse-checkout"} // read-only

// gitPart is the part of git that a command runs, "" for another program.
func gitPart(u *shell.Unit) string {
	if u.Base != "git" {
		return ""
	}
	if at := firstOperand(u.Argv[1:]); at >= 0 {
		return u.Argv[1+at].Text
	}
	return ""
}

// mayBePath says whether a word that is not known looks like a path, to a program of which nobody knows what it does
// with the files it is given.
func mayBePath(w shell.Word, u *shell.Unit) bool {
	return w.Prefix != "" && strings.IndexByte("./~", w.Prefix[0]) >= 0 && u.Base != "git" && u.Base != "go" && programOf(u.Base).kind == 0
}
