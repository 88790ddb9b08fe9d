package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// wordRole is what a word of a command is to its program.
type wordRole uint8

const (
	wordPlain  wordRole = iota // not a file: a pattern, a message
	wordName                   // something that may be a file's name
	wordFile                   // a file whose contents are read or changed
	wordScript                 // a program text, with names in it
	wordSearch                 // what find is given: names and patterns, of files that are read then
)

// roles says what the words of a command are; nil: all of them name files.
func (e *scope) roles(u *shell.Unit) func(int, shell.Word) wordRole {
	all := func(r wordRole) func(int, shell.Word) wordRole {
		return func(int, shell.Word) wordRole { return r }
	}
	words := u.Argv[1:]
	if (namesOnly(u.Base) || u.Base == "date") && u.Base != "echo" && u.Base != "printf" && slices.ContainsFunc(words, listsNames) {
		return all(wordFile)
	}
	switch kind := e.programOf(u.Base).kind; {
	case kind&plainWords != 0:
		return all(wordPlain)
	case kind&printsWords != 0:
		if u.Stdout == shell.Pipe || len(u.Via) > 0 {
			return func(_ int, w shell.Word) wordRole {
				if strings.ContainsAny(w.Text, " \n\t") {
					return wordScript
				}
				return wordName
			}
		}
		return all(wordPlain)
	case kind&findsFiles != 0:
		if e.readsComputed() || e.readsInput() {
			return all(wordSearch)
		}
		return all(wordPlain)
	case kind&searches != 0:
		return grepRoles(u.Base, words)
	}
	switch u.Base {
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk":
		return scriptRoles(words)
	case "jq", "gojq", "jaq":
		return filterRoles(words)
	case "git":
		if listsFiles(words) && (e.readsComputed() || e.readsInput()) {
			return all(wordSearch)
		}
		return gitRoles(words)
	case "openssl": // of a certificate's file x509 shows the certificate
		if len(words) > 0 && words[0].Text == "x509" {
			return func(_ int, w shell.Word) wordRole {
				if ext := path.Ext(w.Text); w.Static && (ext == ".pem" || ext == ".der") && !strings.Contains(fold(w.Text), "key") {
					return wordPlain
				}
				return wordFile
			}
		}
	}
	if fileProgram(u.Base, opRead) == yes || fileProgram(u.Base, opEdit) == yes {
		return nil
	}
	return func(_ int, w shell.Word) wordRole {
		if strings.ContainsAny(w.Text, " \n\t;'\"()") {
			return wordScript
		}
		return wordName
	}
}

// listsNames knows the flags of programs that otherwise tell about names only, with which they read a
// file and show its lines: file -f, tree --fromfile, date -f, find -files0-from.
func listsNames(w shell.Word) bool {
	t := w.Prefix
	return strings.HasPrefix(t, "--f") || strings.HasPrefix(t, "--magic") || strings.HasPrefix(t, "-files0") || len(t) > 1 && t[0] == '-' && t[1] != '-' && len(t) < 4 && strings.ContainsAny(t, "fm")
}

// searchersValues are the letters of flags that take the next word, if nothing stands behind them. One that is
// missing here does no harm: its value is taken for the pattern then, and what follows for files.
func searchersValues(program string) string {
	switch program {
	case "grep", "egrep", "fgrep":
		return "ABCmdD"
	case "rg", "ripgrep":
		return "ABCmgtTMdjrE"
	case "ag":
		return "ABCmg"
	}
	return "ABCm"
}

// grepRoles leaves out the pattern: the first operand, unless a flag may have brought one.
func grepRoles(program string, words []shell.Word) func(int, shell.Word) wordRole {
	pattern, value := -1, false
	for i, w := range words {
		t := w.Prefix
		switch {
		case value:
			value = false
		case !w.Static && (w.MaybeFlag || w.Text == "…"):
			return nil
		case t == "--":
			if i+1 < len(words) {
				pattern = i + 1
			}
		case strings.HasPrefix(t, "--"):
			name, _, has := strings.Cut(t, "=")
			if strings.HasPrefix(name, "--re") || strings.HasPrefix(name, "--fil") && name != "--files-with-matches" && name != "--files-without-match" {
				return nil
			}
			switch name {
			case "--hidden", "--no-ignore", "--no-heading", "--heading", "--ignore-case", "--line-number", "--no-line-number", "--with-filename", "--no-filename", "--count", "--count-matches", "--files-with-matches", "--files-without-match", "--only-matching",
				"--word-regexp", "--line-regexp", "--fixed-strings", "--extended-regexp", "--perl-regexp", "--basic-regexp", "--invert-match", "--recursive", "--dereference-recursive", "--quiet", "--silent", "--no-messages", "--multiline", "--multiline-dotall", "--smart-case",
				"--case-sensitive", "--column", "--vimgrep", "--null", "--text", "--binary", "--json", "--stats", "--trim", "--pretty", "--follow", "--no-config", "--no-ignore-vcs", "--glob-case-insensitive", "--byte-offset", "--initial-tab", "--crlf", "--pcre2", "--unrestricted",
				"--passthru", "--no-color", "--color", "--colour", "--null-data", "--line-buffered":
			case "--context": // grep and ag read its value behind a = only
				value = !has && (program == "rg" || program == "ripgrep")
			case "--after-context", "--before-context", "--max-count", "--glob", "--iglob", "--type", "--type-not", "--include", "--exclude", "--exclude-dir", "--max-depth", "--colors", "--sort", "--sortr", "--engine", "--encoding", "--threads", "--max-filesize", "--max-columns", "--replace":
				value = !has
			default:
				if !has {
					return nil // it may take the next word
				}
			}
		case len(t) > 1 && t[0] == '-':
			if strings.ContainsAny(t[1:], "efG") && !strings.HasPrefix(t, "-g") {
				return nil
			}
			if program == "ag" && strings.Contains(t[1:], "p") {
				return nil // -p FILE: patterns, of which ag shows those that it cannot read
			}
			values := searchersValues(program)
			at := strings.IndexFunc(t[1:], func(r rune) bool { return strings.ContainsRune(values, r) })
			value = at >= 0 && at == len(t)-2
		default:
			pattern = i
		}
		if pattern >= 0 {
			break
		}
	}
	return func(i int, w shell.Word) wordRole {
		if i == pattern {
			return wordPlain
		}
		return wordFile
	}
}

// scriptRoles are those of sed and awk: the first operand is the program, unless a flag is one.
func scriptRoles(words []shell.Word) func(int, shell.Word) wordRole {
	script := slices.IndexFunc(words, func(w shell.Word) bool { return !strings.HasPrefix(w.Prefix, "-") })
	return func(i int, w shell.Word) wordRole {
		if i == script || strings.ContainsAny(w.Text, " \n\t;'\"(){}") {
			return wordScript
		}
		return wordFile
	}
}

// filterRoles are those of jq: the first operand is the filter, unless a flag may take a value.
func filterRoles(words []shell.Word) func(int, shell.Word) wordRole {
	filter := -1
	for i, w := range words {
		if strings.HasPrefix(w.Prefix, "-") && w.Static {
			if strings.HasPrefix(w.Text, "--") && slices.Contains([]string{"--raw-output", "--compact-output", "--null-input", "--slurp", "--exit-status", "--sort-keys", "--tab", "--join-output", "--color-output", "--monochrome-output"}, w.Text) ||
				!strings.HasPrefix(w.Text, "--") && !strings.ContainsAny(w.Text, "fL") {
				continue
			}
			return nil
		}
		filter = i
		break
	}
	return func(i int, w shell.Word) wordRole {
		if i == filter {
			return wordPlain
		}
		return wordFile
	}
}

// gitRoles are those of git, whose words are names only where they look like names of files.
func gitRoles(words []shell.Word) func(int, shell.Word) wordRole {
	sub := slices.IndexFunc(words, func(w shell.Word) bool { return !strings.HasPrefix(w.Prefix, "-") })
	names := sub >= 0 && slices.Contains([]string{"status", "check-ignore", "check-attr", "ls-files", "ls-tree", "rev-parse", "branch", "tag", "remote", "fetch", "help", "commit", "push", "pull", "add"}, words[sub].Text)
	dashes := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "--" })
	pattern := -1
	if sub >= 0 && words[sub].Text == "grep" && !slices.ContainsFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Prefix, "-e") }) {
		for pattern = sub + 1; pattern < len(words) && (strings.HasPrefix(words[pattern].Prefix, "-") || gitValue(words, sub, pattern)); pattern++ {
		}
	}
	return func(i int, w shell.Word) wordRole {
		switch {
		case names, i == sub:
			return wordPlain
		case dashes >= 0 && i > dashes, strings.Contains(w.Text, ":"):
			return wordFile
		case strings.ContainsAny(w.Text, " \n\t"):
			return wordScript
		case i > sub && i != pattern && showsFiles(words, sub) && !gitValue(words, sub, i): // a file of that name, where there is no such branch
			return wordFile
		}
		return wordName
	}
}

// showsFiles knows the commands of git that show what is in a file by its name alone.
func showsFiles(words []shell.Word, sub int) bool {
	return sub >= 0 && slices.Contains([]string{"log", "show", "diff", "blame", "annotate", "grep", "archive", "whatchanged", "difftool", "diff-files", "diff-index", "diff-tree", "rev-list", "hash-object", "shortlog"}, words[sub].Text)
}

// gitValue says whether a word may be the value of the flag in front of it, a text to look for or a name.
func gitValue(words []shell.Word, sub, i int) bool {
	flag := words[i-1].Text
	if words[sub].Text == "grep" {
		return slices.Contains([]string{"-A", "-B", "-C", "-m", "--context", "--after-context", "--before-context", "--max-count", "--max-depth", "--threads"}, flag)
	}
	return slices.Contains([]string{"-S", "-G", "-I", "-n", "-L", "-U", "--grep", "--author", "--committer", "--since", "--after", "--until", "--before", "--format", "--date",
		"--glob", "--exclude", "--max-count", "--skip", "--diff-filter", "--anchored", "--word-diff-regex", "--grep-reflog", "--prefix", "--decorate-refs", "--decorate-refs-exclude", "--group", "--encoding", "--ignore-rev"}, flag)
}

// listsFiles knows the commands of git that print names of files, for others to read.
func listsFiles(words []shell.Word) bool {
	return slices.ContainsFunc(words, func(w shell.Word) bool { return w.Text == "ls-files" || w.Text == "ls-tree" })
}

// readsInput says whether a command reads the names of files from its standard input, so that
// any text of the script may be one.
func readsInput(u *shell.Unit) bool {
	if reachedBy(u, "xargs") || u.Base == "cpio" || u.Base == "parallel" {
		return true
	}
	for _, w := range u.Argv[min(1, len(u.Argv)):] {
		switch t := w.Prefix; {
		case u.Base == "git" && (strings.HasPrefix(t, "--batch") && !strings.HasPrefix(t, "--batch-check") || t == "--stdin"),
			strings.HasPrefix(t, "--files0-from"), strings.HasPrefix(t, "--files-from"), t == "-T" && u.Base == "tar", strings.HasPrefix(t, "--pathspec-from-file"):
			return true
		}
	}
	return false
}

// readsInput says whether any command of the script does.
func (e *scope) readsInput() bool {
	return e.inputRead.of(func() bool {
		for i := range e.units {
			if u := &e.units[i]; u.Kind == shell.Command && !namesOnly(u.Base) && readsInput(u) {
				return true
			}
		}
		return false
	})
}
