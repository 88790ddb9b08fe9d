package rules

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"assent/internal/shell"
)

// secret is a word of a call that is, or may be, the name of a file with secrets.
type secret struct {
	text string // as it is written
	at   place  // where it leads; empty for patterns
}

// why is a sentence for a person.
func (s *secret) why() string {
	return quote(s.text) + " may hold keys, passwords or tokens: only a rule that names it in full allows it"
}

// namedBy says whether an allow rule names the secret in full.
func (s *secret) namedBy(m *match, e *scope) bool {
	switch {
	case m.command != nil:
		for _, alternatives := range m.command.args {
			for i := range alternatives {
				if g := &alternatives[i]; g.exact && g.src == s.text && g.re == nil {
					return true
				}
			}
		}
		return s.namedIn(m.command.paths, e)
	case m.file != nil:
		return s.namedIn(m.file.paths, e)
	}
	return false
}

func (s *secret) namedIn(patterns []pathPattern, e *scope) bool {
	if s.at.spelled == "" {
		return false
	}
	return slices.ContainsFunc(patterns, func(p pathPattern) bool {
		return p.below.exact && p.below.re == nil && !p.all && e.inside(s.at, []pathPattern{p})
	})
}

// unnamed says which secret of the unit or call a rule that would allow it does not name.
func (e *scope) unnamed(m *match) fault {
	for i := range e.secrets {
		if s := &e.secrets[i]; !s.namedBy(m, e) {
			return fault{"secret", s.why()}
		}
	}
	return fault{}
}

// secretsOf finds the words of a unit that name files with secrets, or directories in which a
// search would find them.
func (e *scope) secretsOf(u *shell.Unit) []secret {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		return e.secretWord(nil, u.Path, u, wordFile)
	case shell.Command:
	default:
		return nil
	}
	if len(u.Argv) == 0 {
		return nil
	}
	var all []secret
	roles := e.roles(u)
	for i, w := range u.Argv[1:] {
		role := wordFile
		if roles != nil {
			role = roles(i, w)
		}
		if role == wordPlain {
			continue
		}
		if !e.spend(30) {
			break // nothing is allowed, then
		}
		all = e.secretWord(all, w, u, role)
	}
	if readsInput(u) {
		all = scanned(all, e.command, e)
	}
	if u.Dir != "" && (searchesBelow(u) || namesOnly(u.Base) && !e.namesPath(u) && roles != nil && roles(0, shell.Word{}) == wordSearch) {
		if at, ok := e.place(u.Dir, u.Dir); ok && e.secretPlace(at, true) {
			all = append(all, secret{text: u.Dir, at: at})
		}
	}
	return all
}

// namesPath says whether find and its like are given a place to begin at.
func (e *scope) namesPath(u *shell.Unit) bool {
	return len(u.Argv) > 1 && !strings.HasPrefix(u.Argv[1].Prefix, "-") && u.Base != "fd" && u.Base != "fdfind"
}

// secretsOfTool finds the secrets among the files of a tool. To list names shows no secret.
func (e *scope) secretsOfTool(t *target, places []place) []secret {
	if e.call.Tool == "LS" {
		return nil
	}
	searches := e.call.Tool == "Grep" || e.call.Tool == "Glob"
	var all []secret
	for _, at := range places {
		if e.secretPlace(at, searches) {
			all = append(all, secret{text: at.spelled, at: at})
		}
	}
	for _, p := range t.paths {
		if climbs(p) && !e.sure(e.cwd, p) {
			all = append(all, secret{text: p})
		}
	}
	for _, p := range []string{t.search, t.names} {
		for _, at := range places {
			if p != "" && e.secretPattern(p, at.spelled) {
				all = append(all, secret{text: p})
				break
			}
		}
	}
	return all
}

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
	switch u.Base {
	case "tr", "expr", "seq", "sleep", "date", "kill", "true", "false", ":", "exit", "test", "[", "cd", "pushd", "mkdir", "pwd", "basename", "dirname", "type", "which", "alias", "wait", "return", "break", "continue", "set", "shift", "trap", "ulimit", "umask", "dscl":
		return all(wordPlain)
	case "echo", "printf":
		if u.Stdout == shell.Pipe || len(u.Via) > 0 {
			return func(_ int, w shell.Word) wordRole {
				if strings.ContainsAny(w.Text, " \n\t") {
					return wordScript
				}
				return wordName
			}
		}
		return all(wordPlain)
	case "find", "fd", "fdfind", "locate", "plocate", "mdfind", "ls", "tree", "exa", "eza", "stat", "du", "df", "file", "realpath", "readlink":
		if e.readsComputed() || e.readsInput() {
			return all(wordSearch)
		}
		return all(wordPlain)
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ripgrep", "ag", "ack", "ugrep", "ug", "bzgrep", "xzgrep", "rgrep", "pcregrep", "pcre2grep":
		return grepRoles(words)
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk":
		return scriptRoles(words)
	case "jq", "gojq", "jaq":
		return filterRoles(words)
	case "git":
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

// grepRoles leaves out the pattern: the first operand, unless a flag may have brought one.
func grepRoles(words []shell.Word) func(int, shell.Word) wordRole {
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
			case "--after-context", "--before-context", "--context", "--max-count", "--glob", "--iglob", "--type", "--type-not", "--include", "--exclude", "--exclude-dir", "--max-depth", "--color", "--colors", "--sort", "--sortr", "--engine", "--encoding", "--threads", "--max-filesize", "--max-columns", "--replace":
				value = !has && name != "--color"
			}
		case len(t) > 1 && t[0] == '-':
			if strings.ContainsAny(t[1:], "ef") && !strings.HasPrefix(t, "-g") {
				return nil
			}
			last := t[len(t)-1]
			value = strings.IndexByte("ABCmgtTMdjr", last) >= 0 && (last != 'r' && last != 'd' && last != 'j' && last != 'T' && last != 't' && last != 'M' && last != 'g' || t == "-g" || t == "-t" || t == "-T" || t == "-j" || t == "-M")
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
	return func(i int, w shell.Word) wordRole {
		switch {
		case names && words[sub].Text != "add":
			return wordPlain
		case names:
			return wordPlain
		case i == sub:
			return wordPlain
		case dashes >= 0 && i > dashes, strings.Contains(w.Text, ":"):
			return wordFile
		case strings.ContainsAny(w.Text, " \n\t"):
			return wordScript
		}
		return wordName
	}
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
	for i := range e.units {
		if u := &e.units[i]; u.Kind == shell.Command && !namesOnly(u.Base) && readsInput(u) {
			return true
		}
	}
	return false
}

// secretWord appends what is secret about one word.
func (e *scope) secretWord(all []secret, w shell.Word, u *shell.Unit, role wordRole) []secret {
	text := w.Text
	if role == wordScript {
		if found := scanned(nil, text, e); found != nil {
			all = append(all, secret{text: text})
		}
		return all
	}
	if e.home != "" && !w.Static {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "${HOME}", e.home), "$HOME", e.home)
	}
	if text == "{}" || text == "…" || len(text) > maxPath {
		return all
	}
	dir := u.Dir
	if dir == "" || !u.DirKnown && u.Dir == "" {
		dir = unknownDir
	}
	dirs := readsDirectories(u) || role == wordSearch
	for _, t := range fileSpellings(text, u.Base == "git") {
		if t == "" || t == "." && !dirs {
			continue
		}
		if i := strings.LastIndexAny(t, "$`)"); i >= 0 && !w.Static { // what follows is known
			slash := strings.IndexByte(t[i:], '/')
			if slash < 0 {
				if t = t[i+1:]; !strings.HasPrefix(t, ".") {
					continue
				}
				t = "x" + t
			} else {
				t = "/\x01/x" + t[i+slash:]
			}
		}
		if home, ok := otherHome(t); ok {
			t = home
		}
		if u.Base != "git" && strings.HasPrefix(t, "~/") && e.home != "" {
			t = e.home + t[1:]
		}
		if role == wordName && !strings.ContainsAny(t, "./") && !strings.HasPrefix(t, "id_") {
			continue
		}
		if strings.ContainsAny(t, "*?[{") && e.secretPattern(t, dir) {
			return append(all, secret{text: w.Text})
		}
		at, ok := e.place(dir, t)
		if ok && (e.secretPlace(at, dirs) || role != wordName && climbs(t) && !e.sure(dir, t)) {
			return append(all, secret{text: w.Text, at: at})
		}
	}
	return all
}

// otherHome reads ~name and ~name/x.
func otherHome(t string) (string, bool) {
	if len(t) < 2 || t[0] != '~' || t[1] == '/' {
		return "", false
	}
	name, rest, _ := strings.Cut(t[1:], "/")
	if name == "root" {
		return "/root/" + rest, true
	}
	return "/home/" + name + "/" + rest, true
}

// fileSpellings are the texts in a word that may be a file's name: spellings, and what git writes
// before names.
func fileSpellings(text string, git bool) []string {
	all := spellings(text)
	if i := strings.IndexByte(text, ':'); i >= 0 && i+1 < len(text) {
		all = append(all, text[i+1:])
	}
	if _, v, ok := strings.Cut(text, "=@"); ok {
		all = append(all, v)
	}
	if !git {
		return all
	}
	if strings.HasPrefix(text, ":") {
		rest := strings.TrimLeft(text, ":/^!")
		if i := strings.IndexByte(rest, ')'); strings.HasPrefix(rest, "(") && i > 0 {
			rest = rest[i+1:]
		}
		all = append(all, rest)
	}
	return all
}

// readsDirectories says whether a program may read all that lies in a directory that it is given.
func readsDirectories(u *shell.Unit) bool {
	switch u.Base {
	case "cat", "head", "tail", "tac", "rev", "nl", "wc", "cut", "paste", "tr", "fold", "fmt", "sort", "uniq", "column", "comm", "join", "od", "xxd", "hexdump", "hd", "strings", "base64", "base32",
		"awk", "gawk", "mawk", "nawk", "sed", "gsed", "jq", "yq", "bat", "batcat", "less", "more", "cmp", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "expand", "unexpand", "touch", "tee", "truncate", "git", "echo", "printf", "date", "seq", "expr", "look", "tsort", "zcat", "bzcat", "xzcat":
		return false
	case "grep", "egrep", "fgrep", "zgrep":
		return searchesBelow(u)
	}
	return true
}

// secretPlace says whether a place is that of a secret. dirs: what lies below it is read, too.
func (e *scope) secretPlace(at place, dirs bool) bool {
	is := func(p string) bool {
		return e.secretPath(p) || dirs && e.holdsHomes(fold(p))
	}
	if is(at.spelled) {
		return true
	}
	return slices.ContainsFunc(at.real, func(r string) bool { return r != "" && r != at.spelled && is(r) })
}

// climbs says whether a path goes up again after a name, which may be that of a link.
func climbs(t string) bool {
	name := false
	for part := range strings.SplitSeq(t, "/") {
		switch part {
		case "", ".":
		case "..":
			if name {
				return true
			}
		default:
			name = true
		}
	}
	return false
}

// sure says whether it is known where a path leads that goes up after a name: every name before
// exists and is read here, and is not one that means something else to each process.
func (e *surroundings) sure(dir, t string) bool {
	if !strings.HasPrefix(t, "/") {
		t = dir + "/" + t
	}
	if strings.HasPrefix(t, "/proc/") || strings.HasPrefix(t, "/dev/") || strings.HasPrefix(t, unknownDir) {
		return false
	}
	if e.readlink == nil {
		return true // the tests of a file know no links
	}
	return e.resolve(t) != "" && e.exists(t)
}

// exists says whether what stands before each .. of a path is there. What is not could be made a
// link by then.
func (e *surroundings) exists(full string) bool {
	for i := 1; ; i++ {
		next := strings.Index(full[i:], "/..")
		if next < 0 {
			return true
		}
		i += next
		if before := strings.TrimRight(full[:i], "/"); before != "" && !strings.HasSuffix(before, "/..") {
			if _, err := e.readlink(before); errors.Is(err, os.ErrNotExist) {
				return false
			}
		}
	}
}

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
	said := 0
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '[':
			if end := strings.IndexByte(body[i:], ']'); end > 0 {
				said++
				i += end
			}
		case body[i] != '*' && body[i] != '?':
			said++
		}
	}
	if said == 0 || said < 3 && part[0] != '.' {
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
	lead := part[:strings.IndexAny(part, "*?[")]
	return len(lead) >= 4 && slices.ContainsFunc(l.words, func(w string) bool { return strings.HasPrefix(w, lead) })
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
		if t[0] == '/' && e.secretPath(path.Clean(t)) {
			return append(all, secret{text: t})
		}
	}
	return all
}
