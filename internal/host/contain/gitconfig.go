package contain

import "strings"

// maxGitConfig is the longest configuration of a repository that is read, in bytes; what is longer may hold anything.
const maxGitConfig = 64 << 10

// maxGitLog is the longest log of a repository that is read, in bytes.
const maxGitLog = 8 << 20

// A configuration of a repository holds no secret if each of its lines is known to hold none. Git cannot
// run without the file, so what it usually has is known: see gitKeys.

// gitValue says of which kind a value must be, so that it holds no secret.
type gitValue func(value string) bool

// configTells says whether the configuration of a repository may hold a secret: whether it has a section,
// a key, a value or a comment that is not one of those that are known to be harmless. Where it does, the
// file is kept away, and git says that it may not read it.
func configTells(text string) bool {
	if len(text) > maxGitConfig || strings.IndexByte(text, 0) >= 0 {
		return true
	}
	section, sub := "", false
	for text != "" {
		var line string
		line, text = gitLine(text)
		line = strings.Trim(line, " \t\r")
		for strings.HasPrefix(line, "[") {
			name, rest, ok := gitSection(line[1:])
			if !ok {
				return true
			}
			section, sub = name, strings.HasSuffix(name, ".*")
			line = strings.Trim(rest, " \t\r")
		}
		if line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, "=") // a key alone is "true"
		value, ok := gitUnquoted(strings.Trim(value, " \t\r"))
		if !ok || entered(value) {
			return true
		}
		harmless := gitKind(section, strings.ToLower(strings.Trim(key, " \t")), sub)
		if harmless == nil || !harmless(value) {
			return true
		}
	}
	return false
}

// gitLine takes the first line off a text, with those that continue it.
func gitLine(text string) (line, rest string) {
	for {
		part, more, _ := strings.Cut(text, "\n")
		text = more
		part = strings.TrimSuffix(part, "\r")
		if n := len(part) - len(strings.TrimRight(part, `\`)); n%2 == 0 || more == "" {
			return line + part, text
		}
		line += part[:len(part)-1]
	}
}

// gitSection reads what follows the bracket of a section: its name in small letters, with ".*" if it has
// a subsection that is a plain name or address.
func gitSection(line string) (name, rest string, ok bool) {
	i := strings.IndexAny(line, " \t\"]")
	if i < 0 {
		return "", "", false
	}
	name, line = strings.ToLower(line[:i]), strings.TrimLeft(line[i:], " \t")
	if rest, ok := strings.CutPrefix(line, "]"); ok {
		return name, rest, name != ""
	}
	line, ok = strings.CutPrefix(line, `"`)
	end := strings.Index(line, `"]`)
	if !ok || name == "" || end < 0 || strings.ContainsAny(line[:end], `"\`) || entered(line[:end]) || strings.Contains(line[:end], "://") && !gitURL(line[:end]) {
		return "", "", false
	}
	return name + ".*", line[end+2:], true
}

// gitUnquoted is a value as git reads it. One with a comment behind it, or with what is rarely needed, is
// not ok.
func gitUnquoted(value string) (string, bool) {
	if whole, ok := strings.CutPrefix(value, `"`); ok && strings.HasSuffix(whole, `"`) {
		value = whole[:len(whole)-1]
		if strings.ContainsAny(strings.NewReplacer(`\"`, "", `\\`, "").Replace(value), `"\`) {
			return "", false
		}
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value), true
	}
	return strings.ReplaceAll(value, `\"`, `"`), !strings.ContainsAny(strings.ReplaceAll(value, `\"`, ""), "\"\\#;")
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
		scheme := strings.ToLower(before)
		ssh := strings.HasSuffix(scheme, "ssh") || strings.HasSuffix(scheme, "git")
		if ok && who != "" && (!ssh || strings.Contains(who, ":")) {
			return true
		}
	}
}
