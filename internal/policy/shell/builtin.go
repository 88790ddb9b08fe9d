package shell

import (
	"regexp"
	"strings"
)

// builtin doubts the forms of some builtins that set variables or evaluate their words.
func (r *reader) builtin(name string, argv []Word, start, end int, varies bool) {
	switch name {
	case "test", "[":
		for i, w := range argv[1:] {
			if w.Static && w.Text == "-t" && i+2 < len(argv) && !descriptor(argv[i+2]) {
				r.doubt(DoubtBuiltin, start, end, "In zsh test -t evaluates its word, and can run commands.")
			}
			if w.Static && evaluates(w.Text) {
				r.doubt(DoubtBuiltin, start, end, "A subscript with a command in it: test can run it.")
			}
			if w.MaybeFlag && w.Glob || w.Static && (w.Text == "-v" || w.Text == "-R" || w.Text == "-o" && i == 0) {
				r.doubt(DoubtBuiltin, start, end, "test -v evaluates its word, and can run commands.")
			}
			if r.opts.Zsh && w.Static {
				switch w.Text {
				case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
					if i == 0 || i+2 >= len(argv) || !integer(argv[i]) || !integer(argv[i+2]) {
						r.doubt(DoubtZsh, start, end, "In zsh test -eq evaluates its words, and can run commands.")
					}
				}
			}
		}
	case "wait":
		for _, w := range argv[1:] {
			if !w.Static || strings.HasPrefix(w.Text, "-") && w.Text != "-n" || evaluates(w.Text) {
				r.doubt(DoubtBuiltin, start, end, "wait -p sets a variable.")
			}
		}
	case "printf":
		words := argv[1:]
		if len(words) > 1 && words[0].Text == "--" {
			words = words[1:]
		}
		if len(words) > 1 && (!words[0].Static || stores.MatchString(words[0].Text)) {
			r.doubt(DoubtBuiltin, start, end, "printf %n sets a variable, and evaluates its name.")
		}
		if len(argv) > 1 && (!argv[1].Static && argv[1].MaybeFlag || strings.HasPrefix(argv[1].Prefix, "-") && argv[1].Text != "--") {
			r.doubt(DoubtBuiltin, start, end, "printf -v sets a variable.")
		}
		if r.opts.Zsh {
			words := argv[1:]
			if len(words) > 1 && words[0].Text == "--" {
				words = words[1:]
			}
			computes := len(words) > 0 && !onlyTexts.MatchString(words[0].Text)
			for i, w := range words {
				if !w.Static || strings.ContainsRune(w.Text, '[') || computes && i > 0 && !number.MatchString(w.Text) {
					r.doubt(DoubtZsh, start, end, "In zsh printf evaluates its words, and can run commands or set variables.")
				}
			}
		}
	case "exit", "return", "break", "continue", "shift", "logout", "bye":
		if r.opts.Zsh {
			for _, w := range argv[1:] {
				if !integer(w) {
					r.doubt(DoubtZsh, start, end, "In zsh "+name+" evaluates its word, and can run commands.")
				}
			}
		}
	case "read":
		from := Output
		if varies { // read x <<< "$TOKEN"
			from = Other
		}
		for _, w := range argv[1:] {
			if w.Static && scriptVariable(w.Text) {
				r.set(w.Text, unknownWord(from))
			}
			ok := w.Static && (w.Text == "-r" || w.Text == "-s" || loopVariable(w.Text))
			if !ok {
				r.doubt(DoubtBuiltin, start, end, "read sets a variable that something else may use.")
			}
		}
		if len(argv) == 1 || argv[len(argv)-1].Text == "-r" {
			r.doubt(DoubtBuiltin, start, end, "read sets a variable that something else may use.")
		}
	}
}

var (
	// onlyTexts are the formats of printf that print their words as they are.
	onlyTexts = regexp.MustCompile(`^([^%]|%%|%-?[0-9]*(\.[0-9]+)?[sbqc])*$`)
	// stores are the formats of printf that set the variable that a word names.
	stores = regexp.MustCompile(`%[^a-zA-Z%]*[hlLjztq]*n`)
	number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
)

// evaluates says whether a text is an element of an array whose subscript holds a command.
func evaluates(s string) bool {
	_, subscript, is := strings.Cut(s, "[")
	return is && strings.ContainsAny(subscript, "$`(<>=")
}

// descriptor says whether the word after test -t is a number, or is no operand of it.
func descriptor(w Word) bool {
	switch w.Text {
	case "]", "-a", "-o", ")", "=", "==", "!=":
		return w.Static
	}
	return w.Static && digits(w.Text)
}

// stricter says whether the words after set do nothing but have the shell stop at an error, at a
// variable that is not set or at a failed part of a pipe, or not stop there any more. Such a script
// runs no command that it would not run without them, and none otherwise. Not -x: it evaluates PS4.
func (r *reader) stricter(words []Word) bool {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.Static || len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			return false
		}
		for k, letter := range w.Text[1:] {
			switch {
			case letter == 'e' || letter == 'u' || letter == 'E' && !r.opts.Zsh:
			case letter == 'o' && k+2 == len(w.Text) && i+1 < len(words):
				i++
				if !words[i].Static || !r.strictOption(words[i].Text) {
					return false
				}
			default:
				return false
			}
		}
	}
	return len(words) > 0
}

func (r *reader) strictOption(name string) bool {
	switch name {
	case "errexit", "nounset", "pipefail":
		return true
	case "errtrace":
		return !r.opts.Zsh
	}
	return false
}

// cd follows a change of directory.
func (r *reader) cd(argv []Word, at execContext) {
	to := ""
	for i, w := range argv[1:] {
		switch {
		case !w.Static:
			at.dir.lost()
			return
		case to == "" && (w.Text == "--" || w.Text == "-P" || w.Text == "-L"):
			continue
		case strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") || w.Text == "" || i+2 != len(argv):
			at.dir.lost()
			return
		}
		to = w.Text
	}
	if to == "" {
		if to = r.opts.Home; to == "" {
			at.dir.lost()
			return
		}
	}
	at.dir.move(to)
}
