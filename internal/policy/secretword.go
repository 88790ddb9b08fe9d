package policy

import (
	"errors"
	"os"
	"slices"
	"strings"

	"assent/internal/agent/tool"
	"assent/internal/policy/shell"
)

// secret is a word of a call that is, or may be, the name of a file with secrets.
type secret struct {
	text string       // as it is written
	at   resolvedPath // where it leads; empty for patterns
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
	case m.mcp != nil:
		return slices.ContainsFunc(m.mcp.input, func(in inputMatch) bool {
			return slices.ContainsFunc(in.want, func(g glob) bool { return g.exact && g.src == s.text })
		})
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
func (e *scope) secretsOf(u *shell.Unit) (all []secret) {
	inEach(u, func() bool {
		all = append(all, e.secretsHere(u)...)
		return true
	})
	return all
}

func (e *scope) secretsHere(u *shell.Unit) []secret {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		return e.secretWord(nil, u.Path, u, wordFile, e.readsDirectories(u))
	case shell.Command:
	default:
		return nil
	}
	if len(u.Argv) == 0 {
		return nil
	}
	var all []secret
	roles, varies := e.roles(u), false
	dirs := e.readsDirectories(u) || u.Base == "git" && slices.ContainsFunc(u.Argv, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "--no-ind") })
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
		varies = varies || role == wordFile && !w.Static && strings.Contains(w.Text, "$")
		if role != wordScript && e.isOrdinary(i+1, u) {
			continue
		}
		all = e.secretWord(all, w, u, role, dirs || role == wordSearch)
	}
	if u.Base == "ag" || roles != nil && roles(0, shell.Word{}) == wordSearch {
		all = e.namePatterns(all, u)
	}
	if readsInput(u) || varies {
		all = scanned(all, e.command, e) // any text of the script may be the name
	}
	if u.Base == "git" {
		for _, w := range u.Argv[1:] {
			if strings.HasPrefix(w.Prefix, "--batch") && !strings.HasPrefix(w.Prefix, "--batch-check") && !strings.HasPrefix(w.Prefix, "--batch-all") {
				all = append(all, secret{text: w.Text}) // what it shows is known only when it runs
			}
		}
	}
	if u.Dir != "" && (searchesBelow(u) || namesOnly(u.Base) && !e.namesPath(u) && roles != nil && roles(0, shell.Word{}) == wordSearch) {
		if e.searched.dir != u.Dir || !e.searched.known {
			at, ok := e.resolvePath(u.Dir, u.Dir)
			e.searched = searchedDir{u.Dir, true, at, ok && e.isSecret(at, true)}
		}
		if e.searched.secret {
			all = append(all, secret{text: u.Dir, at: e.searched.at})
		}
	}
	return all
}

// searchedDir says whether what reads all below a directory meets secrets for certain.
type searchedDir struct {
	dir    string
	known  bool
	at     resolvedPath
	secret bool
}

// namesPath says whether find and its like are given a path to begin at.
func (e *scope) namesPath(u *shell.Unit) bool {
	return len(u.Argv) > 1 && !strings.HasPrefix(u.Argv[1].Prefix, "-") && u.Base != "fd" && u.Base != "fdfind"
}

// secretsOfTool finds the secrets among the files of a tool. To list names shows no secret.
func (e *scope) secretsOfTool(t *target, paths []resolvedPath) []secret {
	if e.tool.Kind == tool.ListDir {
		return nil
	}
	searches := e.searches()
	var all []secret
	for _, at := range paths {
		if e.isSecret(at, searches) {
			all = append(all, secret{text: at.spelled, at: at})
		}
	}
	for _, p := range t.paths {
		if climbs(p) && !e.sure(e.cwd, p) {
			all = append(all, secret{text: p})
		}
	}
	patterns := append(searchPatterns(t.search), t.names)
	for _, p := range patterns {
		for _, at := range paths {
			if p != "" && e.secretPattern(p, at.spelled) {
				all = append(all, secret{text: p})
				break
			}
		}
	}
	return all
}

// secretWord appends what is secret about one word. dirs: of a directory what lies in it is read, too.
func (e *scope) secretWord(all []secret, w shell.Word, u *shell.Unit, role wordRole, dirs bool) []secret {
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
	if w.Static && (text == "" || text[0] != '-' || e.readlink == nil) && plainName(text) { // the same by a shorter way: it has one spelling
		switch {
		case text[0] == '-' && len(text) > 3:
		case text[0] == '-', text == "." && !dirs, role == wordName && !strings.ContainsAny(text, "./") && !strings.HasPrefix(text, "id_"):
			return all
		default:
			if at, ok := e.resolvePath(dir, text); ok && e.isSecret(at, dirs) {
				all = append(all, secret{text: w.Text, at: at})
			}
			return all
		}
	}
	if strings.ContainsAny(text, "\\^") && role != wordName {
		if found := scanned(nil, text, e); found != nil { // a regular expression for names
			return append(all, secret{text: w.Text})
		}
	}
	var few [8]string
	for _, t := range fileSpellings(few[:0], text, u.Base == "git") {
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
		if i := strings.IndexAny(t, "*?[{"); i >= 0 {
			if e.secretPattern(t, dir) {
				return append(all, secret{text: w.Text})
			}
			if at, ok := e.resolvePath(dir, t[:strings.LastIndexByte(t[:i], '/')+1]+"."); ok && dirs && e.isSecret(at, true) {
				return append(all, secret{text: w.Text})
			}
		}
		at, ok := e.resolvePath(dir, t)
		if ok && (e.isSecret(at, dirs) || role != wordName && climbs(t) && !e.sure(dir, t)) {
			return append(all, secret{text: w.Text, at: at})
		}
	}
	return all
}

// plainName says whether a word holds nothing but letters, digits, slashes, dots and dashes, and goes
// nowhere up.
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '_' || c == '/' || c == '-' || c == '.' && (i == 0 || s[i-1] != '.')) {
			return false
		}
	}
	return s != ""
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

// fileSpellings appends the texts in a word that may be a file's name: spellings, and what git writes
// before names.
func fileSpellings(all []string, text string, git bool) []string {
	all = spellings(all, text)
	if i := strings.IndexByte(text, ':'); i >= 0 && i+1 < len(text) {
		all = append(all, text[i+1:])
	}
	if _, v, ok := strings.Cut(text, "=@"); ok {
		all = append(all, v)
	}
	if strings.Contains(text, ",") && (!strings.Contains(text, "{") || strings.Contains(text, "=")) { // {a,b} is read as a whole
		for part := range strings.SplitSeq(text, ",") {
			_, v, has := strings.Cut(part, "=")
			if !has {
				v = part
			}
			all = append(all, v)
		}
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
func (e *scope) readsDirectories(u *shell.Unit) bool {
	switch {
	case e.programOf(u.Base).kind&noDirectory != 0:
		return false
	case u.Base == "grep" || u.Base == "egrep" || u.Base == "fgrep" || u.Base == "zgrep":
		return searchesBelow(u)
	}
	return true
}

// isSecret says whether a path is that of a secret. dirs: what lies below it is read, too.
func (e *scope) isSecret(at resolvedPath, dirs bool) bool {
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
	if strings.Contains(t, "/proc/") || strings.Contains(t, "/dev/fd") || strings.HasPrefix(t, unknownDir) {
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
