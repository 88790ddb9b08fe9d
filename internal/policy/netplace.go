package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// On many systems a path names a machine: an automounter that waits at /net, /afs or a place that its
// administrator chose connects to the host in /net/HOST/x when the path is looked up, whatever is done with it.
// Where one waits nobody knows but that machine. So what the packs allow, which promise to open no
// connection, they allow below directories of which it is known.

// knownTops are the directories directly below / that systems and containers have as places of their own, in
// lower case.
var knownTops = map[string]bool{}

func init() {
	for top := range strings.FieldsSeq(`
		bin boot dev etc home lib lib32 lib64 libx32 lost+found media mnt opt proc root run sbin srv sys tmp usr var
		nix gnu snap rescue libexec applications library system users volumes private cores
		app builds code github __w src workspace workspaces`) {
		knownTops[top] = true
	}
}

// automounters are the directories below / at which systems have an automounter wait for the names of hosts.
var automounters = []string{"net", "afs", "network", "misc", "smb", "cifs", "nfs", "nfs4", "autofs", "amd", "dfs", "coda", "cvmfs", "ipfs", "ipns", "n"}

// networkPlace says whether a clean absolute path may name another machine: it lies in none of the directories
// of which it is known that they do not, and not where the project lies either.
func (e *surroundings) networkPlace(at string) bool {
	if len(at) < 2 {
		return false
	}
	top, _, deeper := strings.Cut(at[1:], "/")
	if deeper && strings.IndexByte(top, '\x01') >= 0 { // stands for what is not known
		return false
	}
	folded := fold(at)
	if top = fold(top); knownTops[top] {
		for _, r := range sameRoots { // the same once more: /private/net
			if rest, ok := under(r, folded); ok && rest != "" {
				return e.networkPlace("/" + rest)
			}
		}
		return false
	}
	for _, own := range []string{e.project, e.cwd, e.home} {
		if own == "" {
			continue
		}
		if beside := path.Dir(own); beside != "/" && !slices.Contains(automounters, strings.TrimPrefix(fold(beside), "/")) {
			own = beside
		}
		if _, ok := under(fold(own), folded); ok {
			return false
		}
	}
	return true
}

// automounter says whether a folded name directly below / is one at which an automounter is known to wait.
// Nothing is looked up there: the look would be the connection.
func automounter(top string) bool { return slices.Contains(automounters, top) }

// automounted says whether a clean absolute path lies in such a directory.
func automounted(at string) bool {
	top, _, _ := strings.Cut(at[1:], "/")
	return automounter(fold(top))
}

// networkFile says whether a path may name another machine, as it is spelled or where links lead.
func (e *surroundings) networkFile(at resolvedPath) bool {
	return e.networkPlace(at.spelled) || slices.ContainsFunc(at.real, func(r string) bool { return r != "" && r != at.spelled && e.networkPlace(r) })
}

// networkFault is why a pack does not allow a path that may name another machine.
func networkFault(text string) fault {
	return fault{"place", quote(text) + " may be on another machine, to which a look would open a connection; packs allow only what is certain to be here"}
}

// quiet says whether a rule is of a pack that promises to open no connection: its file says `connects: false`.
func (r *rule) quiet() bool { return r.quietPack }

// networkWord is the first word of a unit that may name another machine, "" if there is none.
func (e *scope) networkWord(u *shell.Unit) string {
	if u.Kind != shell.Command {
		return e.oneNetworkWord(u.Path, u)
	}
	if len(u.Argv) == 0 {
		return ""
	}
	varies := readsInput(u)
	for _, words := range append([][]shell.Word{u.Argv}, u.Alt...) {
		words = words[min(1, len(words)):]
		roles := e.pathRoles(u, words)
		for i, w := range words {
			varies = varies || !w.Static && !substituted(w) && (!w.Glob || strings.ContainsAny(w.Text, "$`"))
			if roles != nil && roles(i, w) != wordFile && !w.Glob || i > 0 && textFollows(u.Base, words[i-1].Text) {
				continue
			}
			if text := e.oneNetworkWord(w, u); text != "" {
				return text
			}
		}
	}
	if !varies || usesOf(u.Base)&printsWords != 0 {
		return ""
	}
	if text := e.networkText(e.command); text != "" { // any text of the script may be the name
		return text
	}
	for i := range e.units {
		if p := &e.units[i]; p != u && p.Kind == shell.Command && (p.Stdout == shell.Pipe || len(p.Via) > 0 && strings.ContainsAny(p.Via[len(p.Via)-1], "$`<")) && !printsPaths(p) {
			return unitText(p) // what it prints may be any path
		}
	}
	return ""
}

// printsPaths says whether all that a command prints are names of files that it found below the places it was
// given, or numbers, or lines of what it reads from others.
func printsPaths(u *shell.Unit) bool {
	if len(u.Argv) == 0 {
		return false
	}
	words := u.Argv[1:]
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(words, func(w shell.Word) bool {
			return !w.Static && (!w.Glob || strings.ContainsAny(w.Text, "$`")) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(w.Text, p) })
		})
	}
	switch u.Base {
	case "head", "tail", "sort", "uniq", "tac", "cat":
		return u.Stdin == shell.Pipe && !slices.ContainsFunc(words, func(w shell.Word) bool {
			return !w.Static || strings.HasPrefix(w.Text, "--f") || w.Text[:min(1, len(w.Text))] != "-" && strings.Trim(w.Text, "0123456789") != ""
		})
	case "grep", "rg":
		return u.Stdin == shell.Pipe && !has("-o", "--only", "-r", "--replace", "-f", "--file") || has("-l", "-rl", "-Rl", "-rnl", "-ril", "--files", "-li", "-lr") && !has("-r=", "--replace", "--color", "--heading")
	case "find", "fd", "fdfind":
		return !has("-printf", "-fprint", "--format", "-ls", "-exec", "-x", "-X")
	case "git":
		return len(words) > 0 && (words[0].Text == "ls-files" || words[0].Text == "rev-parse" || (words[0].Text == "diff" || words[0].Text == "show") && has("--name-only")) && !has("--format", "--pretty", "-S", "--src-prefix", "--dst-prefix")
	case "ls", "which", "pwd", "dirname", "basename", "realpath", "wc", "cd", "command", "type":
		return true
	}
	return false
}

// pathRoles says which words of a command may be paths; nil: all of them.
func (e *scope) pathRoles(u *shell.Unit, words []shell.Word) func(int, shell.Word) wordRole {
	kind := usesOf(u.Base)
	if kind&printsWords == 0 && namesOnly(u.Base) || u.Base == "[[" || u.Base == "command" {
		return nil // what is read of a path is no matter
	}
	if u.Base != "git" {
		return e.roles(u)
	}
	sub := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "grep" })
	var pattern func(int, shell.Word) wordRole
	if sub >= 0 {
		pattern = grepRoles(u.Base, words[sub+1:])
	}
	return func(i int, w shell.Word) wordRole {
		switch {
		case pattern != nil && i > sub && pattern(i-sub-1, w) == wordPlain:
			return wordPlain
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--"): // -S/x, -G/x, -L:/x/
			return wordPlain
		}
		return wordFile
	}
}

// textFollows says whether a flag's value, the next word, is a pattern or another text and never a path.
func textFollows(program, flag string) bool {
	switch {
	case len(flag) < 2 || flag[0] != '-':
		return false
	case program == "git":
		return slices.Contains([]string{"--grep", "-S", "-G", "-L", "-e", "--author", "--committer", "--format"}, flag)
	case program == "find":
		return slices.Contains([]string{"-path", "-ipath", "-wholename", "-iwholename", "-name", "-iname", "-regex", "-iregex", "-lname", "-ilname"}, flag)
	case usesOf(program)&searches != 0:
		return flag == "--regexp" || flag == "-g" || flag == "--glob" || flag[1] != '-' && flag[len(flag)-1] == 'e' && !strings.Contains(flag, "f")
	}
	return false
}

// oneNetworkWord is the text of a word if it may name another machine.
func (e *scope) oneNetworkWord(w shell.Word, u *shell.Unit) string {
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	switch {
	case !e.spend(10):
		return "" // nothing is allowed, then
	case len(w.Text) > maxPath: // no path is that long, but one may stand in a flag
		if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "=/") {
			return w.Text[:40]
		}
		return ""
	}
	var few [8]string
	for _, t := range spellings(few[:0], w.Text) {
		if e.home != "" && strings.HasPrefix(t, "~/") {
			t = e.home + t[1:]
		}
		wild := -1
		if !w.Static {
			wild = strings.IndexAny(t, "*?[{$`")
		}
		if wild >= 0 {
			slash := strings.LastIndexByte(t[:wild], '/')
			if slash == 0 { // /n*/host
				return w.Text
			}
			t = t[:max(slash, 0)] // where it begins to be a pattern
		}
		if t == "" || t[0] == '-' {
			continue
		}
		if at, ok := e.resolvePath(dir, t); ok && e.networkFile(at) {
			return w.Text
		}
	}
	return ""
}

// networkText is the first part of a script's text that may name another machine.
func (e *scope) networkText(text string) string {
	const ends = " \t\n\r\"'`;|&<>()[]{},=:#%!^$\\"
	if !e.spend(len(text) / 16) {
		return ""
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '/' || i > 0 && (text[i-1] == '}' || strings.IndexByte(ends, text[i-1]) < 0) {
			continue
		}
		t := text[i:]
		if n := strings.IndexAny(t, ends); n >= 0 {
			t = t[:n]
		}
		if i += len(t) - 1; e.networkPlace(path.Clean(t)) {
			return t
		}
	}
	return ""
}
