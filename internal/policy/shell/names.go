package shell

import (
	"strings"
	"unicode"
)

// visible says whether a character above ASCII is seen as what it is.
func visible(c rune) bool {
	switch {
	case unicode.In(c, unicode.C, unicode.Z), unicode.Is(unicode.Variation_Selector, c), unicode.Is(unicode.Noncharacter_Code_Point, c),
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c):
		return false
	}
	return c != 0x2800 // a braille pattern without dots
}

// harmlessVariable says whether a variable may be set without anyone looking: it changes words
// and colours, never what runs.
func harmlessVariable(name string) bool {
	switch name {
	case "NODE_ENV", "LANG", "TZ", "NO_COLOR", "FORCE_COLOR", "CI", "RUST_BACKTRACE",
		"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
		"LC_ADDRESS", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE":
		return true
	}
	return false
}

// loopVariable says whether a loop or read may set a variable: nothing but the script looks at it.
// zsh ties lower-case names to special ones (path is PATH), and some programs read lower-case
// names from the environment, where setting a name that is there already changes it for them.
func loopVariable(name string) bool {
	if name == "" || len(name) > 24 {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_')) {
			return false
		}
	}
	for _, part := range []string{"proxy", "path", "prompt", "alias", "npm_", "git_", "pip_", "dis_", "hist", "zsh"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	switch name {
	case "argv", "status", "pipestatus", "psvar", "watch", "fignore", "options", "functions", "commands", "builtins", "parameters", "modules", "dirstack", "jobdirs", "jobtexts", "jobstates",
		"termcap", "terminfo", "userdirs", "usergroups", "nameddirs", "reswords", "patchars", "signals", "widgets", "keymaps", "keys", "module", "editor", "compstate", "words", "errnos", "sysparams", "langinfo":
		return false
	}
	return true
}

// trustedDir says whether programs of a directory are known by their names.
func trustedDir(dir string) bool {
	switch dir {
	case "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin":
		return true
	}
	return false
}

// programNames returns the names of a program word for rules that allow, and for those that deny.
func programNames(word string) (allow, deny string) {
	i := strings.LastIndexByte(word, '/')
	if i < 0 {
		return word, word
	}
	if trustedDir(word[:i]) {
		return word[i+1:], word[i+1:]
	}
	return "", word[i+1:]
}

// unsafeBuiltin returns why a builtin of bash or zsh makes what follows uncertain, or "".
func unsafeBuiltin(name string) string {
	switch name {
	case "eval", "source", ".", "exec", "trap":
		return "runs text or files that cannot be followed here"
	case "alias", "unalias", "set", "shopt", "enable", "hash", "setopt", "unsetopt", "emulate", "disable", "autoload", "zmodload", "functions":
		return "changes what the commands after it mean"
	case "history", "fc", "r", "bind", "complete", "compgen", "compopt", "zle", "zpty", "sched", "zstyle", "zcompile", "bindkey", "compctl", "compdef":
		return "can run commands in roundabout ways"
	case "mapfile", "readarray", "unset", "getopts", "let", "declare", "typeset", "local", "readonly", "nameref", "float", "integer", "vared":
		return "sets or removes variables"
	case "coproc", "nocorrect", "repeat", "foreach", "end", "-", "print", "always", "select", "function", "sysopen", "ztcp", "zsocket", "limit", "unlimit":
		return "means something else to other shells"
	}
	return ""
}

// IsShell says whether a program takes shell text after -c, in a dialect that is read here.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash":
		return true
	}
	return false
}

// interpreter says whether a program runs what it reads from its standard input.
func interpreter(name string) bool {
	if IsShell(name) {
		return true
	}
	name = strings.TrimRight(name, "0123456789.")
	return programs().runsInput.Has(strings.TrimSuffix(name, "-"))
}

// scriptFromInput says whether awk or sed is told to take its script from its input.
func scriptFromInput(name string, argv []Word) bool {
	switch name {
	case "awk", "gawk", "mawk", "nawk", "sed", "gsed":
	default:
		return false
	}
	for _, w := range argv[1:] {
		if !w.Static && w.MaybeFlag || strings.HasPrefix(w.Prefix, "-") && strings.HasSuffix(w.Text, "-") || strings.Contains(w.Text, "/dev/stdin") || strings.Contains(w.Text, "/dev/fd/") || strings.Contains(w.Text, "/proc/self/fd") {
			return true
		}
	}
	return false
}

// scriptFromCommand says whether a program may be told to run what another command prints: sh <(echo x),
// awk -f <(echo x). The name of a file may be a value that is data to it; which it is, nobody says.
func scriptFromCommand(name string, argv []Word) bool {
	for i, w := range argv[1:] {
		if w.Static || w.Unknown&Substitution == 0 {
			continue
		}
		if interpreter(name) {
			return true
		}
		switch name {
		case "awk", "gawk", "mawk", "nawk", "sed", "gsed":
			if strings.HasPrefix(w.Prefix, "-") || strings.HasPrefix(argv[i].Prefix, "-") {
				return true
			}
		}
	}
	return false
}

// reserved says whether a word belongs to the language of bash or zsh. Where the parser takes one
// for a program, the shells report an error or read something else.
func reserved(s string) bool {
	switch s {
	case "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "case", "esac", "in", "select", "function", "{", "}", "!", "]]", "time", "coproc",
		"foreach", "end", "repeat", "nocorrect", "always":
		return true
	}
	return false
}
