package rules

import (
	"strings"

	"assent/internal/shell"
)

// writtenOut checks the selectors literal and no_arg of a rule that allows.
func (m *commandMatch) writtenOut(u *shell.Unit) fault {
	if !m.literal && !m.piped && m.noArg == nil {
		return fault{}
	}
	if u.StdinVaries && (m.literal || m.piped) {
		return fault{"literal", "the text that it gets as standard input is known only when it runs"}
	}
	for _, w := range u.Argv[1:] {
		switch {
		case w.Static && matchAny(m.noArg, w.Text):
			return fault{"no_arg", quote(w.Text) + " must not stand there"}
		case w.Static, m.literal && fileName(w, u), m.piped && reachedBy(u, "xargs") && w.Text == "…":
		case m.literal || m.piped:
			return fault{"literal", quote(w.Text) + " is known only when it runs"}
		default:
			return fault{"no_arg", quote(w.Text) + " is known only when it runs, and could be what must not stand there"}
		}
	}
	return fault{}
}

// fileName says whether a word that is not static stands for the names of files that the
// command itself shows where to find: a pattern, or what find found below the places it was
// given. Variables, other commands and what xargs read from elsewhere are no such words.
func fileName(w shell.Word, u *shell.Unit) bool {
	text := w.Text
	if reachedBy(u, "find -exec") || reachedBy(u, "find -execdir") {
		text = strings.ReplaceAll(text, "{}", "")
		if text != w.Text && !strings.ContainsAny(text, "*?[") {
			return !strings.ContainsAny(text, "$`{}<>()\\'\"~")
		}
	}
	return w.Glob && strings.ContainsAny(text, "*?[") && !strings.ContainsAny(text, "$`{}<>()\\'\"~")
}

// reachedBy says whether the program that starts the unit is the given one.
func reachedBy(u *shell.Unit, via string) bool {
	return len(u.Via) > 0 && u.Via[len(u.Via)-1] == via
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
