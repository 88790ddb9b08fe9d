package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A rule that denies or asks is also looked for in what a command could start by one of its side
// doors: git rebase -x 'rm x', fd -x rm, nc -e rm. Whether a rule that allows names the door does
// not matter here.

// Bounds of what is looked at behind the side doors of one command.
const (
	maxStartTexts = 16
	maxStartUnits = 48
)

// started returns what the command could start, as parts that only rules which deny or ask look at.
func started(u *shell.Unit, e *scope) []shell.Unit {
	var all []shell.Unit
	texts := 0
	add := func(words []shell.Word) {
		if len(words) == 0 || !words[0].Static || !e.spend(1+len(words)) {
			return
		}
		if len(all) >= maxStartUnits {
			e.partial = true
			return
		}
		base := words[0].Text[strings.LastIndexByte(words[0].Text, '/')+1:]
		all = append(all, shell.Unit{Kind: shell.Command, Start: u.Start, End: u.End, Base: base, Argv: words, Dir: u.Dir, DirKnown: u.DirKnown, Out: -1, Of: -1, DenyOnly: true})
	}
	read := func(text string) {
		if strings.TrimSpace(text) == "" || !e.spend(20+len(text)/8) {
			return
		}
		if texts++; texts > maxStartTexts {
			e.partial = true
			return
		}
		script := shell.Read(text, shell.Options{Dir: u.Dir, Home: e.home, Project: e.project})
		for _, inner := range script.Units {
			if inner.Kind != shell.Command {
				continue
			}
			if e.partial = e.partial || len(all) >= maxStartUnits; len(all) < maxStartUnits {
				inner.Start, inner.End, inner.DenyOnly, inner.Of, inner.Out = u.Start, u.End, true, -1, -1
				all = append(all, inner)
			}
		}
	}
	for n := -1; n < len(u.Alt); n++ {
		argv := u.Argv
		if n >= 0 {
			argv = u.Alt[n]
		}
		if len(argv) == 0 || !argv[0].Static {
			continue
		}
		base := argv[0].Text[strings.LastIndexByte(argv[0].Text, '/')+1:]
		known := e.programOf(base)
		for _, words := range known.sameCommands(base, argv) {
			add(words)
		}
		for i := range known.openings(base, argv[1:]) {
			w := argv[1+i]
			for _, text := range insides(w.Text) {
				read(text)
			}
			rest := argv[2+i:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Prefix, "-") {
				rest = rest[1:]
			}
			add(rest)
			if len(rest) > 0 && strings.ContainsAny(rest[0].Text, " \t\n;|&!=") {
				read(strings.TrimLeft(rest[0].Text, "!: "))
				for _, text := range insides(rest[0].Text) {
					read(strings.TrimLeft(text, "!: "))
				}
			}
		}
	}
	return all
}

// openings yields the index of each word that opens a side door.
func (p *program) openings(program string, words []shell.Word) func(func(int) bool) {
	return func(yield func(int) bool) {
		mine := make([]bool, len(words)) // what was found is left out of the next look
		for range 8 {
			door, why := p.opened(program, words, mine)
			if door == "" {
				return
			}
			at := -1
			for i, w := range words {
				if !mine[i] && (w.Text == door || strings.HasSuffix(w.Text, door)) {
					at = i
					break
				}
			}
			if at < 0 {
				return
			}
			mine[at] = true
			if why == sideWhy && !yield(at) {
				return
			}
		}
	}
}

// insides are the texts in one word that may be a command: what follows = : ! or some letters of a
// flag.
func insides(word string) []string {
	var all []string
	for i := 0; i < len(word) && len(all) < 4; i++ {
		if strings.IndexByte("=:!", word[i]) >= 0 && i+1 < len(word) {
			all = append(all, word[i+1:])
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		for i := 2; i < min(5, len(word)); i++ {
			all = append(all, word[i:])
		}
	}
	return all
}

// inlineCode says whether an interpreter is given code, in which nobody sees what it starts.
func inlineCode(u *shell.Unit) bool {
	base := strings.TrimSuffix(withoutVersion(u.Base), "-")
	codes, known := programs().inlineCode[base]
	if !known {
		return false
	}
	for _, w := range u.Argv[min(1, len(u.Argv)):] {
		t := w.Prefix
		switch {
		case !w.Static && w.MaybeFlag:
			return true
		case t == "eval" && (base == "deno" || base == "crystal"):
			return true
		case strings.HasPrefix(t, "--e") || strings.HasPrefix(t, "--p") || strings.HasPrefix(t, "--r") || strings.HasPrefix(t, "-eval"):
			return true
		case len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], codes):
			return true
		case slices.Contains([]string{"timeit", "pdb", "code", "cProfile", "profile", "trace", "-mtimeit", "-mpdb"}, t): // python -m timeit CODE
			return true
		case len(t) > 0 && t[0] != '-':
			if base != "php" && base != "swipl" && base != "octave" {
				return false // the program; what follows is its own
			}
		}
	}
	return false
}

// startsOthers finds in code what could start a program, or hide that it does. From "pipe" on: what runs a text, a
// name or a file that it is given, or finds something by a name that is put together.
var startsOthers = lazily("(?i)system|exec|spawn|popen|fork|subprocess|process|command|child|shell|eval|compile|getattr|__|importlib|\\bos\\b|open3|\\bpty\\b|socket|ctypes|dlopen|\\brequire\\b|\\bimport\\s*\\(|\\brun\\b|passthru|pcntl|qx|%x|`|\\bload\\w*\\b|chr\\b|decode|Start-|Invoke|\\biex\\b|&\\s|Runtime|\\bopen\\b|\\bsend\\b|\\bmethod\\b|\\bdo\\s+[\"']|Deno|Bun\\b|ffi|pipe|pager|timeit|runpy|\\brun_|runsource|runcode|interact|\\bcode\\b|\\b[pb]db\\b|doctest|\\btrace\\b|pkgutil|resolve_name|methodcaller|attrgetter|modules|posix|webbrowser|ensurepip|\\bvenv\\b|pickle|marshal|tkinter|zipimport|dictConfig|mailcap|find_library|constructor|globalThis|Reflect|\\]\\s*\\(|_open\\b|_send\\b|const_get|\\bIO\\.|call_user|array_map|\\bassert\\b|\\binclude|\\bmail\\s*\\(|\\$\\w+\\s*\\(")

// unseen returns a rule that denies commands and may be meant by code that the command hands to an
// interpreter.
func (s *Set) unseen(u *shell.Unit, e *scope) *rule {
	if len(s.denied) == 0 || !inlineCode(u) {
		return nil
	}
	if base := withoutVersion(u.Base); base == "pwsh" || base == "powershell" { // its names for programs are its own, and -enc hides all
		return s.denied[0]
	}
	for _, w := range u.Argv[1:] {
		if !w.Static || startsOthers.MatchString(w.Text) || !e.spend(len(w.Text)/16) {
			return s.denied[0]
		}
		for _, r := range s.denied {
			for _, p := range r.match.command.programs {
				if p.exact && p.src != u.Base && strings.Contains(w.Text, p.src) {
					return r
				}
			}
		}
	}
	return nil
}
