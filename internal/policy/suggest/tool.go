package suggest

import (
	"encoding/json"
	neturl "net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/text/show"
)

// tool proposes rules for tools other than Bash.
func (ec *execContext) tool() ([]candidate, string) {
	var in map[string]json.RawMessage
	if json.Unmarshal(ec.call.Input, &in) != nil {
		return nil, "its input cannot be read"
	}
	text := func(key string) string {
		var s string
		if json.Unmarshal(in[key], &s) != nil {
			return ""
		}
		return s
	}
	name := ec.call.Tool
	switch t := tools.Of(name); t.Kind {
	case tool.Edit, tool.Write:
		return ec.file(t, text(t.Path[0]), []string{"edit", "write"}, "Edit and write")
	case tool.Read:
		if t.AboutFiles() {
			return ec.file(t, text(t.Path[0]), []string{"read"}, "Read")
		}
	case tool.Fetch:
		return ec.fetch(t, text(t.URL))
	case tool.WebSearch:
		return []candidate{{sentence: "Search the web, with any words", drafts: []draft{{
			match: match{Tool: name}, test: test{Tool: name, Input: map[string]any{t.Title: "x"}},
		}}}}, ""
	}
	if rest, ok := strings.CutPrefix(name, tools.MCP); ok {
		return ec.mcp(rest, in)
	}
	return nil, "for the tool " + name + " no rule is narrow enough"
}

// file proposes one file, and the files beside it.
func (ec *execContext) file(t tool.Tool, at string, op []string, verb string) ([]candidate, string) {
	if ec.elsewhere {
		return nil, "the agent's files cannot be seen from here"
	}
	if at == "" || strings.HasPrefix(at, "~") {
		return nil, "its path is not plain"
	}
	if !filepath.IsAbs(at) {
		at = path.Join(ec.cwd, at)
	}
	at = path.Clean(at)
	patterns, ok := ec.patterns(at)
	if !ok {
		return nil, "its path cannot be named in a rule"
	}
	inside := ec.inProject(at) && ec.narrowProject()
	if !inside && t.MayWrite() {
		return nil, "it changes a file outside the project"
	}
	call := test{Tool: t.Name, Input: map[string]any{t.Path[0]: at}}
	all := []candidate{{sentence: verb + " the file " + at + ec.really(at), drafts: []draft{{match: match{File: &file{Op: op, Path: patterns}}, test: call}}}}
	dir := path.Dir(at)
	beside, ok := ec.patterns(dir)
	if !inside || !ok || strings.HasPrefix(path.Base(at), ".") {
		return all, ""
	}
	f := &file{Op: op}
	for _, d := range beside {
		f.Path, f.Not = append(f.Path, d+"/*"), append(f.Not, d+"/.*")
	}
	return append(all, candidate{
		sentence: verb + " the files directly in " + dir + ec.really(dir) + ", but not hidden ones",
		drafts:   []draft{{match: match{File: f}, test: call}},
	}), ""
}

// fetch proposes one address without its query, and its host.
func (ec *execContext) fetch(t tool.Tool, text string) ([]candidate, string) {
	u, err := neturl.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Port() != "" || strings.ContainsAny(u.Host, "*") {
		return nil, "its address is not plain"
	}
	host := strings.ToLower(u.Hostname())
	call := test{Tool: t.Name, Input: map[string]any{t.URL: text}}
	var all []candidate
	if p := u.EscapedPath(); p != "" && !strings.ContainsAny(p, "*?[]{}\\") {
		all = append(all, candidate{
			sentence: "Read " + u.Scheme + "://" + host + p + ", with any query",
			drafts:   []draft{{match: match{URL: &url{Scheme: u.Scheme, Host: host, Path: []string{p}}}, test: call}},
		})
	}
	return append(all, candidate{
		sentence: "Read anything on " + u.Scheme + "://" + host,
		drafts:   []draft{{match: match{URL: &url{Scheme: u.Scheme, Host: host}}, test: call}},
	}), ""
}

const (
	maxMembers = 6   // of an input that a rule repeats
	maxMember  = 200 // bytes of each
)

// mcp proposes one tool of one server, with the input as it is where that is small, and with any.
func (ec *execContext) mcp(name string, in map[string]json.RawMessage) ([]candidate, string) {
	server, tool, ok := strings.Cut(name, "__")
	if !ok || server == "" || tool == "" || strings.Contains(tool, "__") || strings.HasPrefix(tool, "_") || strings.ContainsAny(name, "*") {
		return nil, "the names of the server and its tool cannot be told apart"
	}
	same := map[string]string{}
	input := map[string]any{}
	small := len(in) > 0 && len(in) <= maxMembers
	var keys []string
	for key, raw := range in {
		v, ok := scalar(raw)
		small = small && ok && len(v) <= maxMember && len(key) <= maxMember && show.Line(v) == v && show.Line(key) == key
		same[key] = literal(v)
		var whole any
		if json.Unmarshal(raw, &whole) == nil {
			input[key] = whole
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	call := test{Tool: tools.MCP + name}
	var all []candidate
	if small {
		with := make([]string, len(keys))
		for i, key := range keys {
			v, _ := scalar(in[key])
			with[i] = key + "=" + show.Short(v, 60)
		}
		exact := call
		exact.Input = input
		all = append(all, candidate{
			sentence: "Call " + tool + " of the MCP server " + server + " with " + strings.Join(with, ", ") + " (and any other input)",
			drafts:   []draft{{match: match{MCP: &mcp{Server: server, Tool: tool, Input: same}}, test: exact}},
		})
	}
	call.Input = map[string]any{"x": "y"}
	return append(all, candidate{
		sentence: "Call " + tool + " of the MCP server " + server + " with any input",
		drafts:   []draft{{match: match{MCP: &mcp{Server: server, Tool: tool}}, test: call}},
	}), ""
}

// scalar is a text as it is, and a number or boolean as it is written.
func scalar(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		return s, true
	}
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	return string(raw), true
}
