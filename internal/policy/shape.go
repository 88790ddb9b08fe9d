package policy

import (
	"maps"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// namedShapes are the shapes of words that no pattern can describe: is:jq is a program in the
// part of jq's language that only looks at its input.
var namedShapes = map[string]func(string) bool{
	"git-word":    gitWord,
	"go-package":  goPackage,
	"path":        func(string) bool { return true },
	"jq":          harmlessJQ,
	"yq":          harmlessYQ,
	"awk":         harmlessAwk,
	"sed":         harmlessSed,
	"go-template": harmlessTemplate,
}

// anyPath is the shape of a name of a file: any word, also a pattern such as *.go.
const anyPath = "is:path"

func shapeNames() []string { return slices.Sorted(maps.Keys(namedShapes)) }

// gitSubstitution is the output of a git command that prints the names of commits only.
var gitSubstitution = lazily(`\$\(git (merge-base|rev-parse|rev-list|describe|symbolic-ref)( [A-Za-z0-9][A-Za-z0-9_./~^@-]*| --(short|verify|abbrev-ref|tags|abbrev=[0-9]+|always|max-count=[0-9]+|max-parents=0|all|fork-point))+\)`)

// fromGit says whether the word stands for a commit: $(git merge-base main HEAD), perhaps with more around it.
func fromGit(w shell.Word) bool {
	rest := gitSubstitution.ReplaceAllString(w.Text, "")
	return rest != w.Text && !strings.ContainsAny(rest, unread+"*?[")
}

// gitWord says whether a word can be nothing but a revision, a range or a path in the repository:
// git compares files outside it, and hands what follows .. on to commands that take it for a flag.
func gitWord(s string) bool {
	if s == "" || strings.ContainsAny(s[:1], "-/~") || strings.Contains(s, "..-") || strings.Contains(s, "://") {
		return false
	}
	return !leadsOut(s)
}

// goPackage says whether a word is a package or a file below the directory, or one that go.mod names.
func goPackage(s string) bool {
	return s != "" && !strings.ContainsAny(s[:1], "-/~") && !strings.ContainsAny(s, ":@=\\") && !leadsOut(s)
}

// leadsOut says whether a part between slashes and colons is "..".
func leadsOut(s string) bool {
	return slices.Contains(strings.FieldsFunc(s, func(c rune) bool { return c == '/' || c == ':' || c == ')' || c == '^' || c == '!' }), "..")
}
