package grants

import (
	"encoding/json"
	"errors"
	"io/fs"
	neturl "net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/policy"
	"assent/internal/text/show"
)

// where is the place that a request came from, as far as a rule can be bound to it.
type where struct {
	call         *policy.Call
	cwd, project string // absolute and clean
	elsewhere    bool   // the files cannot be seen from here
	repo         string // the remote, for requests from elsewhere
}

func newPlace(c *policy.Call) (*where, bool) {
	w := &where{call: c, elsewhere: c.Elsewhere, repo: c.Repo}
	if !filepath.IsAbs(c.Cwd) {
		return w, false
	}
	w.cwd = path.Clean(c.Cwd)
	w.project = w.cwd
	if filepath.IsAbs(c.Project) {
		w.project = path.Clean(c.Project)
	}
	if w.elsewhere {
		return w, w.repo != "" && !strings.ContainsAny(w.repo, "*") && !strings.HasPrefix(w.repo, "re:") && !strings.HasPrefix(w.repo, "is:")
	}
	_, ok := w.patterns(w.cwd)
	return w, ok
}

// patterns are the path patterns for exactly one place: as it is spelled, and where links lead.
// False where a pattern would mean something else than the place.
func (w *where) patterns(at string) ([]string, bool) {
	if w.elsewhere || !filepath.IsAbs(at) || at == "/" || strings.ContainsAny(at, "*?[]{}$\\") || show.Line(at) != at {
		return nil, false
	}
	all := []string{at}
	if real := leads(at); real != "" && real != at {
		if strings.ContainsAny(real, "*?[]{}$\\") || real == "/" || show.Line(real) != real {
			return nil, false
		}
		all = append(all, real)
	}
	return all, true
}

// leads is where a clean path leads when links are followed, also of what is not there yet; empty
// where that is not certain.
func leads(at string) string {
	real, err := filepath.EvalSymlinks(at)
	if err == nil {
		return real
	}
	if _, err := os.Lstat(at); at == "/" || !errors.Is(err, fs.ErrNotExist) {
		return "" // also a link to what is not there
	}
	if real = leads(path.Dir(at)); real == "" {
		return ""
	}
	return path.Join(real, path.Base(at))
}

// inProject says whether a place is in the project, as it is spelled and where links lead.
func (w *where) inProject(at string) bool {
	real := leads(at)
	return below(w.project, at) && real != "" && (below(w.project, real) || below(leads(w.project), real))
}

// really names where links lead from a place, for a person; empty where that is the place itself.
func (w *where) really(at string) string {
	if w.elsewhere {
		return ""
	}
	if real := leads(at); real != at && real != "" {
		return " (which leads to " + real + ")"
	}
	return ""
}

// below says whether a clean path lies in a directory, which is no home and not everything.
func below(dir, at string) bool {
	return dir != "/" && dir != "" && (at == dir || strings.HasPrefix(at, dir+"/"))
}

// narrowProject says whether the project is a directory of which all may be meant.
func (w *where) narrowProject() bool {
	return w.project != "/" && !(w.call.Home != "" && below(w.project, path.Clean(w.call.Home)))
}

// tool proposes rules for tools other than Bash.
func (w *where) tool() ([]candidate, string) {
	var in map[string]json.RawMessage
	if json.Unmarshal(w.call.Input, &in) != nil {
		return nil, "its input cannot be read"
	}
	text := func(key string) string {
		var s string
		if json.Unmarshal(in[key], &s) != nil {
			return ""
		}
		return s
	}
	name := w.call.Tool
	switch name {
	case "Edit", "MultiEdit", "Write":
		return w.file(name, text("file_path"), []string{"edit", "write"}, "Edit and write")
	case "NotebookEdit":
		return w.file(name, text("notebook_path"), []string{"edit", "write"}, "Edit and write")
	case "Read":
		return w.file(name, text("file_path"), []string{"read"}, "Read")
	case "WebFetch":
		return w.fetch(text("url"))
	case "WebSearch":
		return []candidate{{sentence: "Search the web, with any words", drafts: []draft{{
			match: match{Tool: name}, test: test{Tool: name, Input: map[string]any{"query": "x"}},
		}}}}, ""
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		return w.mcp(rest, in)
	}
	return nil, "for the tool " + name + " no rule is narrow enough"
}

// file proposes one file, and the files beside it.
func (w *where) file(tool, at string, op []string, verb string) ([]candidate, string) {
	if w.elsewhere {
		return nil, "the agent's files cannot be seen from here"
	}
	if at == "" || strings.HasPrefix(at, "~") {
		return nil, "its path is not plain"
	}
	if !filepath.IsAbs(at) {
		at = path.Join(w.cwd, at)
	}
	at = path.Clean(at)
	patterns, ok := w.patterns(at)
	if !ok {
		return nil, "its path cannot be named in a rule"
	}
	inside := w.inProject(at) && w.narrowProject()
	if !inside && verb != "Read" {
		return nil, "it changes a file outside the project"
	}
	call := test{Tool: tool, Input: map[string]any{"file_path": at}}
	if tool == "NotebookEdit" {
		call.Input = map[string]any{"notebook_path": at}
	}
	all := []candidate{{sentence: verb + " the file " + at + w.really(at), drafts: []draft{{match: match{File: &file{Op: op, Path: patterns}}, test: call}}}}
	dir := path.Dir(at)
	beside, ok := w.patterns(dir)
	if !inside || !ok || strings.HasPrefix(path.Base(at), ".") {
		return all, ""
	}
	f := &file{Op: op}
	for _, d := range beside {
		f.Path, f.Not = append(f.Path, d+"/*"), append(f.Not, d+"/.*")
	}
	return append(all, candidate{
		sentence: verb + " the files directly in " + dir + w.really(dir) + ", but not hidden ones",
		drafts:   []draft{{match: match{File: f}, test: call}},
	}), ""
}

// fetch proposes one address without its query, and its host.
func (w *where) fetch(text string) ([]candidate, string) {
	u, err := neturl.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Port() != "" || strings.ContainsAny(u.Host, "*") {
		return nil, "its address is not plain"
	}
	host := strings.ToLower(u.Hostname())
	call := test{Tool: "WebFetch", Input: map[string]any{"url": text}}
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
func (w *where) mcp(name string, in map[string]json.RawMessage) ([]candidate, string) {
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
	call := test{Tool: "mcp__" + name}
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
