package policy

import (
	"path"
	"strings"
)

// leaves says whether a pattern for files below a directory may also name files elsewhere. Tools differ in what they
// expand, so that every reading counts.
func leaves(pattern string) bool {
	if strings.ContainsAny(pattern, "\\") || !plainPath(pattern) {
		return true
	}
	all, err := braces(pattern)
	if err != nil {
		all = []string{pattern}
	}
	for _, p := range all {
		if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || err != nil && strings.Contains(p, "/") && strings.ContainsAny(p, "{}") {
			return true
		}
		for part := range strings.SplitSeq(p, "/") {
			if mayClimb(part) {
				return true
			}
		}
	}
	return false
}

// mayClimb says whether a part of a pattern may be the directory above: "..", and what some tools take for it, such
// as [.][.], .? and +(.). No tool lets a * begin with a dot that leads up.
func mayClimb(part string) bool {
	return strings.Contains(part, "..") || part != "." && strings.Contains(part, ".") && strings.Trim(part, ".?[]()+@!|,{}^") == ""
}

// listed are the places that a pattern for names below a directory fixes: a rule about one of them is about the
// list, too.
func listed(at, pattern string) (all []string) {
	patterns, err := braces(pattern)
	if err != nil {
		patterns = []string{pattern}
	}
	for _, p := range patterns {
		fixed := fixedPart(p)
		if fixed == "" || fixed == "./" {
			continue
		}
		if !strings.HasPrefix(fixed, "/") && !strings.HasPrefix(fixed, "~") {
			fixed = strings.TrimSuffix(at, "/") + "/" + fixed
		}
		all = append(all, path.Clean(fixed))
	}
	return all
}

// plainPath says whether every tool takes a path as it is written: none would trim it, replace a variable in it,
// take it for a URL, or a backslash for a slash.
func plainPath(s string) bool {
	switch {
	case strings.TrimSpace(s) != s, strings.Contains(s, "\\"), len(s) > maxPath, otherSpelling.MatchString(s):
		return false
	case len(s) > 5 && strings.EqualFold(s[:5], "file:"):
		return false
	case len(s) > 1 && s[0] == '$':
		return s[1] != '{' && s[1] != '(' && (s[1] < 'A' || s[1] > 'Z')
	}
	return true
}

// sameFile is a path as some file systems take it, which do not tell apart case, and do without dots and blanks at
// the end of a name.
func sameFile(p string) string {
	p = fold(p)
	if !strings.Contains(p, "./") && !strings.Contains(p, " /") && strings.TrimRight(p, ". ") == p {
		return p
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if short := strings.TrimRight(part, ". "); short != "" {
			parts[i] = short
		}
	}
	return strings.Join(parts, "/")
}

// otherSpelling is a name that file systems of Windows, which WSL mounts as well, take for another: .git::$DATA and
// .git. are .git, and GIT~1 may be.
var otherSpelling = lazily(`::|:\$|[^./][. ]+(/|$)|(^|/)[^/.]{1,6}~[0-9](\.[^/.]{1,3})?(/|$)`)
