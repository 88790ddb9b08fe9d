package describe

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// maxInVerb is how many characters of a name the verb repeats. The whole stands in a field.
const maxInVerb = 60

// sentences say what a call does, by the tool's name.
var sentences = map[string]func(in input) string{ // read-only
	tools.Bash: func(in input) string {
		if in.raw("run_in_background") == "true" {
			return "Run a command in the background"
		}
		return "Run a command"
	},
	tools.Edit: func(in input) string {
		if in.raw("replace_all") == "true" {
			return "Edit every match in " + in.file("file_path")
		}
		return "Edit " + in.file("file_path")
	},
	"MultiEdit": func(in input) string {
		return "Edit " + in.file("file_path") + in.count("edits", " in one place", " in %d places")
	},
	tools.Write:     func(in input) string { return "Write " + in.file("file_path") },
	tools.Read:      func(in input) string { return "Read " + in.file("file_path") },
	"NotebookEdit":  func(in input) string { return "Edit the notebook " + in.file("notebook_path") },
	tools.WebFetch:  func(input) string { return "Fetch a web page" },
	tools.WebSearch: func(input) string { return "Search the web" },
	"Glob":          func(input) string { return "Find files by name" },
	"Grep":          func(input) string { return "Search in files" },
	tools.Question: func(in input) string {
		return "Answer" + in.count("questions", " a question", " %d questions")
	},
	tools.Plan: func(input) string { return "Approve a plan" },
	hook.EventElicitation: func(in input) string {
		server := in.raw("mcp_server_name")
		if server == "" || server[0] != '"' {
			return "Answer an MCP server"
		}
		return "Answer the MCP server " + shorten(show.Line(unquote(server)))
	},
	tools.Agent: func(input) string { return "Start a subagent" },
	tools.Task:  func(input) string { return "Start a subagent" },
}

func sentence(name string, members []member) string {
	if say := sentences[name]; say != nil {
		return say(members)
	}
	return "Use " + toolName(name)
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
	return shorten(show.Line(p))
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
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, tools.MCP), "__"); ok && strings.HasPrefix(name, tools.MCP) && server != "" && tool != "" {
		return shorten(show.Line(tool)) + " of the MCP server " + shorten(show.Line(server))
	}
	if name == "" {
		return "a tool without a name"
	}
	return shorten(show.Line(name))
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
