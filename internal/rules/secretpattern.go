package rules

import (
	"path"
	"slices"
	"strings"
)

// secretPattern says whether a pattern for names is made to fit secrets.
func (e *scope) secretPattern(t, dir string) bool {
	for _, alt := range alternatives(t) {
		if e.onePattern(alt, dir) {
			return true
		}
	}
	return false
}

func (e *scope) onePattern(t, dir string) bool {
	l := secrets()
	if !strings.HasPrefix(t, "/") {
		t = dir + "/" + t
	}
	sample := make([]string, 0, 8)
	for part := range strings.SplitSeq(fold(t), "/") {
		if !strings.ContainsAny(part, "*?[") {
			sample = append(sample, part)
			continue
		}
		if part == "**" {
			sample = append(sample, "x")
			continue
		}
		if !e.spend(200) {
			return true
		}
		if l.patternIsSecret(part) {
			return true
		}
		sample = append(sample, fill(part))
	}
	return e.secretPath(path.Clean(strings.Join(sample, "/")))
}

// fill makes a name that fits a pattern.
func fill(part string) string {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '*', '?':
			b.WriteByte('x')
		case '[':
			if end := strings.IndexByte(part[i+1:], ']'); end > 0 {
				b.WriteByte(part[i+1])
				i += end + 1
				continue
			}
			b.WriteByte('[')
		default:
			b.WriteByte(part[i])
		}
	}
	return b.String()
}

// patternIsSecret says whether a pattern for one name fits a name of the list and says enough of
// it: .e*, id_r*, cred*.json, but not *.json.
func (l *secretList) patternIsSecret(part string) bool {
	body := part
	if i := strings.LastIndexByte(part, '.'); i > 0 && (dataName("x"+part[i:]) || code("x"+part[i:]) || part[:i] == "*") {
		body = part[:i]
	}
	said := spelled(body)
	if (said == 0 || said < 3 && part[0] != '.') && !kindPattern(part) {
		return false
	}
	g, err := pathGlob(strings.ReplaceAll(part, "**", "*"))
	if err != nil {
		return strings.HasPrefix(part, ".")
	}
	for name := range l.names {
		if g.match(name) {
			return true
		}
	}
	for name := range l.directories {
		if g.match(name) {
			return true
		}
	}
	for kind := range l.kinds {
		if g.match("x"+kind) && said > 2 {
			return true
		}
	}
	if kindPattern(part) {
		for kind := range l.kinds {
			if g.match("x" + kind) {
				return true
			}
		}
	}
	lead := part[:strings.IndexAny(part, "*?[")]
	return len(lead) >= 4 && slices.ContainsFunc(l.words, func(w string) bool { return strings.HasPrefix(w, lead) })
}

// spelled counts what a pattern says of a name: its letters, and sets of them.
func spelled(pattern string) int {
	said := 0
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '[':
			if end := strings.IndexByte(pattern[i:], ']'); end > 0 {
				said++
				i += end
			}
		case pattern[i] != '*' && pattern[i] != '?':
			said++
		}
	}
	return said
}

// kindPattern says whether a pattern fits one kind of files, and no other to speak of, without
// spelling it: *.tfv*, *.p?m, but neither *.pem, which needs no guess, nor *.p* or *.md*.
func kindPattern(part string) bool {
	i := strings.LastIndexByte(part, '.')
	if i < 0 || !strings.ContainsAny(part[i:], "*?[") {
		return false
	}
	said := spelled(part[i+1:])
	return said >= 3 || said == 2 && !strings.Contains(part[i:], "*")
}

// scanned appends the first name of a secret in a text that is a program or holds one.
func scanned(all []secret, text string, e *scope) []secret {
	if !e.spend(len(text) / 16) {
		return all
	}
	for _, t := range strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`;|&<>()[]{},=:!^$#%\\", r)
	}) {
		plain := !strings.ContainsAny(t, "./~") || strings.Trim(t, "./~") == ""
		if plain && !strings.HasPrefix(t, "id_") || len(t) > maxPath {
			continue
		}
		if strings.HasPrefix(t, "~/") && e.home != "" {
			t = e.home + t[1:]
		}
		if t[0] != '/' {
			t = e.project + "/" + t
		}
		if t[0] == '/' && (e.secretPath(path.Clean(t)) || strings.ContainsAny(t, "*?") && e.secretPattern(t, "/")) {
			return append(all, secret{text: t})
		}
	}
	return all
}
