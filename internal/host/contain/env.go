package contain

import (
	"slices"
	"strings"
)

// kept are the variables that every contained command has. None of them holds a secret, and none names
// a program or a library that would be loaded.
var kept = []string{"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TZ", "USER", "LOGNAME", "SHELL", "PWD", "COLUMNS", "LINES",
	"LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY", "LC_MESSAGES", "LC_PAPER", "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION"}

// environment is what the command finds, of what there is: the list above, and the names that the
// rule gives. Later variables of one name do not count, as libc takes the first.
func environment(all, names []string, tmp string) []string {
	env := []string{
		"TMPDIR=" + tmp,
		// The user's and the system's settings of git may hold a token. They cannot be read, and git stops where it may not read them.
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		// git status would write the index to be quicker the next time.
		"GIT_OPTIONAL_LOCKS=0",
	}
	seen := map[string]bool{"TMPDIR": true}
	for _, v := range all {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || seen[name] {
			continue
		}
		asked := slices.Contains(names, name)
		if !asked && !slices.Contains(kept, name) {
			continue
		}
		seen[name] = true
		if strings.HasPrefix(value, "() {") { // bash takes it for a function, whatever its name
			continue
		}
		if entered(value) { // an address with a password, whatever the name
			continue
		}
		if asked {
			env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		}
		env = append(env, v)
	}
	return env
}

// variable is the value of the first variable of a name.
func variable(env []string, name string) string {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}
