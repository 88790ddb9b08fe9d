package shell

import (
	"slices"
	"strings"
)

// wrap is a program that runs another with the same arguments, and its options.
type wrap struct {
	bare, value         string // option letters without and with a value
	longBare, longValue []string
	operands            int                 // words between the options and the inner command
	operand             func(s string) bool // what they look like
	number              bool                // -10 is an option
}

// wrapper returns the options of a program that only starts another.
func wrapper(name string) (wrap, bool) {
	switch name {
	case "timeout", "gtimeout":
		return wrap{bare: "vfp", value: "ks", longBare: []string{"foreground", "preserve-status", "verbose"}, longValue: []string{"kill-after", "signal"}, operands: 1, operand: duration}, true
	case "time", "gtime":
		return wrap{bare: "pv", longBare: []string{"portability", "verbose"}}, true
	case "nice", "gnice":
		return wrap{value: "n", longValue: []string{"adjustment"}, number: true}, true
	case "nohup", "gnohup", "builtin", "noglob":
		return wrap{}, true
	case "command":
		return wrap{bare: "p"}, true
	case "stdbuf", "gstdbuf":
		return wrap{value: "ioe", longValue: []string{"input", "output", "error"}}, true
	case "ionice":
		return wrap{bare: "t", value: "cn", longBare: []string{"ignore"}, longValue: []string{"class", "classdata"}}, true
	case "chrt":
		return wrap{bare: "bfiorRv", longBare: []string{"batch", "fifo", "idle", "other", "rr", "reset-on-fork", "verbose"}, operands: 1, operand: digits}, true
	case "setsid":
		return wrap{bare: "cfw", longBare: []string{"ctty", "fork", "wait"}}, true
	case "unbuffer":
		return wrap{bare: "p"}, true
	}
	return wrap{}, false
}

// duration is what timeout takes: 5, 1.5m.
func duration(s string) bool {
	s = strings.TrimRight(s, "smhd")
	whole, part, _ := strings.Cut(s, ".")
	return digits(whole) && (part == "" || digits(part))
}

// inner returns where the inner command begins, len(argv) when there is none. ok is false when
// an option is not known, or not static.
func (w wrap) inner(argv []Word) (start int, ok bool) {
	i, ok := w.options(argv, nil)
	if !ok {
		return 0, false
	}
	for range w.operands {
		if i == len(argv) {
			return i, true
		}
		if !argv[i].Static || !w.operand(argv[i].Text) {
			return 0, false
		}
		i++
	}
	if argv[0].Text == "command" && i == len(argv) {
		return i, true
	}
	return i, true
}

// options returns the index of the first word that is no option. seen gets each option that has
// a value; it may be nil.
func (w wrap) options(argv []Word, seen func(name, value string)) (int, bool) {
	note := func(name, value string) {
		if seen != nil {
			seen(name, value)
		}
	}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if !word.Static {
			// A word that cannot be an option begins the command, which then is not a plain word.
			return i, !word.MaybeFlag && !word.Glob
		}
		s := word.Text
		switch {
		case s == "--":
			return i + 1, true
		case s == "" || s == "-" || s[0] != '-':
			return i, true
		case w.number && digits(s[1:]):
		case strings.HasPrefix(s, "--"):
			name, value, has := strings.Cut(s[2:], "=")
			switch {
			case !has && slices.Contains(w.longBare, name):
			case has && slices.Contains(w.longValue, name):
				note(name, value)
			case slices.Contains(w.longValue, name):
				if i++; i >= len(argv) || !argv[i].Static {
					return 0, false
				}
				note(name, argv[i].Text)
			default:
				return 0, false
			}
		default:
		letters:
			for k := 1; k < len(s); k++ {
				switch {
				case strings.IndexByte(w.bare, s[k]) >= 0:
				case strings.IndexByte(w.value, s[k]) >= 0:
					if k+1 < len(s) {
						note(s[k:k+1], s[k+1:])
						break letters
					}
					if i++; i >= len(argv) || !argv[i].Static {
						return 0, false
					}
					note(s[k:k+1], argv[i].Text)
				default:
					return 0, false
				}
			}
		}
	}
	return len(argv), true
}

// env reads env NAME=VALUE COMMAND.
func (r *reader) env(u Unit, at execContext, levels int) int {
	argv := u.Argv
	at.dir = r.keep(*at.dir)
	unknown := func() int {
		r.doubt(DoubtWrapper, u.Start, u.End, "The options of env are not all known.")
		r.guess(argv, u.Start, u.End, at)
		return r.add(u, at)
	}
	i := 1
	for ; i < len(argv); i++ {
		w := argv[i]
		if name, _, is := strings.Cut(w.Prefix, "="); is && !strings.HasPrefix(name, "-") && !w.Glob {
			if !harmlessVariable(name) {
				r.doubt(DoubtAssign, w.Start, w.End, "It sets a variable that is not known to be harmless.")
			}
			value := w
			value.Text, value.Prefix = w.Text[len(name)+1:], w.Prefix[len(name)+1:]
			r.add(Unit{Kind: Assign, Start: w.Start, End: w.End, Name: name, Value: value, Out: -1, Of: -1}, at.through("env"))
			continue
		}
		if w.Static && (w.Text == "-i" || w.Text == "-" || w.Text == "--ignore-environment") {
			continue
		}
		if w.Static && w.Text == "-u" && i+1 < len(argv) && argv[i+1].Static && harmlessVariable(argv[i+1].Text) {
			i++
			continue
		}
		if !w.Static && (w.MaybeFlag || w.Glob) || strings.HasPrefix(w.Prefix, "-") {
			return unknown()
		}
		break
	}
	if i == len(argv) {
		return r.add(u, at)
	}
	i = r.command(argv[i:], u.Start, u.End, at.through("env"), levels+1)
	r.also(i, argv)
	return i
}

// xargs reads xargs COMMAND: the command, with arguments that nobody knows.
func (r *reader) xargs(u Unit, at execContext, levels int) int {
	argv, replace := u.Argv, ""
	w := wrap{bare: "0rtx", value: "nPLIdEs", longBare: []string{"null", "no-run-if-empty", "verbose", "exit"},
		longValue: []string{"max-args", "max-procs", "delimiter", "max-chars"}}
	i, ok := w.options(argv, func(name, value string) {
		if name == "I" {
			replace = value
			if value == "" {
				replace = "\x00"
			}
		}
	})
	if !ok || replace == "\x00" {
		r.doubt(DoubtWrapper, u.Start, u.End, "The options of xargs are not all known.")
		r.guess(argv, u.Start, u.End, at)
		return r.add(u, at)
	}
	var inner []Word
	for _, word := range argv[min(i, len(argv)):] {
		inner = append(inner, replaced(word, replace, true, false))
	}
	if len(inner) == 0 {
		replace = ""
		inner = append(inner, Word{Text: "echo", Prefix: "echo", Static: true, Start: u.Start, End: u.End})
	}
	if replace == "" {
		inner = append(inner, Word{Text: "…", Glob: true, MaybeFlag: true, Start: u.Start, End: u.End})
	}
	at.stdin = DevNull // xargs reads its own input, and gives the command none
	at.dir = r.keep(*at.dir)
	i = r.command(inner, u.Start, u.End, at.through("xargs"), levels+1)
	r.also(i, argv)
	return i
}

// replaced is a word in which a mark stands for something unknown.
func replaced(w Word, mark string, maybeFlag, many bool) Word {
	if mark == "" || !strings.Contains(w.Text, mark) {
		return w
	}
	prefix, _, _ := strings.Cut(w.Prefix, mark)
	w.MaybeFlag = w.MaybeFlag || prefix == "" && maybeFlag || strings.HasPrefix(prefix, "-")
	w.Static, w.Glob, w.Prefix, w.Unknown = false, w.Glob || many, prefix, w.Unknown|Other
	return w
}

// find takes the commands out of find's arguments; what it deletes and writes are units too.
func (r *reader) find(u Unit, at execContext, levels int) int {
	argv := u.Argv
	var starts []Word
	known := true
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if w.Static && (w.Text == "-H" || w.Text == "-L" || w.Text == "-P") {
			continue
		}
		if strings.HasPrefix(w.Prefix, "-") || w.Text == "(" || w.Text == "!" || w.Text == ")" || w.Text == "," {
			break
		}
		known = known && w.Static
		starts = append(starts, w)
	}
	if len(starts) == 0 {
		starts = []Word{{Text: ".", Prefix: ".", Static: true, Start: u.Start, End: u.End}}
	}
	file := func(w Word, how string) {
		r.add(Unit{Kind: Write, Start: w.Start, End: w.End, Path: w, Out: -1, Of: -1}, at.through(how))
	}
	kept := make([]Word, 0, len(argv))
	stripped := false
	for i := 0; i < len(argv); i++ {
		w := argv[i]
		how := strings.TrimPrefix(w.Text, "-")
		switch w.Text {
		case "-delete":
			for _, s := range starts {
				file(s, "find -delete")
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(argv) {
				file(argv[i+1], "find "+w.Text)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end, many := i+1, false
			for end < len(argv) && argv[end].Text != ";" && !(argv[end].Text == "+" && argv[end-1].Text == "{}") {
				end++
			}
			if end == len(argv) {
				r.doubt(DoubtWrapper, u.Start, u.End, "The command of find -"+how+" has no end.")
			} else {
				many = argv[end].Text == "+"
			}
			var inner []Word
			for _, word := range argv[min(i+1, end):end] {
				inner = append(inner, replaced(word, "{}", !known || strings.HasSuffix(how, "dir"), many && word.Text == "{}"))
			}
			if len(inner) > 0 {
				to := at.through("find -" + how)
				to.dir = r.keep(*to.dir)
				if strings.HasSuffix(how, "dir") {
					to.dir.lost()
				}
				r.command(inner, u.Start, u.End, to, levels+1)
			}
			i = end
			stripped = true
			continue
		}
		kept = append(kept, w)
	}
	if stripped {
		u.Argv, u.Alt = kept, append(u.Alt, argv)
	}
	return r.add(u, at)
}
