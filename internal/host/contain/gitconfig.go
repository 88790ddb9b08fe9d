package contain

import "strings"

// maxGitConfig is the longest configuration of a repository that is read, in bytes; what is longer may hold anything.
const maxGitConfig = 64 << 10

// gitKeys are parts of keys whose values are secrets.
var gitKeys = []string{"extraheader", "pass", "token", "secret", "apikey", "api-key", "cookie"}

// configTells says whether the configuration of a repository may hold a secret: an address with who may
// enter, a header, a password. Git cannot run without the file, so it is kept away only for what is in
// it, and then git says that it may not read it.
func configTells(text string) bool {
	if len(text) > maxGitConfig {
		return true
	}
	text = strings.ToLower(strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(text))
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			if !strings.Contains(line, "://") {
				continue
			}
		}
		if entered(line) {
			return true
		}
		key, value, _ := strings.Cut(line, "=")
		if i := strings.LastIndexByte(key, ']'); i >= 0 {
			key = key[i+1:]
		}
		runs := strings.HasPrefix(strings.Trim(value, "\" \t"), "!") // a command line, with everything in it
		for _, k := range gitKeys {
			if strings.Contains(key, k) || runs && strings.Contains(value, k) {
				return true
			}
		}
		if strings.Contains(value, "authorization") {
			return true
		}
	}
	return false
}

// entered says whether an address in a line names who enters: over SSH a name alone is none of a secret.
func entered(line string) bool {
	for {
		before, rest, ok := strings.Cut(line, "://")
		if !ok {
			return false
		}
		line = rest
		rest, _, _ = strings.Cut(rest, "/") // nothing else: a password may hold quotes
		who, _, ok := strings.Cut(rest, "@")
		ssh := strings.HasSuffix(before, "ssh") || strings.HasSuffix(before, "git")
		if ok && who != "" && (!ssh || strings.Contains(who, ":")) {
			return true
		}
	}
}
