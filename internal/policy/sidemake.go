package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// makeOpens says whether a word of make sets a variable that names what make runs, or one whose
// value make or a shell could run. Blanks may stand around the name.
func makeOpens(w shell.Word) bool {
	name, value, is := strings.Cut(w.Prefix, "=")
	if strings.HasPrefix(name, "-") {
		return strings.ContainsAny(w.Text, "$`") && w.Static
	}
	if !is {
		return !w.Static && !strings.Contains(w.Prefix, "/") // it may become such a word
	}
	if !w.Static || strings.HasSuffix(name, "!") {
		return true
	}
	name = strings.TrimSpace(strings.TrimRight(name, ":+?"))
	value = strings.TrimLeft(value, " \t\n\r\v\f")
	switch name {
	case "SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MFLAGS", "VPATH", "MAKEFILE_LIST", ".INCLUDE_DIRS", ".VARIABLES", ".RECIPEPREFIX", "CC", "CXX", "LD", "AR", "AS", "CPP", "RM", "FC", "LEX", "YACC", "TEX", "INSTALL", "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHON", "NODE", "BASH_ENV", "ENV":
		return true
	}
	switch {
	case strings.ContainsAny(value, "$`;|&<>()\\\n\r") || strings.ContainsAny(name, " \t\n"):
		return true
	case strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || strings.HasPrefix(value, "~"):
		return !placeName.MatchString(name) // GO=./x is a program
	case optionsName.MatchString(name):
		return programFlag.MatchString(value)
	}
	return false
}

var (
	placeName   = lazily(`(?i)(dir|directory|prefix|root|path|paths|dest|out|output|file|files|home|target|build|src|source|pkg|package|packages|tests?|log)$`)
	optionsName = lazily(`(?i)(flags?|opts?|options|args?)$`)
	programFlag = lazily(`(^|\s)-+(\w*wrapper|\w*plugin|B|specs|toolexec|exec|vettool|overlay|modfile|fuse-ld|ld-path|ldflags|gcflags|W[lap],|X|load|eval|E|C|f\b|o\b|require|import|r\b)`)
)

// diffOutside finds a file outside the project that git diff compares: two names of which one is no
// file of the repository are --no-index.
func diffOutside(words []shell.Word, mine []bool) string {
	at := slices.IndexFunc(words, func(w shell.Word) bool { return !strings.HasPrefix(w.Prefix, "-") })
	if at < 0 || words[at].Text != "diff" {
		return ""
	}
	var operands []int
	ended := false
	for i := at + 1; i < len(words); i++ {
		switch t := words[i].Prefix; {
		case t == "--" && !ended:
			if len(operands) > 0 {
				return "" // revisions stand in front
			}
			ended = true
		case ended || !strings.HasPrefix(t, "-"):
			operands = append(operands, i)
		}
	}
	if len(operands) != 2 {
		return ""
	}
	for _, i := range operands {
		if t := words[i].Text; !mine[i] && (strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, "../") || strings.Contains(t, "/../")) {
			return t
		}
	}
	return ""
}
