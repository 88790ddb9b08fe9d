package suggest

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed programs.txt
var programsText string

// programs are the lists of programs.txt, which says what they mean.
var programs = sync.OnceValue(func() map[string]shell.Names { return shell.Lists(programsText) })

// never says why no rule is proposed for a program; empty if one may be.
func never(u *shell.Unit) string {
	name := u.Program
	if name == "" || strings.Contains(name, "/") {
		return "the program is not one of the system's, and what it does may change"
	}
	bare := strings.TrimSuffix(strings.TrimRight(name, "0123456789."), "-")
	switch name {
	case "i386", "x86_64", "linux32", "linux64", "uname26", "run0":
		bare = "setarch" // whose names these are, and sudo's likes
	}
	sub := ""
	if len(u.Argv) > 1 {
		sub = u.Argv[1].Text
	}
	lists := programs()
	switch {
	case lists["shell"].Has(bare):
		return "`" + name + "` is a shell: it runs whatever it is given"
	case lists["interpreter"].Has(bare):
		return "`" + name + "` is an interpreter: it runs whatever it is given"
	case lists["wrapper"].Has(bare):
		return "`" + name + "` runs or changes other things than itself: a rule for it would be one for those"
	case lists["file"].Has(bare):
		return "`" + name + "` does what a file says that may be another one next time"
	case lists["runner"].Has(bare):
		return "`" + name + "` runs other programs, or works on another machine: a rule for it would be one for those"
	}
	if name == "git" && slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool {
		return w.Text == "-c" || strings.HasPrefix(w.Text, "--exec-path=") || strings.HasPrefix(w.Text, "--config-env") ||
			strings.HasPrefix(w.Text, "--upload-pack") || strings.HasPrefix(w.Text, "--receive-pack") || strings.HasPrefix(w.Text, "--exec=")
	}) {
		return "this flag of `git` can name a program that it runs"
	}
	// Also where flags stand before it.
	for _, word := range u.Argv[min(1, len(u.Argv)):] {
		if among(lists["subcommands"], bare, word.Text) && (word.Text == sub || strings.HasPrefix(sub, "-")) {
			return "`" + name + " " + word.Text + "` runs other programs, or changes what later commands do"
		}
	}
	return ""
}

// projectCode says in one sentence that a program runs what stands in the project; empty if it is
// not known to.
func projectCode(u *shell.Unit) string {
	const words = "It does what files of the project say, which the agent can change."
	sub := ""
	if len(u.Argv) > 1 {
		sub = u.Argv[1].Text
	}
	lists := programs()
	switch {
	case lists["project"].Has(u.Program), among(lists["project subcommands"], u.Program, sub):
		return words
	case among(lists["hooks"], u.Program, sub):
		return "It runs the hooks of the repository."
	}
	return ""
}

// among says whether a list has a program with this subcommand.
func among(list shell.Names, program, sub string) bool {
	return list.Has(program) && slices.Contains(strings.Split(list[program], ","), sub)
}

// filter says whether a program does nothing to what comes in but write parts of it out.
func filter(name string) bool { return programs()["filter"].Has(name) }
