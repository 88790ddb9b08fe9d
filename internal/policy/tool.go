package policy

import (
	"slices"
	"strings"

	"assent/internal/agent/tool"
)

// target is what a tool other than Bash works on.
type target struct {
	op      operation
	paths   []string // as the tool got them; relative to the working directory
	fileful bool     // a rule about files may cover it
	why     string   // why no rule about files may cover it
	search  string   // a pattern below the path: what Grep reads
	names   string   // a pattern below the path: what Glob lists
	url     *address
}

// readTarget reads the input of the tools whose meaning is known.
func readTarget(e *scope) target {
	t := target{}
	pathOf := func(op operation) target {
		t.op, t.fileful = op, true
		for _, key := range e.tool.Path { // where there are two, nobody knows which one counts
			if e.member(key) == nil {
				continue
			}
			s, ok := e.text(key)
			if !ok {
				t.fileful, t.why = false, "its path is not a text"
			}
			t.paths = append(t.paths, s)
		}
		if len(t.paths) == 0 {
			t.fileful, t.why = false, "its path is missing"
		}
		return t
	}
	switch e.tool.Kind {
	case tool.Read, tool.ListDir:
		return pathOf(opRead)
	case tool.Edit:
		return pathOf(opEdit)
	case tool.Write:
		return pathOf(opWrite)
	case tool.Find, tool.Search:
		t.op, t.fileful = opRead, true
		at := e.cwd
		if raw := e.member(e.tool.Path[0]); raw != nil && string(raw) != "null" {
			var ok bool
			if at, ok = e.text(e.tool.Path[0]); !ok {
				t.fileful, t.why = false, "its path is not a text"
			}
		}
		t.paths = []string{at}
		key := e.tool.Pattern
		if raw := e.member(key); raw != nil && string(raw) != "null" {
			p, ok := e.text(key)
			if !ok || leaves(p) {
				t.fileful, t.why = false, "its pattern may leave the directory"
			}
			if e.tool.Kind == tool.Search {
				t.search = p
			} else {
				t.names = p
				t.paths = append(t.paths, listed(at, p)...)
			}
		}
		return t
	case tool.Fetch:
		if s, ok := e.text(e.tool.URL); ok {
			if a, ok := readAddress(s); ok {
				t.url = &a
			}
		}
	}
	return t
}

// tool evaluates a call of a tool other than Bash.
func (s *Set) tool(e *scope, o *outcome, explain bool) []UnitVerdict {
	t := readTarget(e)
	switch {
	case e.tool.NeedsAnswer():
		o.refuse("question", "It wants an answer from a person.")
	case e.tool.Kind == tool.Fetch && t.url == nil:
		o.refuse("address", "Its address cannot be read.")
	}
	strange := e.strangeMember()
	s.handed(e, o)
	paths, ok := e.toolPaths(&t)
	if t.paths != nil {
		for _, at := range paths {
			if s.protect.touches(at, e, t.op != opRead) {
				o.refuse("self", quote(at.spelled)+" is "+notAllowed)
			} else if e.searches() && s.protect.above(at, e) {
				o.refuse("self", quote(at.spelled)+" holds assent's state")
			}
		}
		if !ok {
			t.fileful, t.why = false, "its path is not absolute or not plain"
		} else if strange != "" {
			t.fileful, t.why = false, "its member "+quote(strange)+" may name another file"
		}
		e.secrets = e.secretsOfTool(&t, paths)
	}
	var misses []Miss
	miss := func(r *rule, f fault) {
		if explain && len(misses) < maxMisses {
			misses = append(misses, Miss{r.id, r.file, r.action, f.selector, f.why})
		}
	}
	s.toolGuards(e, o)
	for _, r := range s.guardFiles {
		e.charge(r)
		found := no
		for _, at := range paths {
			if !e.spend(10 + 4*len(r.match.file.paths)) {
				found = found.or(perhaps)
			} else if r.match.file.guards(t.op, at, e) {
				found = yes
			} else if e.tool.Kind == tool.Search && r.match.file.means(opRead) && e.searchHolds(at, r.match.file.paths) {
				found = found.or(perhaps)
			} else if t.search != "" && r.match.file.ops&opRead != 0 && t.op == opRead {
				named := slices.DeleteFunc(slices.Clone(r.match.file.paths), func(p pathPattern) bool { return p.inner })
				for _, one := range searchPatterns(t.search) {
					text := append(literals(strings.TrimSuffix(at.spelled, "/")+"/"), token{kind: dirs}, token{kind: within})
					if !e.spend(10) || e.mayTouch(append(text, searchTokens(one)...), named) {
						found = found.or(perhaps)
					}
				}
			}
		}
		s.noteGuard(r, found, e, o)
	}
	if t.url != nil {
		for _, r := range s.guardURLs {
			e.charge(r)
			s.noteGuard(r, r.match.url.guards(*t.url), e, o)
		}
	}

	e.charge(nil)
	covers := func(r *rule) (bool, fault) {
		m := r.match
		switch {
		case m.file != nil:
			if !t.fileful {
				return false, fault{"file", "it is about files, and " + orText(t.why, "this tool's files are not known")}
			}
			for _, at := range paths {
				if !m.file.allows(t.op, at, e) {
					if t.op != opRead && m.file.ops&t.op != 0 && obeyed(at) != "" && !m.file.names(obeyed(at)) && e.inside(at, m.file.paths) {
						o.why = obeyedFault(at).why
						return false, obeyedFault(at)
					}
					return false, fault{"file", "the path or what is done to it is another one"}
				}
				if r.quiet() && e.networkFile(at) {
					return false, networkFault(at.spelled)
				}
			}
			if len(paths) == 0 {
				return false, fault{"file", "it names no path"}
			}
		case m.url != nil:
			if t.url == nil || !m.url.allows(*t.url) {
				return false, fault{"url", "the address is another one, or not plain"}
			}
			if strange != "" {
				return false, fault{"url", "its member " + quote(strange) + " may name another address"}
			}
		case m.mcp != nil:
			if !m.mcp.allows(e) {
				return false, fault{"mcp", "the server, the tool or its input is another one"}
			}
		case m.tools != nil:
			if !matchAny(m.tools, e.call.Tool) || !inputMatches(m.agents, e) {
				return false, fault{"tool", "the tool is another one"}
			}
			if e.tool.Runs {
				return false, fault{"tool", "it runs any command, and the rule names none"}
			}
			// What no rule can be held against may be what another one denies.
			for _, at := range paths {
				if t.op != opRead && obeyed(at) != "" {
					o.why = obeyedFault(at).why
					return false, obeyedFault(at)
				}
			}
			if t.op != 0 && !t.fileful {
				return false, fault{"tool", orText(t.why, "its files are not known")}
			}
			if strange != "" {
				return false, fault{"tool", "its member " + quote(strange) + " may name another file or address"}
			}
		default:
			return false, fault{"tool", "it is about commands"}
		}
		if f := e.unnamed(m); f.selector != "" {
			return false, f
		}
		found, f := m.circumstances(e, e.cwd, e.cwd != "", false)
		return found == yes, f
	}
	for _, list := range [][]*rule{s.allowFiles, s.allowTools} {
		for _, r := range list {
			ok, f := covers(r)
			switch {
			case !ok:
				if t.near(r.match, e) {
					miss(r, f)
				}
			case r.shadow:
				o.shadowAllow = first(o.shadowAllow, r)
			default:
				o.allow = first(o.allow, r)
			}
		}
	}
	o.rest(o.allow)
	if o.allow == nil {
		o.uncovered = "the tool " + quote(e.call.Tool)
		if len(t.paths) > 0 {
			o.uncovered += " on " + quote(t.paths[0])
		}
		if len(e.secrets) > 0 {
			o.why = e.secrets[0].why()
		}
	}
	if !explain {
		return nil
	}
	u := UnitVerdict{Kind: "tool", Text: e.call.Tool, Misses: misses, Refused: o.refused}
	if len(t.paths) > 0 {
		u.Text += " " + t.paths[0]
	} else if t.url != nil {
		address, _ := e.text(e.tool.URL)
		u.Text += " " + address
	}
	u.own(o, o.allow)
	return []UnitVerdict{u}
}

// searches says that the tool looks below a directory.
func (e *scope) searches() bool { return e.tool.Kind == tool.Find || e.tool.Kind == tool.Search }

// near says whether a rule that does not cover the call is about such calls.
func (t *target) near(m *match, e *scope) bool {
	switch {
	case m.file != nil:
		return t.paths != nil && m.file.ops&t.op != 0
	case m.url != nil:
		return t.url != nil
	case m.mcp != nil:
		return slices.ContainsFunc(mcpNames(e.call.Tool), func(n [2]string) bool { return matchAny(m.mcp.server, n[0]) })
	}
	return matchAny(m.tools, e.call.Tool)
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// searchPatterns are the patterns that one text may stand for: some tools take it for a list of them.
func searchPatterns(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(all) != 1 || all[0] != text {
		all = append(all, text)
	}
	return all
}

// searchTokens reads the pattern of a search as wide as it may be meant.
func searchTokens(p string) []token {
	if i := strings.IndexAny(p, "{[!\\"); i >= 0 {
		return append(literals(p[:i]), token{kind: anything})
	}
	if g, err := pathGlob(p); err == nil {
		return globTokens(g)
	}
	return []token{{kind: anything}}
}

// toolPaths reads the paths of a tool. ~ is expanded by some tools and not by others: both
// readings count.
func (e *scope) toolPaths(t *target) ([]resolvedPath, bool) {
	var all []resolvedPath
	plain := true
	for _, s := range t.paths {
		for _, c := range s {
			if c < 0x20 || c == 0x7f || hidden(c) {
				plain = false
			}
		}
		if !plainPath(s) {
			plain = false
		}
		if s == "~" || strings.HasPrefix(s, "~/") {
			if at, ok := e.resolvePath(e.home, "./"+strings.TrimPrefix(s[1:], "/")); ok && e.home != "" {
				all = append(all, at)
			} else {
				plain = false
			}
		} else if strings.HasPrefix(s, "~") {
			plain = false
		}
		at, ok := e.resolvePath(e.cwd, s)
		if !ok {
			plain = false
			continue
		}
		if !strings.HasPrefix(s, "~") {
			all = append(all, at)
		}
	}
	return all, plain
}

// toolGuards asks the rules that deny or ask about tools, MCP servers, or anything.
func (s *Set) toolGuards(e *scope, o *outcome) {
	for _, r := range s.guardTools {
		e.charge(r)
		m := r.match
		found := yes
		switch {
		case m.tools != nil:
			if found = no; matchAny(m.tools, e.call.Tool) {
				found = inputGuarded(m.agents, e)
				if m.orInput != nil {
					found = found.or(inputGuarded([]inputMatch{*m.orInput}, e))
				}
			}
			if m.server != nil {
				found = found.or(e.aboutServer(m.server))
			}
			if found == no && strings.HasPrefix(e.call.Tool, "mcp__") && inAnyCase(m.tools, e.call.Tool) {
				found = inputGuarded(m.agents, e).and(perhaps)
			}
		case m.mcp != nil:
			if found = no; slices.ContainsFunc(mcpNames(e.call.Tool), m.mcp.names) {
				found = inputGuarded(m.mcp.input, e)
			} else if m.mcp.tool == nil && m.mcp.input == nil {
				found = e.aboutServer(m.mcp.server)
			}
			if found == no && slices.ContainsFunc(mcpNames(e.call.Tool), m.mcp.namesInAnyCase) {
				found = inputGuarded(m.mcp.input, e).and(perhaps)
			}
		}
		s.noteGuard(r, found, e, o)
	}
}

func (s *Set) noteGuard(r *rule, found truth, e *scope, o *outcome) {
	if found != no {
		c, _ := r.match.circumstances(e, e.cwd, e.cwd != "", true)
		found = found.and(c)
	}
	o.guard(r, found)
}
