package rules

import (
	"path"
	"slices"
	"strings"

	"assent/internal/shell"
)

// protection knows what no rule may allow a touch of: assent's own programs, state and
// configuration, and the agent's settings, with which an agent could decide for itself.
type protection struct {
	paths []pathPattern
	// state are directories of assent's, whose parents must not be read or moved as a whole.
	state []string
	// signs are parts of names, in lower case: a word without one touches nothing here.
	signs []string
}

// wellKnown are the protected paths that are the same everywhere.
func wellKnown() []string {
	return []string{
		"**/.claude", "**/.claude/settings*", "**/.claude/settings*/**", "**/.claude/hooks/**", "**/.claude.json*", "**/.mcp.json",
		"**/managed-settings*", "**/claude-code/**",
		"**/.git", "**/.git/hooks/**", "**/.git/config*", "**/.git/modules/**/config", "**/.git/modules/**/hooks/**",
		"**/.git/worktrees/**/config*", "**/.git/info/attributes", "**/.git/info",
		"**/assent/owner.token", "**/assent/hook.conf", "**/assent/hook.sock", "**/.local/state/assent/**", "**/.config/assent/**",
		"**/.assent/**", "**/.assent.y*ml", "**/.hookd/**",
		"/run/user/*/assent/**", "/etc/assent/**",
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
	p := &protection{signs: []string{
		".claude", ".git", "assent", ".mcp.json", ".hookd", "claude-code", "managed-settings", "owner.token", "hook.sock", "hook.conf",
		"xdg_state_home", "xdg_config_home", "xdg_runtime_dir", "claude_config_dir",
	}}
	for _, s := range wellKnown() {
		ps, err := pathPatterns(s)
		if err != nil {
			return nil, err
		}
		p.paths = append(p.paths, ps...)
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
		p.signs = append(p.signs, strings.ToLower(path.Base(dir)))
	}
	return p, nil
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
		if why := p.word(u.Path, u, e, false); why != "" {
			return why
		}
		if at, ok := e.place(u.Dir, u.Path.Text); ok && u.Path.Static && p.touches(at, e) {
			return quote(u.Path.Text) + " leads to " + ownPlace
		}
	case shell.Command:
		return p.command(u, e)
	}
	return ""
}

const ownPlace = "what belongs to assent or to the agent's settings, which no rule allows"

func (p *protection) touches(at place, e *scope) bool {
	if e.touches(at, p.paths) {
		return true
	}
	folded := strings.ToLower(at.spelled) // some file systems do not tell case apart
	return folded != at.spelled && e.touches(place{spelled: folded}, p.paths)
}

func (p *protection) command(u *shell.Unit, e *scope) string {
	if ownProgram(u.Base) {
		return quote(u.Base) + " is assent itself, which no rule allows"
	}
	if p.hasSign(u.Dir) {
		if at := (place{spelled: u.Dir}); e.touches(at, p.paths) {
			return "it runs in " + quote(u.Dir) + ", " + ownPlace
		}
	}
	readsNames := namesOnly(u.Base)
	if !readsNames && p.aboveState(u.Dir) && searchesBelow(u) {
		return "it searches " + quote(u.Dir) + ", below which assent keeps its state"
	}
	if len(u.Argv) == 0 {
		return ""
	}
	controls := false
	switch u.Base {
	case "kill", "pkill", "killall", "systemctl", "launchctl", "service", "rc-service", "skill":
		controls = true
	}
	for _, w := range u.Argv[1:] {
		if controls && strings.Contains(strings.ToLower(w.Text), "assent") {
			return quote(w.Text) + " is assent itself, which no rule allows"
		}
		if why := p.word(w, u, e, readsNames); why != "" {
			return why
		}
	}
	for _, alt := range u.Alt {
		for _, w := range alt {
			if p.hasSign(w.Text) {
				if why := p.word(w, u, e, readsNames); why != "" {
					return why
				}
			}
		}
	}
	return ""
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

// hasSign is a quick look: a word without a sign, and not above the state, is harmless.
func (p *protection) hasSign(s string) bool {
	for i := range p.signs {
		if containsFold(s, p.signs[i]) {
			return true
		}
	}
	return false
}

// containsFold is strings.Contains without regard to the case of ASCII letters; sub is in lower
// case.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		j := 0
		for j < len(sub) {
			c := s[i+j]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c != sub[j] {
				break
			}
			j++
		}
		if j == len(sub) {
			return true
		}
	}
	return false
}

// aboveState says whether a directory holds assent's state somewhere below.
func (p *protection) aboveState(dir string) bool {
	for _, s := range p.state {
		if _, ok := under(dir, s); ok {
			return true
		}
	}
	return false
}

func (p *protection) word(w shell.Word, u *shell.Unit, e *scope, namesOnly bool) string {
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
	if !w.Static && w.Glob && strings.ContainsAny(text, "*?[") {
		return p.globWord(w, text, u, e)
	}
	dir := u.Dir
	if dir == "" {
		dir = unknownDir
	}
	for i, t := range spellings(text) {
		if !sign && (i > 0 || t == "" || t[0] == '-') && strings.IndexByte(t, '/') < 0 {
			continue
		}
		full := t
		if t == "" || len(t) > maxPath {
			continue
		}
		if t[0] != '/' {
			full = dir + "/" + t
		}
		at := place{spelled: path.Clean(full)}
		if sign && p.touches(at, e) {
			return quote(w.Text) + " is " + ownPlace
		}
		if !namesOnly && p.aboveState(at.spelled) {
			return quote(w.Text) + " holds assent's state"
		}
	}
	return ""
}

// globWord looks at a pattern for files. Hidden files are matched only by a pattern that begins
// with a dot.
func (p *protection) globWord(w shell.Word, text string, u *shell.Unit, e *scope) string {
	w.Text = text
	tokens := wordTokens(w)
	if !strings.HasPrefix(text, "/") {
		dir := u.Dir
		if dir == "" {
			dir = unknownDir
		}
		tokens = append(literals(strings.TrimSuffix(dir, "/")+"/"), tokens...)
	}
	hiddenNames := strings.HasPrefix(text, ".") || strings.Contains(text, "/.")
	for i := range p.paths {
		q := &p.paths[i]
		if !hiddenNames && strings.HasPrefix(q.src, "**/.") {
			continue
		}
		if strings.HasPrefix(q.src, "**/") && !p.hasSign(text) && !hiddenNames {
			continue
		}
		if e.mayTouch(tokens, []pathPattern{*q}) {
			return quote(w.Text) + " may become " + ownPlace
		}
	}
	if hiddenNames {
		for _, s := range p.state {
			for at := path.Dir(s); at != "/"; at = path.Dir(at) {
				if meet(tokens, literals(at)) {
					return quote(w.Text) + " may hold assent's state"
				}
			}
		}
	}
	return ""
}
