package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// writtenOut checks the selectors literal and no_arg of a rule that allows.
func (m *commandMatch) writtenOut(u *shell.Unit, e *scope) fault {
	if !m.literal && !m.piped && m.noArg == nil {
		return fault{}
	}
	if u.StdinVaries && (m.literal || m.piped) {
		return fault{"literal", "the text that it gets as standard input is known only when it runs"}
	}
	ended := false
	for _, w := range u.Argv[1:] {
		ended = ended || w.Static && w.Text == "--"
		switch {
		case w.Static && matchAny(m.noArg, w.Text):
			return fault{"no_arg", quote(w.Text) + " must not stand there"}
		case !w.Static && w.MaybeFlag && !ended && m.flags != nil && m.flags.any && !ofOneKind(w) && m.forbiddenFlag(w, u, e):
			return fault{"no_arg", quote(w.Text) + " may be a flag that must not stand there"}
		case w.Static, m.literal && (fileName(w, u, e) || substituted(w)), m.piped && fromCommand(w, u):
		case m.literal:
			return fault{"literal", quote(w.Text) + " is known only when it runs"}
		default:
			return fault{"no_arg", quote(w.Text) + " is known only when it runs, and could be what must not stand there"}
		}
	}
	return fault{}
}

// forbiddenFlag says whether a word may become a flag that no_arg rules out: of wc * one file may be
// called --files0-from=.env.
func (m *commandMatch) forbiddenFlag(w shell.Word, u *shell.Unit, e *scope) bool {
	text := []token{{kind: anything}}
	switch {
	case w.Text != "…":
		text = wordTokens(w)
	case !slices.ContainsFunc(e.units, func(p shell.Unit) bool {
		return p.Start < u.Start && (p.Program == "git" || p.Program == "fd" || p.Program == "fdfind")
	}):
		return false // find writes where it began in front of each name
	}
	return slices.ContainsFunc(m.noArg, func(g glob) bool {
		return g.re == nil && strings.HasPrefix(g.src, "-") && e.meets(text, globTokens(g))
	})
}

// fileName says whether a word that is not static stands for the names of files that the
// command itself shows where to find: a pattern, what find found below the places it was given,
// or what xargs got from a program that finds files. Variables and the output of other commands
// are no such words.
func fileName(w shell.Word, u *shell.Unit, e *scope) bool {
	if w.Text == "…" && reachedBy(u, "xargs") {
		return e.fedByFinder(u)
	}
	text := w.Text
	if reachedBy(u, "find -exec") || reachedBy(u, "find -execdir") || reachedBy(u, "xargs") && e.fedByFinder(u) {
		if text = strings.ReplaceAll(text, "{}", ""); text != w.Text && !strings.ContainsAny(text, "*?[") {
			return !strings.ContainsAny(text, unread) && (namesOnly(u.Base) || foundName(w.Text))
		}
	}
	return w.Glob && strings.ContainsAny(text, "*?[") && !strings.ContainsAny(text, unread)
}

// foundName says whether a word with {} in it is the file that was found, or lies in it or beside it: with
// anything in front, as in /{}, it would be another file, of which nobody knows where it is.
func foundName(text string) bool {
	before, after, _ := strings.Cut(text, "{}")
	return (before == "" || before == "./") && !strings.Contains(after, "{}") && !strings.Contains(after, "..")
}

// unread are the characters of words that are more than a pattern.
const unread = "$`{}<>()\\'\"~"

// substituted says whether a word is the name of what a command of the script writes, which rules
// allow by itself: <(sort x).
func substituted(w shell.Word) bool {
	return strings.HasPrefix(w.Text, "<(") && !w.Static && w.Only(shell.Substitution)
}

// fromCommand says whether what is not known of the word is what other commands of the script wrote,
// which rules allow by themselves, or a number such as $?: $(...), and the arguments from xargs.
func fromCommand(w shell.Word, u *shell.Unit) bool {
	// xargs without a command prints what it reads, which nobody means: it is the end of a text that was cut.
	alone := u.Argv[0].Start == u.Start && u.Argv[0].End == u.End
	return reachedBy(u, "xargs") && (w.Text == "…" && !alone || strings.Contains(w.Text, "{}") && !strings.ContainsAny(strings.ReplaceAll(w.Text, "{}", ""), unread)) ||
		w.Only(shell.Output|shell.Number)
}

// fedByFinder says whether all that goes through pipes in the command was written by programs
// that find files and print their names as they are, and by head and tail after them.
func (e *scope) fedByFinder(u *shell.Unit) bool {
	found := false
	for i := range e.units {
		p := &e.units[i]
		if p == u {
			break
		}
		if p.Kind != shell.Command || p.Stdout != shell.Pipe {
			continue
		}
		switch {
		case p.Stdin == shell.Pipe && found && (p.Program == "head" || p.Program == "tail" || p.Program == "sort") && onlyFlags(p.Argv[1:]):
		case p.Stdin != shell.Inherit:
			return false
		case p.Program == "find", p.Program == "fd", p.Program == "fdfind", p.Program == "git" && len(p.Argv) > 1 && p.Argv[1].Text == "ls-files":
			for _, w := range p.Argv[1:] {
				if !w.Static || strings.HasPrefix(w.Text, "-printf") || strings.HasPrefix(w.Text, "--format") || hiddenPattern(w.Text) {
					return false
				}
			}
			found = true
		default:
			return false
		}
	}
	return found
}

// hiddenPattern says whether a word is a pattern for the names of hidden files: .e*.
func hiddenPattern(text string) bool {
	name := text[strings.LastIndexByte(text, '/')+1:]
	return strings.HasPrefix(name, ".") && strings.ContainsAny(name, "*?[")
}

func onlyFlags(words []shell.Word) bool {
	for _, w := range words {
		if !w.Static || !strings.HasPrefix(w.Text, "-") {
			return false
		}
	}
	return true
}

// reachedBy says whether the program that starts the unit is the given one.
func reachedBy(u *shell.Unit, via string) bool {
	return len(u.Via) > 0 && u.Via[len(u.Via)-1] == via
}

// hiddenNames says whether a pattern is made to fit hidden files, or files outside the
// directory that the command runs in.
func hiddenNames(text string) bool {
	return strings.ContainsAny(text, "*?[") && !strings.ContainsAny(text, "$`") &&
		(strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "./") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.Contains(text, "/."))
}

// not turns an answer round.
func not(t truth) truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	default:
		return perhaps
	}
}
