package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"assent/internal/policy/shell"
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
		is, known := e.patterns[part]
		if !known {
			is = l.patternIsSecret(part)
			if e.patterns == nil {
				e.patterns = map[string]bool{}
			}
			e.patterns[part] = is
		}
		if is {
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
	if l.vagueKind(part) {
		return true
	}
	body := part
	if i := strings.LastIndexByte(part, '.'); i > 0 && (dataName("x"+part[i:]) || code("x"+part[i:]) || part[:i] == "*") {
		body = part[:i]
	}
	fixed := spelled(body)
	if (fixed == 0 || fixed < 3 && part[0] != '.') && !kindPattern(part) {
		return false
	}
	g, err := pathGlob(strings.ReplaceAll(part, "**", "*"))
	if err != nil {
		return strings.HasPrefix(part, ".")
	}
	for _, name := range l.allNames {
		if g.match(name) {
			return true
		}
	}
	for _, name := range l.allDirectories {
		if g.match(name) {
			return true
		}
	}
	if (fixed > 2 || kindPattern(part)) && slices.ContainsFunc(l.allKinds, g.match) {
		return true
	}
	lead := part[:strings.IndexAny(part, "*?[")]
	return len(lead) >= 4 && slices.ContainsFunc(l.words, func(w string) bool { return strings.HasPrefix(w, lead) })
}

// spelled counts the parts of a pattern that fix a character of the name: its letters, and sets of them.
func spelled(pattern string) int {
	fixed := 0
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '[':
			if end := strings.IndexByte(pattern[i:], ']'); end > 0 {
				fixed++
				i += end
			}
		case pattern[i] != '*' && pattern[i] != '?':
			fixed++
		}
	}
	return fixed
}

// kindPattern says whether a pattern fits one kind of files, and no other to speak of, without
// spelling it: *.tfv*, *.p?m, but neither *.pem, which needs no guess, nor *.p* or *.md*.
func kindPattern(part string) bool {
	i := strings.LastIndexByte(part, '.')
	if i < 0 || !strings.ContainsAny(part[i:], "*?[") {
		return false
	}
	fixed := spelled(part[i+1:])
	return fixed >= 3 || fixed == 2 && !strings.Contains(part[i:], "*")
}

// vagueKind says whether a pattern leaves out letters of the kind of a file and fits a kind of the
// list: *.p?m, *.ke*, *nv. With no letter at all, as *.???, it fits everything.
func (l *secretList) vagueKind(part string) bool {
	dot := strings.LastIndexByte(part, '.')
	tail := part[dot+1:]
	if !strings.ContainsAny(tail, "*?[") {
		return false
	}
	letters := strings.Count(tail, "[")
	for _, r := range tail {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			letters++
		}
	}
	if letters == 0 || dot < 0 && (letters < 2 || !strings.ContainsAny(part[:1], "*?[")) {
		return false
	}
	g, err := pathGlob(strings.ReplaceAll(part, "**", "*"))
	return err != nil || l.anyKind(g.match, dot < 0)
}

// anyKind says whether a file of one of the kinds fits, or a hidden file of the list.
func (l *secretList) anyKind(fits func(string) bool, hidden bool) bool {
	for _, name := range l.allKinds {
		if strings.LastIndexByte(name, '.') == 1 && fits(name) {
			return true
		}
	}
	for _, name := range l.allNames {
		if hidden && name[0] == '.' && fits(name) {
			return true
		}
	}
	return false
}

// expressionIsSecret says whether a regular expression for names fits a kind of the list, and is not
// one that fits every name. One that cannot be read may.
func (l *secretList) expressionIsSecret(t string) bool {
	re, err := regexp.Compile("(?i)" + t)
	if err != nil {
		return strings.ContainsAny(t, "*?[({\\")
	}
	for _, plain := range []string{"x", "./a/b.c", "main.go", "readme.md"} {
		if re.MatchString(plain) {
			return false
		}
	}
	return l.anyKind(func(name string) bool { return re.MatchString(name) || re.MatchString("./"+name) }, true)
}

// namePatterns appends the regular expressions and extensions by which a search of names, whose
// contents are read then, asks for secrets: fd -e pem, fd 'pem$', find -regex '.*pem', ag -G 'pem$'.
func (e *scope) namePatterns(all []secret, u *shell.Unit) []secret {
	words := u.Argv[1:]
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].Text
		}
		text, extension, expression := w.Text, false, false
		switch u.Base {
		case "fd", "fdfind":
			name, value, has := strings.Cut(text, "=")
			switch {
			case before == "-e" || before == "--extension":
				extension = true
			case has && strings.HasPrefix(name, "-") && (name == "--extension" || !strings.HasPrefix(name, "--") && strings.HasSuffix(name, "e")):
				text, extension = value, true
			case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "e"):
				_, text, _ = strings.Cut(text, "e")
				extension = text != ""
			case has && name == "--and":
				text, expression = value, true
			default:
				expression = !strings.HasPrefix(text, "-")
			}
		case "ag":
			if expression = before == "-G" || before == "-g" || before == "--file-search-regex"; !expression && len(text) > 2 && (strings.HasPrefix(text, "-G") || strings.HasPrefix(text, "-g")) {
				text, expression = strings.TrimPrefix(text[2:], "="), true
			}
		case "find":
			expression = before == "-regex" || before == "-iregex"
		default:
			return all
		}
		if !e.spend(200) {
			return all // nothing is allowed, then
		}
		if extension && e.secretPath(path.Clean("/x."+strings.TrimLeft(fold(text), "."))) || expression && secrets().expressionIsSecret(text) {
			all = append(all, secret{text: w.Text})
		}
	}
	return all
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
