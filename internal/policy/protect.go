package policy

import (
	"path"
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
	// hidden are the names with a dot in front that stand in paths.
	hidden map[string]bool
	// signs are parts of names, in lower case: a word without one touches nothing here.
	signs   [256][]string // by first character
	longest int           // sign
	// grams are some characters in a row of each sign, and those of the list's paths.
	grams      grams
	shortSigns bool // some sign is too short for that
}

// wellKnown are the protected paths that are the same everywhere.
func wellKnown() []string {
	return []string{
		"**/.claude", "**/.claude/settings*", "**/.claude/settings*/**", "**/.claude/hooks/**", "**/.claude/.credentials*", "**/.claude.json*", "**/.mcp.json",
		"**/managed-settings*", "**/claude-code/**",
		"**/.git", "**/.git/hooks/**", "**/.git/config*", "**/.git/modules/**/config", "**/.git/modules/**/hooks/**",
		"**/.git/worktrees/**/config*", "**/.git/info/attributes", "**/.git/info",
		"**/assent/owner.token", "**/assent/hook.conf", "**/assent/hook.sock", "**/.local/state/assent/**", "**/.config/assent/**",
		// What a host obeys and keeps, wherever its directories are, and the inboxes of sessions.
		"**/assent/agents.yaml", "**/assent/agent-key.json", "**/assent/host.token", "**/assent/agents", "**/assent/agents/**",
		"**/agents/accepted.json", "**/in.fifo", "**/agents/????????-????-????-????-????????????/journal", "**/cc-socks", "**/cc-socks/**",
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
		"**/.github/hooks/**", // Copilot's
	}
}

// ownProgram knows the programs that decide, submit or read for assent.
func ownProgram(base string) bool {
	switch strings.ToLower(base) {
	case "assent", "assent-hook", "assent-hook-strict", "assent-contain", "hookd-emit", "hookd-query", "assent.exe", "assent-hook.exe":
		return true
	}
	return false
}

func newProtection(own []string, home string) (*protection, error) {
	p := &protection{hidden: map[string]bool{}}
	p.grams = secrets().pathsBy.grams
	for _, s := range []string{
		".claude", ".git", "config/git", "/gitconfig", "assent", ".mcp.json", ".hookd", "claude-code", "managed-settings", "owner.token", "hook.sock", "hook.conf",
		"accepted.json", "in.fifo", "/journal", "cc-socks",
		"/proc/", "xdg_state_home", "xdg_config_home", "xdg_runtime_dir", "claude_config_dir",
	} {
		p.addSign(s)
	}
	for _, s := range otherAgentSigns {
		p.addSign(s)
	}
	for _, s := range append(wellKnown(), otherAgents()...) {
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
	for _, q := range p.paths {
		for part := range strings.SplitSeq(q.src, "/") {
			if strings.HasPrefix(part, ".") {
				p.hidden[part] = true
			}
		}
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
	p.longest = max(p.longest, len(s))
	if p.shortSigns = p.shortSigns || len(s) < gramSize; !p.shortSigns {
		p.grams.add(gramOf(s))
	}
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

const notAllowed = "what belongs to assent or to the agent's settings, which no rule allows"

// touchedBy says why the unit touches something protected; empty when it does not.
func (p *protection) touchedBy(u *shell.Unit, e *scope) (why string) {
	inEach(u, func() bool {
		why = p.touchedHere(u, e)
		return why == ""
	})
	return why
}

func (p *protection) touchedHere(u *shell.Unit, e *scope) string {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		if u.Kind == shell.Write && e.holdsProject(u.Path, u) {
			return quote(u.Path.Text) + " holds the project with its .git and .claude"
		}
		changes := u.Kind == shell.Write
		if why := p.word(u.Path, u, e, touch{changes: changes, directories: e.readsDirectories(u)}); why != "" {
			return why
		}
		if at, ok := e.resolvePath(u.Dir, u.Path.Text); ok && u.Path.Static && p.touches(at, e, changes) {
			return quote(u.Path.Text) + " leads to " + notAllowed
		}
	case shell.Command:
		return p.command(u, e)
	}
	return ""
}

func (p *protection) touches(at resolvedPath, e *scope, changes bool) bool {
	folded := sameFile(at.spelled)
	for _, list := range [][]pathPattern{p.paths, p.kept} {
		if e.touches(at, list) || folded != at.spelled && e.touches(resolvedPath{spelled: folded}, list) {
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
			return quote(at) + " may be a repository of its own, whose configuration can name programs to run"
		}
		if u.Dir != e.cwd && u.Dir != e.project && e.mayPlant(u) {
			return "what runs beside it could make " + quote(u.Dir) + " a repository, whose configuration can name programs to run"
		}
	}
	if e.facts(p, u.Dir).sign {
		if at := (resolvedPath{spelled: u.Dir}); p.touches(at, e, true) {
			return "it runs in " + quote(u.Dir) + ", " + notAllowed
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
	how := touch{namesOnly: readsNames, changes: mayChange(u.Base), directories: e.readsDirectories(u)}
	var role func(int, shell.Word) wordRole
	if e.programOf(u.Base).kind&searches != 0 && slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool { return p.hasSign(w.Text) }) {
		role = grepRoles(u.Base, u.Argv[1:])
	}
	script := takesScript(u.Base)
	for i, w := range u.Argv[1:] {
		if saysNothing(i, u.Argv[1:], role) {
			continue
		}
		if controls && strings.Contains(strings.ToLower(w.Text), "assent") {
			return quote(w.Text) + " is assent itself, which no rule allows"
		}
		if e.isOrdinary(i+1, u) {
			if !how.namesOnly && w.Text[0] != '-' {
				e.spend(10) // as for any other
			}
		} else if why := p.word(w, u, e, how); why != "" {
			return why
		}
		if script && strings.ContainsAny(w.Text, " \t\n;'\"()") && p.hasSign(w.Text) {
			return quote(w.Text) + " may name " + notAllowed
		}
		if destroys && e.holdsProject(w, u) {
			return quote(w.Text) + " holds the project with its .git and .claude"
		}
	}
	for _, alt := range u.Alt {
		for _, w := range alt {
			if p.hasSign(w.Text) {
				if why := p.word(w, u, e, how); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// takesScript knows programs that are given programs, with names of files in them.
func takesScript(base string) bool {
	switch withoutVersion(base) {
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk", "perl", "ruby", "python", "node", "deno", "bun", "php", "lua", "ed", "ex", "vi", "vim", "nvim", "osascript", "sqlite":
		return true
	}
	return false
}
