package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// wholeInput names the one field of an input that could not be taken apart. The space keeps it
// apart from every member's name.
const wholeInput = "whole input"

// Limits of what is indented for reading; beyond them a value is shown as it came, because
// indenting deep and long JSON multiplies it.
const (
	indentBytes = 16 << 10
	indentDepth = 16
)

// maxInVerb is how many characters of a name the verb repeats. The whole stands in a field.
const maxInVerb = 60

// tool is how a known tool's input is shown.
type tool struct {
	// kinds of the members that come first, in this order, when they are strings. Other
	// members follow in the order of the input.
	first []memberKind
	// verb makes the sentence from the string members and the members' raw JSON.
	verb func(in input) string
	// list is a member that is taken apart, and the kinds of its elements' members.
	list *list
}

type memberKind struct{ key, kind string }

type list struct {
	key  string
	of   []memberKind
	deep *list // a list inside each element
}

var tools = map[string]tool{ // read-only
	"Bash": {
		first: []memberKind{{"command", KindCode}, {"description", KindWords}},
		verb: func(in input) string {
			if in.raw("run_in_background") == "true" {
				return "Run a command in the background"
			}
			return "Run a command"
		},
	},
	"Edit": {
		first: []memberKind{{"file_path", KindPath}, {"old_string", KindDiffOld}, {"new_string", KindDiffNew}},
		verb: func(in input) string {
			if in.raw("replace_all") == "true" {
				return "Edit every match in " + in.file("file_path")
			}
			return "Edit " + in.file("file_path")
		},
	},
	"MultiEdit": {
		first: []memberKind{{"file_path", KindPath}},
		list:  &list{key: "edits", of: []memberKind{{"old_string", KindDiffOld}, {"new_string", KindDiffNew}}},
		verb: func(in input) string {
			return "Edit " + in.file("file_path") + in.count("edits", " in one place", " in %d places")
		},
	},
	"Write": {
		first: []memberKind{{"file_path", KindPath}, {"content", KindCode}},
		verb:  func(in input) string { return "Write " + in.file("file_path") },
	},
	"Read": {
		first: []memberKind{{"file_path", KindPath}},
		verb:  func(in input) string { return "Read " + in.file("file_path") },
	},
	"NotebookEdit": {
		first: []memberKind{{"notebook_path", KindPath}, {"new_source", KindCode}},
		verb:  func(in input) string { return "Edit the notebook " + in.file("notebook_path") },
	},
	"WebFetch": {
		first: []memberKind{{"url", KindURL}, {"prompt", KindText}},
		verb:  func(input) string { return "Fetch a web page" },
	},
	"WebSearch": {
		first: []memberKind{{"query", KindText}},
		verb:  func(input) string { return "Search the web" },
	},
	"Glob": {
		first: []memberKind{{"pattern", KindCode}, {"path", KindPath}},
		verb:  func(input) string { return "Find files by name" },
	},
	"Grep": {
		first: []memberKind{{"pattern", KindCode}, {"path", KindPath}, {"glob", KindCode}},
		verb:  func(input) string { return "Search in files" },
	},
	"AskUserQuestion": {
		list: &list{key: "questions", of: []memberKind{{"question", KindText}, {"header", KindText}},
			deep: &list{key: "options", of: []memberKind{{"label", KindText}, {"description", KindWords}}}},
		verb: func(in input) string {
			return "Answer" + in.count("questions", " a question", " %d questions")
		},
	},
	"ExitPlanMode": {
		first: []memberKind{{"plan", KindText}, {"planFilePath", KindPath}},
		verb:  func(input) string { return "Approve a plan" },
	},
	"Elicitation": { // of an MCP server, which is no tool; see package codec
		first: []memberKind{{"message", KindText}},
		verb: func(in input) string {
			server := in.raw("mcp_server_name")
			if server == "" || server[0] != '"' {
				return "Answer an MCP server"
			}
			return "Answer the MCP server " + shorten(Line(unquote(server)))
		},
	},
	"Agent": agent,
	"Task":  agent,
}

var agent = tool{
	first: []memberKind{{"subagent_type", KindText}, {"prompt", KindText}, {"description", KindWords}},
	verb:  func(input) string { return "Start a subagent" },
}

// Request describes a tool call to the person who is to allow it: a sentence, and fields in
// which every value of input stands. Two inputs that differ in any value give different
// fields. An input that is not one JSON object in valid UTF-8 whose keys differ by more than
// their case is not taken apart: its raw text is the only field.
//
// The sentence repeats parts of the input and may shorten them; it is never all there is to
// see.
func Request(name string, raw []byte) (verb string, fields []Field) {
	fields = []Field{} // an API shows [], not null
	if short := shorten(Line(name)); short != Line(name) {
		fields = append(fields, Field{"tool name", Text(name), KindText})
	}
	members, ok := object(raw)
	if !ok {
		return "Use " + toolName(name) + " with an input that cannot be taken apart",
			append(fields, Field{wholeInput, Text(string(raw)), KindJSON})
	}
	t, known := tools[name]
	if !known {
		t.verb = func(input) string { return "Use " + toolName(name) }
	}
	return t.verb(input(members)), append(fields, t.fields(members)...)
}

func (t tool) fields(members []member) (fields []Field) {
	if t.list == nil {
		return flat("", members, t.first)
	}
	top, listed := members, []Field(nil)
	if i := slices.IndexFunc(members, func(m member) bool { return m.key == t.list.key }); i >= 0 {
		if f, ok := t.list.fields("", members[i].raw); ok {
			top, listed = slices.Delete(slices.Clone(members), i, i+1), f
		}
	}
	n := 0 // the list stands after the members that are known to come first
	for _, mk := range t.first {
		if slices.ContainsFunc(top, func(m member) bool { return m.key == mk.key }) {
			n++
		}
	}
	return slices.Insert(flat("", top, t.first), n, listed...)
}

// fields takes a list apart. ok is false when it is not a list of objects or is empty, and
// then its JSON has to be shown.
func (l *list) fields(prefix, raw string) (fields []Field, ok bool) {
	elems, ok := elements(raw)
	if !ok || len(elems) == 0 {
		return nil, false
	}
	for i, e := range elems {
		members, ok := object([]byte(e))
		if !ok || len(members) == 0 {
			return nil, false
		}
		at := fmt.Sprintf("%s%s[%d].", prefix, l.key, i)
		var inner []Field
		if l.deep != nil {
			if j := slices.IndexFunc(members, func(m member) bool { return m.key == l.deep.key }); j >= 0 {
				if f, ok := l.deep.fields(at, members[j].raw); ok {
					inner = f
					members = slices.Delete(members, j, j+1)
				}
			}
		}
		fields = append(fields, flat(at, members, l.of)...)
		fields = append(fields, inner...)
	}
	return fields, true
}

// flat makes one field of each member, those of first in front.
func flat(prefix string, members []member, first []memberKind) []Field {
	fields := make([]Field, 0, len(members))
	for _, mk := range first {
		for _, m := range members {
			if m.key == mk.key {
				fields = append(fields, field(prefix, m, mk.kind))
			}
		}
	}
	for _, m := range members {
		if !slices.ContainsFunc(first, func(mk memberKind) bool { return mk.key == m.key }) {
			fields = append(fields, field(prefix, m, KindText))
		}
	}
	return fields
}

func field(prefix string, m member, kind string) Field {
	name := prefix + fieldName(m.key)
	if m.raw[0] == '"' {
		return Field{name, Text(unquote(m.raw)), kind}
	}
	return Field{name, Text(indent(m.raw)), KindJSON}
}

// fieldName is the key, in quotes unless it is a plain word, so that no key can pass for a
// path into a list or for one of our own names.
func fieldName(key string) string {
	plain := key != ""
	for i := 0; i < len(key) && plain; i++ {
		c := key[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '$'
	}
	if plain {
		return key
	}
	return Line(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`)
}

func indent(raw string) string {
	if len(raw) > indentBytes || depth(raw) > indentDepth {
		return raw
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return raw
	}
	return b.String()
}

// depth is how deep valid JSON text nests.
func depth(raw string) (deepest int) {
	d := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			d++
			deepest = max(deepest, d)
		case '}', ']':
			d--
		}
	}
	return deepest
}

// input is a tool's members, for the sentence.
type input []member

func (in input) raw(key string) string {
	for _, m := range in {
		if m.key == key {
			return m.raw
		}
	}
	return ""
}

// file is the last element of a path, or "a file" when there is none.
func (in input) file(key string) string {
	raw := in.raw(key)
	if raw == "" || raw[0] != '"' {
		return "a file"
	}
	p := strings.TrimRight(unquote(raw), "/")
	p = p[strings.LastIndexByte(p, '/')+1:]
	if strings.TrimSpace(p) == "" {
		return "a file"
	}
	return shorten(Line(p))
}

func (in input) count(key, one, many string) string {
	raw := in.raw(key)
	if raw == "" {
		return ""
	}
	elems, _ := elements(raw)
	switch len(elems) {
	case 0:
		return ""
	case 1:
		return one
	}
	return fmt.Sprintf(many, len(elems))
}

// toolName is a tool as people know it: mcp__server__tool is a tool of an MCP server.
func toolName(name string) string {
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); ok && strings.HasPrefix(name, "mcp__") && server != "" && tool != "" {
		return shorten(Line(tool)) + " of the MCP server " + shorten(Line(server))
	}
	if name == "" {
		return "a tool without a name"
	}
	return shorten(Line(name))
}

// shorten keeps head and tail of a name that is too long for a sentence.
func shorten(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= maxInVerb {
		return s
	}
	r := []rune(s)
	return string(r[:maxInVerb*2/3]) + "…" + string(r[n-maxInVerb/3:])
}
