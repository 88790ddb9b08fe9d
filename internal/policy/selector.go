package policy

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"assent/internal/text/strictjson"
)

// match is what a rule is about: one of command, file, mcp, url and tools (or none, for a guard
// that is about every tool), and the circumstances.
type match struct {
	command *commandMatch
	file    *fileMatch
	mcp     *mcpMatch
	url     *urlMatch
	tools   []glob
	agents  []inputMatch // further conditions on the tool's input: Task(Explore), Skill(pdf)
	orInput *inputMatch  // of a guard: what holds instead of agents, where the text can be read in two ways
	server  []glob       // of a guard: an MCP server all tools of which it is about

	cwd     []pathPattern
	anyCwd  bool // cwd: ["**"]: also where the directory is not known
	session *sessionMatch
	time    *timeMatch
}

// inputMatch is a condition on one member of a tool's input.
type inputMatch struct {
	key  string
	want []glob
}

// operations of files.
type operation uint8

const (
	opRead operation = 1 << iota
	opEdit
	opWrite
)

var operationNames = map[string]operation{"read": opRead, "edit": opEdit, "write": opWrite}

type fileMatch struct {
	ops   operation
	also  operation // of a guard for reading: who may not read a file may not change it
	sure  bool      // see rule.sure
	paths []pathPattern
	not   []pathPattern
}

// allows says whether the rule covers op on the path.
func (m *fileMatch) allows(op operation, at resolvedPath, e *scope) bool {
	if m.ops&op == 0 || !e.inside(at, m.paths) || e.touches(at, m.not) {
		return false
	}
	if op == opRead {
		return true
	}
	name := obeyed(at)
	return name == "" || m.names(name)
}

// guards says whether a deny or an ask is meant; its exceptions count only where they are
// certain.
func (m *fileMatch) guards(op operation, at resolvedPath, e *scope) bool {
	if op&(opEdit|opWrite) != 0 {
		op = opEdit | opWrite // to a guard a change is a change
	}
	return (m.ops|m.also)&op != 0 && e.touches(at, m.paths) && !e.inside(at, m.not)
}

type mcpMatch struct {
	server []glob
	tool   []glob // nil: any
	input  []inputMatch
}

// mcpNames are the ways to read mcp__server__tool: a server's name may hold __ itself.
func mcpNames(tool string) [][2]string {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	if !ok {
		return nil
	}
	var all [][2]string
	for i := 0; i+2 < len(rest); i++ {
		if i > 0 && rest[i:i+2] == "__" {
			all = append(all, [2]string{rest[:i], rest[i+2:]})
		}
	}
	return all
}

func (m *mcpMatch) names(n [2]string) bool {
	return matchAny(m.server, n[0]) && (m.tool == nil || matchAny(m.tool, n[1]))
}

// namesInAnyCase is names for a rule that denies or asks where a server may take Delete for delete.
func (m *mcpMatch) namesInAnyCase(n [2]string) bool {
	return inAnyCase(m.server, n[0]) && (m.tool == nil || inAnyCase(m.tool, n[1]))
}

func inAnyCase(gs []glob, s string) bool {
	return slices.ContainsFunc(gs, func(g glob) bool {
		switch {
		case g.re != nil || g.is != nil:
			return g.match(s)
		case g.exact:
			return strings.EqualFold(g.src, s)
		}
		folded := textGlob(strings.ToLower(g.src))
		return folded.match(strings.ToLower(s))
	})
}

func (m *mcpMatch) allows(e *scope) bool {
	ways := mcpNames(e.call.Tool)
	for _, n := range ways {
		if !m.names(n) || !plainToolName(n[1]) && !m.namesExactly(n[1]) {
			return false
		}
	}
	return len(ways) > 0 && inputMatches(m.input, e)
}

// plainToolName says whether a name holds only what a * in a rule that allows may stand for: no
// blanks, signs, or letters that look like others.
func plainToolName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return true
}

// namesExactly says whether the rule has the tool's name without a *.
func (m *mcpMatch) namesExactly(tool string) bool {
	return slices.ContainsFunc(m.tool, func(g glob) bool { return g.exact && g.src == tool })
}

func inputMatches(ms []inputMatch, e *scope) bool {
	for _, m := range ms {
		raw := e.member(m.key)
		if !e.spend(len(raw)/64) || !e.spendOn(m.want, len(raw)) {
			return false // and nothing is allowed
		}
		v, ok := scalar(raw)
		if !ok || !matchAny(m.want, v) {
			return false
		}
	}
	return true
}

// inputGuarded is inputMatches for a rule that denies or asks: a value that is no text, number or
// boolean may hold what is meant.
func inputGuarded(ms []inputMatch, e *scope) truth {
	found := yes
	for _, m := range ms {
		raw := e.member(m.key)
		if len(raw) == 0 {
			return no
		}
		v, ok := scalar(raw)
		switch {
		case !ok && raw[0] == 'n':
			return no
		case !ok, !e.spend(len(raw) / 64), !e.spendOn(m.want, len(raw)):
			found = found.and(perhaps)
		case !matchAny(m.want, v) && !matchAny(m.want, strings.TrimSpace(strings.ToLower(v))):
			return no
		}
	}
	return found
}

// scalar returns a JSON text as it is, and a number or boolean as it is written.
func scalar(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	return strictjson.Text(raw), true
}

type urlMatch struct {
	schemes []string // nil: https and http
	hosts   []glob
	paths   []glob // nil: any
}

// address is a URL that every reader takes for the same one.
type address struct {
	scheme, host, path string
	port               bool     // one that the scheme does not have by itself
	odd                bool     // readers may differ: for guards only
	also               []string // other names of the host: for guards only
}

func readAddress(text string) (address, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return address{}, false
	}
	a := address{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(strings.TrimRight(u.Hostname(), ".")), path: u.EscapedPath()}
	if a.path == "" {
		a.path = "/"
	}
	p := u.Port()
	a.port = p != "" && !(a.scheme == "https" && p == "443" || a.scheme == "http" && p == "80")
	lower := strings.ToLower(a.path)
	a.also, a.odd = otherHosts(a.host)
	a.odd = a.odd || u.User != nil || strings.HasSuffix(u.Hostname(), ".") || strings.ContainsAny(text, "\\ \t\r\n") ||
		strings.Contains(a.path, "//") || strings.Contains(lower, "%2e") || strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") ||
		slices.ContainsFunc(strings.Split(a.path, "/"), func(s string) bool { return s == "." || s == ".." })
	for i := range len(text) {
		a.odd = a.odd || text[i] < 0x20 || text[i] >= 0x7f
	}
	for i := range len(a.host) {
		c := a.host[i]
		a.odd = a.odd || !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == ':')
	}
	return a, true
}

func (m *urlMatch) allows(a address) bool {
	if a.odd || a.port || a.scheme != "https" && a.scheme != "http" {
		return false
	}
	return m.holds(a)
}

func (m *urlMatch) holds(a address) bool {
	return (m.schemes == nil || slices.Contains(m.schemes, a.scheme)) && matchAny(m.hosts, a.host) && (m.paths == nil || matchAny(m.paths, a.path))
}

// guards is wide: a host stands for what is below it, and a path counts only when it is plain.
func (m *urlMatch) guards(a address) truth {
	if m.schemes != nil && !slices.Contains(m.schemes, a.scheme) {
		return no
	}
	named := func(host string) bool {
		return matchAny(m.hosts, host) || slices.ContainsFunc(m.hosts, func(g glob) bool { return g.exact && strings.HasSuffix(host, "."+g.src) })
	}
	if !named(a.host) && !slices.ContainsFunc(a.also, named) {
		if a.odd && !plainHost(a.host) {
			return perhaps
		}
		// Letters of other alphabets are written as xn--… in an address, which no rule has to know.
		if strings.Contains(a.host, "xn--") && slices.ContainsFunc(m.hosts, func(g glob) bool { return !plainHost(strings.ReplaceAll(g.src, "*", "x")) }) {
			return perhaps
		}
		return no
	}
	if m.paths == nil || matchAny(m.paths, a.path) {
		return yes
	}
	if a.odd {
		return perhaps
	}
	return no
}

func plainHost(h string) bool {
	for i := range len(h) {
		if h[i] >= 0x7f || h[i] == '%' {
			return false
		}
	}
	return h != ""
}

type sessionMatch struct {
	repo, branch, agent, mode, label []glob
}

func (m *sessionMatch) holds(c *Call) bool {
	for _, s := range []struct {
		want []glob
		is   string
	}{{m.repo, c.Repo}, {m.branch, c.Branch}, {m.agent, c.Agent}, {m.mode, c.Mode}, {m.label, c.AgentLabel}} {
		if s.want != nil && (s.is == "" || !matchAny(s.want, s.is)) {
			return false
		}
	}
	return true
}

type timeMatch struct {
	days     [7]bool // by time.Weekday; all false: every day
	anyDay   bool
	from, to int // minutes of the day; equal: all day
	zone     *time.Location
	negate   bool
}

// holds says whether t lies in the time. A span over midnight belongs to the day it begins on.
func (m *timeMatch) holds(t time.Time) truth {
	if t.IsZero() {
		return perhaps
	}
	t = t.In(m.zone)
	minute, day := t.Hour()*60+t.Minute(), t.Weekday()
	within := true
	switch {
	case m.from < m.to:
		within = minute >= m.from && minute < m.to
	case m.from > m.to:
		within = minute >= m.from || minute < m.to
		if minute < m.to {
			day = (day + 6) % 7
		}
	}
	if within && (m.anyDay || m.days[day]) != m.negate || !within && m.negate {
		return yes
	}
	return no
}

// circumstances says whether session, time and directory are as the rule wants them. dir is
// where the command runs; known is false where that is not certain.
func (m *match) circumstances(e *scope, dir string, known bool, guard bool) (truth, fault) {
	if m.session != nil && !m.session.holds(e.call) {
		return no, fault{"session", "the session is another one"}
	}
	found := yes
	if m.time != nil {
		if found = m.time.holds(e.call.Time); found == no {
			return no, fault{"time", "the time is another one"}
		}
	}
	if m.cwd != nil && !m.anyCwd {
		var at resolvedPath
		ok := known
		if known {
			at, ok = e.resolvePath(dir, dir)
		}
		switch {
		case !ok:
			found = found.and(perhaps)
		case guard && !e.touches(at, m.cwd), !guard && !e.inside(at, m.cwd):
			return no, fault{"cwd", "it runs in " + quote(dir)}
		}
	}
	if found != yes {
		return found, fault{"cwd", "the directory or the time is not known for certain"}
	}
	return yes, fault{}
}
