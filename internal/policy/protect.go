package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// protection knows what no rule may allow a touch of: assent's own programs, state and
// configuration, and the agent's settings, with which an agent could decide for itself.
type protection struct {
	paths []pathPattern
	// kept are paths that may be read and not be changed.
	kept []pathPattern
	// state are directories of assent's, whose parents must not be read or moved as a whole.
	state []string
	// signs are parts of names, in lower case: a word without one touches nothing here.
	signs [256][]string // by first character
}

// wellKnown are the protected paths that are the same everywhere.
func wellKnown() []string {
	return []string{
		"**/.claude", "**/.claude/settings*", "**/.claude/settings*/**", "**/.claude/hooks/**", "**/.claude/.credentials*", "**/.claude.json*", "**/.mcp.json",
		"**/managed-settings*", "**/claude-code/**",
		"**/.git", "**/.git/hooks/**", "**/.git/config*", "**/.git/modules/**/config", "**/.git/modules/**/hooks/**",
		"**/.git/worktrees/**/config*", "**/.git/info/attributes", "**/.git/info",
		"**/assent/owner.token", "**/assent/hook.conf", "**/assent/hook.sock", "**/.local/state/assent/**", "**/.config/assent/**",
		"**/.assent/**", "**/.assent.y*ml", "**/.hookd/**",
		"/run/user/*/assent/**", "/etc/assent/**",
		// Other names for any file, and the keys in a process's environment.
		"/proc/*/root/**", "/proc/*/cwd/**", "/proc/*/fd/**", "/proc/*/task/**", "/proc/*/environ",
	}
}

// unchanged are paths that may be read, while no rule may allow a change: git and the agent take
// from some file below them what to run.
func unchanged() []string {
	return []string{
		"**/.git/**", "**/*.git/**", "**/.gitconfig", "**/.config/git/**", "/etc/gitconfig",
		"**/.claude/*.*", "**/.claude/agents/**", "**/.claude/commands/**", "**/.claude/skills/**", "**/.claude/plugins/**", "**/.claude/output-styles/**", "**/.claude/rules/**", "**/.claude/workflows/**",
	}
}

// ownProgram knows the programs that decide, submit or read for assent.
func ownProgram(base string) bool {
	switch strings.ToLower(base) {
	case "assent", "assent-hook", "hookd-emit", "hookd-query", "assent.exe", "assent-hook.exe":
		return true
	}
	return false
}

func newProtection(own []string, home string) (*protection, error) {
	p := &protection{}
	for _, s := range []string{
		".claude", ".git", "config/git", "/gitconfig", "assent", ".mcp.json", ".hookd", "claude-code", "managed-settings", "owner.token", "hook.sock", "hook.conf",
		"/proc/", "xdg_state_home", "xdg_config_home", "xdg_runtime_dir", "claude_config_dir",
	} {
		p.addSign(s)
	}
	for _, s := range wellKnown() {
		ps, err := pathPatterns(s)
		if err != nil {
			return nil, err
		}
		p.paths = append(p.paths, ps...)
	}
	for _, s := range unchanged() {
		ps, err := pathPatterns(s)
		if err != nil {
			return nil, err
		}
		p.kept = append(p.kept, ps...)
	}
	if home != "" {
		own = append(slices.Clone(own), path.Join(home, ".local/state/assent"), path.Join(home, ".config/assent"))
	}
	for _, dir := range own {
		if dir = clean(dir); dir == "" || dir == "/" {
			continue
		}
		q := pathPattern{src: dir, below: glob{src: dir[1:], exact: true}}
		under := pathPattern{src: dir, below: glob{src: dir[1:] + "/**", tokens: append(literals(dir[1:]), token{kind: below}, token{kind: anything})}}
		p.paths = append(p.paths, q, under)
		p.state = append(p.state, dir)
		p.addSign(path.Base(dir))
	}
	return p, nil
}

func (p *protection) addSign(s string) {
	s = strings.ToLower(s)
	p.signs[s[0]] = append(p.signs[s[0]], s)
}

// namesOnly are programs that do nothing to the paths they are given but tell about their
// names, sizes and dates.
func namesOnly(base string) bool {
	switch base {
	case "echo", "printf", "ls", "stat", "cd", "pwd", "pushd", "popd", "basename", "dirname", "realpath", "readlink", "test", "[", "true", "false", "du", "df", "tree", "find", "file", "mkdir", "which", "type", "exa", "eza":
		return true
	}
	return false
}

// touchedBy says why the unit touches something protected; empty when it does not.
func (p *protection) touchedBy(u *shell.Unit, e *scope) string {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		if u.Kind == shell.Write && e.holdsProject(u.Path, u) {
			return quote(u.Path.Text) + " holds the project with its .git and .claude"
		}
		changes := u.Kind == shell.Write
		if why := p.word(u.Path, u, e, false, changes); why != "" {
			return why
		}
		if at, ok := e.place(u.Dir, u.Path.Text); ok && u.Path.Static && p.touches(at, e, changes) {
			return quote(u.Path.Text) + " leads to " + ownPlace
		}
	case shell.Command:
		return p.command(u, e)
	}
	return ""
}

const ownPlace = "what belongs to assent or to the agent's settings, which no rule allows"

func (p *protection) touches(at place, e *scope, changes bool) bool {
	folded := strings.ToLower(at.spelled) // some file systems do not tell case apart
	for _, list := range [][]pathPattern{p.paths, p.kept} {
		if e.touches(at, list) || folded != at.spelled && e.touches(place{spelled: folded}, list) {
			return true
		}
		if !changes {
			break
		}
	}
	return false
}

// mayChange says whether a program may change the files that it is given.
func mayChange(base string) bool {
	return base == "mkdir" || !namesOnly(base) && fileProgram(base, opEdit) != no
}

func (p *protection) command(u *shell.Unit, e *scope) string {
	if ownProgram(u.Base) {
		return quote(u.Base) + " is assent itself, which no rule allows"
	}
	if why := ownSettings(u); why != "" {
		return why
	}
	if u.Base == "git" {
		if at := e.strangeRepository(u.Dir); at != "" {
			return quote(at) + " is a repository of its own, whose configuration can name programs to run"
		}
	}
	if e.facts(p, u.Dir).sign {
		if at := (place{spelled: u.Dir}); p.touches(at, e, true) {
			return "it runs in " + quote(u.Dir) + ", " + ownPlace
		}
	}
	// Names that are listed can be read by what follows: cat $(find ~ -name '*.token').
	readsNames := namesOnly(u.Base) && !(p.listsState(u, e) && e.readsComputed())
	if !readsNames && e.facts(p, u.Dir).above && searchesBelow(u) {
		return "it searches " + quote(u.Dir) + ", below which assent keeps its state"
	}
	if len(u.Argv) == 0 {
		return ""
	}
	destroys := false
	switch u.Base {
	case "rm", "mv", "chmod", "chown", "chgrp", "shred", "rmdir", "unlink":
		destroys = true
	case "cp", "rsync", "ditto": // what is copied over the project may hold a .git or a .claude
		destroys = u.Base != "cp" || slices.ContainsFunc(u.Argv, func(w shell.Word) bool {
			return len(w.Text) > 2 && (strings.HasPrefix("--recursive", w.Text) || strings.HasPrefix("--archive", w.Text)) || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "rRa")
		})
	}
	controls := false
	switch u.Base {
	case "kill", "pkill", "killall", "systemctl", "launchctl", "service", "rc-service", "skill":
		controls = true
	}
	if at, ok := unpacksTo(u); ok && e.holdsProject(at, u) {
		return "what it unpacks may hold a .git or a .claude, and " + quote(at.Text) + " holds the project"
	}
	changes := mayChange(u.Base)
	for _, w := range u.Argv[1:] {
		if controls && strings.Contains(strings.ToLower(w.Text), "assent") {
			return quote(w.Text) + " is assent itself, which no rule allows"
		}
		if why := p.word(w, u, e, readsNames, changes); why != "" {
			return why
		}
		if takesScript(u.Base) && strings.ContainsAny(w.Text, " \t\n;'\"()") && p.hasSign(w.Text) {
			return quote(w.Text) + " may name " + ownPlace
		}
		if destroys && e.holdsProject(w, u) {
			return quote(w.Text) + " holds the project with its .git and .claude"
		}
	}
	for _, alt := range u.Alt {
		for _, w := range alt {
			if p.hasSign(w.Text) {
				if why := p.word(w, u, e, readsNames, changes); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// takesScript knows programs that are given programs, with names of files in them.
func takesScript(base string) bool {
	switch strings.TrimRight(base, "0123456789.") {
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk", "perl", "ruby", "python", "node", "deno", "bun", "php", "lua", "ed", "ex", "vi", "vim", "nvim", "osascript", "sqlite":
		return true
	}
	return false
}

// listsState says whether a word of the command is a directory above assent's state.
func (p *protection) listsState(u *shell.Unit, e *scope) bool {
	if e.facts(p, u.Dir).above {
		return true
	}
	for _, w := range u.Argv[min(1, len(u.Argv)):] {
		if !w.Static || mayLead(w.Text) && p.aboveState(path.Clean(w.Text), e) || strings.Contains(w.Text, "..") {
			return true
		}
	}
	return false
}

// readsComputed says whether a program of the script that reads or changes files is given a name
// that is known at run time only.
func (e *scope) readsComputed() bool {
	for i := range e.units {
		u := &e.units[i]
		if u.Kind == shell.Command && !namesOnly(u.Base) && slices.ContainsFunc(u.Argv, func(w shell.Word) bool { return !w.Static }) {
			return true
		}
	}
	return false
}

// holdsProject says whether a word is the project's directory or one above it.
func (e *scope) holdsProject(w shell.Word, u *shell.Unit) bool {
	if !w.Static || w.Text == "" || len(w.Text) > maxPath || u.Dir == "" || e.project == "" {
		return false
	}
	at := w.Text
	if at[0] != '/' {
		if at[0] != '.' && !lies(u.Dir, e.project) {
			return false
		}
		at = u.Dir + "/" + at
	}
	return lies(path.Clean(at), e.project)
}

// searchesBelow says whether a command without a path reads everything below its directory.
func searchesBelow(u *shell.Unit) bool {
	switch u.Base {
	case "rg", "ag", "ack", "ugrep", "ug":
		return true
	case "grep", "egrep", "fgrep", "zgrep":
		return slices.ContainsFunc(u.Argv, func(w shell.Word) bool {
			return !w.Static || len(w.Text) > 1 && w.Text[0] == '-' && strings.ContainsAny(w.Text, "rRd")
		})
	}
	return false
}

// hasSign is a quick look without regard to the case of ASCII letters: a word without a sign,
// and not above the state, is harmless.
func (p *protection) hasSign(s string) bool {
	for i := range len(s) {
		for _, sign := range p.signs[lower(s[i])] {
			if len(s)-i >= len(sign) && startsFold(s[i:], sign) {
				return true
			}
		}
	}
	return false
}

func startsFold(s, prefix string) bool {
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// aboveState says whether a directory holds assent's state somewhere below.
func (p *protection) aboveState(dir string, e *scope) bool {
	for _, s := range p.state {
		if _, ok := under(dir, s); ok {
			return true
		}
	}
	if e.home == "" {
		return false
	}
	if _, ok := under(dir, e.home); ok { // the home and what is above it
		return true
	}
	switch rest, ok := under(e.home, dir); {
	case !ok:
		return false
	default:
		return rest == ".local" || rest == ".local/state" || rest == ".config"
	}
}

// above is aboveState for a place however it is spelled.
func (p *protection) above(at place, e *scope) bool {
	if p.aboveState(at.spelled, e) {
		return true
	}
	for _, r := range at.real {
		if r == "" || r == at.spelled {
			continue
		}
		if e.realState == nil {
			e.realState = []string{e.realBase(&pathPattern{anchor: atHome})}
			for _, s := range p.state {
				e.realState = append(e.realState, e.resolve(s))
			}
		}
		if p.aboveState(r, e) || slices.ContainsFunc(e.realState, func(s string) bool { return lies(r, s) }) {
			return true
		}
	}
	return false
}

// dirFacts is what protection knows about a directory.
type dirFacts struct {
	dir                string
	known, sign, above bool // see hasSign and aboveState
}

func (e *scope) facts(p *protection, dir string) *dirFacts {
	if e.dir.dir != dir || !e.dir.known {
		e.dir = dirFacts{dir, true, p.hasSign(dir), p.aboveState(dir, e)}
	}
	return &e.dir
}

func (p *protection) word(w shell.Word, u *shell.Unit, e *scope, namesOnly, changes bool) string {
	text := w.Text
	if !w.Static && e.home != "" && strings.Contains(text, "HOME") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "${HOME}", e.home), "$HOME", e.home)
	}
	sign := p.hasSign(text)
	if !sign && namesOnly && !w.Glob {
		return ""
	}
	if sign && !w.Static {
		return quote(w.Text) + " may become " + ownPlace
	}
	if !w.Static && w.Glob && !strings.ContainsAny(text, "$`") {
		for _, t := range alternatives(text) {
			if why := p.globWord(w, t, u, e, changes); why != "" {
				return why
			}
		}
		return ""
	}
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	if !sign && strings.HasPrefix(text, "-") && !mayLead(text) || len(text) > maxPath || !e.spend(10) {
		return ""
	}
	for _, t := range spellings(text) {
		at, ok := e.place(dir, t)
		if !ok {
			continue
		}
		if namesOnly && u.Base != "mkdir" && path.Base(at.spelled) == ".git" {
			continue // test -d .git, find . -path ./.git -prune: what is in it is not touched
		}
		if sign && p.touches(at, e, changes) {
			return quote(w.Text) + " is " + ownPlace
		}
		if namesOnly {
			continue
		}
		if !sign && slices.ContainsFunc(at.real, func(r string) bool { return r != at.spelled && p.hasSign(r) }) && p.touches(at, e, changes) {
			return quote(w.Text) + " leads to " + ownPlace
		}
		if readsDirectories(u) && p.above(at, e) {
			return quote(w.Text) + " holds assent's state"
		}
	}
	return ""
}

// mayLead says whether a word may lead out of the directory that a command runs in.
func mayLead(s string) bool {
	slash := strings.IndexByte(s, '/')
	return slash == 0 || slash > 0 && (s[0] == '-' || strings.ContainsAny(s, "=:@")) || strings.Contains(s, "..")
}

// span is a brace expansion such as {1..5}.
var span = regexp.MustCompile(`\{[^{},/]*\.\.[^{},/]*\}`)

// alternatives are the patterns that a word with braces becomes.
func alternatives(text string) []string {
	if !strings.Contains(text, "{") {
		return []string{text}
	}
	all, err := braces(span.ReplaceAllString(text, "*"))
	if err != nil {
		return []string{strings.NewReplacer("{", "*", "}", "*", ",", "*").Replace(text)}
	}
	return all
}

// globWord looks at a pattern for files. Hidden files are matched only by a pattern that begins
// with a dot.
func (p *protection) globWord(w shell.Word, text string, u *shell.Unit, e *scope, changes bool) string {
	whole := w
	first := strings.IndexAny(text, "*?[")
	if w.Text, w.Static = text, first < 0; w.Static {
		w.Prefix, w.Glob = text, false
		return p.word(w, u, e, false, changes)
	}
	w.Prefix = text[:first]
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	tokens := pathTokens(w, dir)
	hiddenNames := false
	for part := range strings.SplitSeq(text, "/") {
		hiddenNames = hiddenNames || strings.HasPrefix(part, ".") && part != "." && part != ".."
	}
	paths := p.paths
	if changes {
		paths = slices.Concat(p.paths, p.kept)
	}
	for i := range paths {
		q := &paths[i]
		if !hiddenNames && strings.HasPrefix(q.src, "**/.") {
			continue
		}
		if strings.HasPrefix(q.src, "**/") && !p.hasSign(text) && !hiddenNames {
			continue
		}
		if !e.spend(60) {
			return "There is too much in it to compare."
		}
		if e.mayTouch(tokens, []pathPattern{*q}) {
			return quote(whole.Text) + " may become " + ownPlace
		}
	}
	// A search of ../h* reads all of what that becomes.
	if hiddenNames || readsDirectories(u) && (!namesOnly(u.Base) || e.readsComputed()) {
		for _, s := range p.state {
			for at := path.Dir(s); at != "/"; at = path.Dir(at) {
				if meet(tokens, literals(at)) {
					return quote(whole.Text) + " may hold assent's state"
				}
			}
		}
	}
	return ""
}
