// Package tools is the one table of Claude Code's tools. What assent does differently for a tool,
// it does for a fact that stands here, so that a new or changed tool is one entry.
//
// It is data only and imports next to nothing: rules and the feed read it too.
package tools

import (
	"assent/internal/agent/tool"
	"assent/internal/text/show"
)

// Names that code has to write: the tool of a shell command, and examples of rules and calls.
const (
	Bash      = "Bash"
	Edit      = "Edit"
	Read      = "Read"
	Write     = "Write"
	WebFetch  = "WebFetch"
	WebSearch = "WebSearch"
	Task      = "Task"
	Agent     = "Agent"
	Question  = "AskUserQuestion"
	Plan      = "ExitPlanMode"

	Glob         = "Glob"
	Grep         = "Grep"
	LS           = "LS"
	Monitor      = "Monitor"
	NotebookEdit = "NotebookEdit"
	Skill        = "Skill"
)

// MCP is how the names of tools of MCP servers begin: mcp__SERVER__TOOL.
const MCP = "mcp__"

// Of returns what is known of a tool, by its exact name.
func Of(name string) tool.Tool { return table.Of(name) }

// Names returns the names of the tools that Claude Code has or had, sorted.
func Names() []string { return names }

// Where returns the names of the tools for which is holds, in the order of the table.
func Where(is func(tool.Tool) bool) []string { return table.Where(is) }

var (
	table = tool.NewTable(withEffects(all))
	names = table.Names() // read-only
)

// all was found in payloads of Claude Code 2.1.197 to 2.1.329 and in its documentation. Tools that
// may write stand first, in the order in which texts list them.
//
// Known has members of other agents, too, whose tools are read by these entries: what OpenCode and Copilot
// show at their prompts (diff, filediff), a page's format, Qwen Code's is_background, and what Droid says of its own
// calls (riskLevel, riskLevelReason, summary).
var all = append([]tool.Tool{
	{
		Name: Write, Kind: tool.Write, Path: []string{"file_path"}, Title: "file_path", Specified: true,
		Known:   []string{"file_path", "content", "diff", "filediff"},
		Lists:   []string{"filediff"},
		Members: []tool.Member{path("file_path"), code("content")},
	},
	{
		Name: Edit, Kind: tool.Edit, Path: []string{"file_path"}, Title: "file_path", Specified: true,
		Known:   []string{"file_path", "old_string", "new_string", "diff", "filediff"},
		Lists:   []string{"filediff"},
		Members: []tool.Member{path("file_path"), goes("old_string"), comes("new_string")},
	},
	{
		Name: "MultiEdit", Kind: tool.Edit, Path: []string{"file_path"}, Title: "file_path", Specified: true,
		Known:   []string{"file_path", "edits"},
		Members: []tool.Member{path("file_path")},
		List:    &tool.List{Name: "edits", Members: []tool.Member{goes("old_string"), comes("new_string")}, Known: []string{"old_str", "new_str"}},
	},
	{
		Name: "NotebookEdit", Kind: tool.Edit, Path: []string{"notebook_path"}, Title: "notebook_path", Specified: true,
		Known:   []string{"notebook_path", "new_source", "cell_id", "cell_type", "edit_mode"},
		Members: []tool.Member{path("notebook_path"), code("new_source")},
	},
	{
		Name: Bash, Kind: tool.Command, Command: "command", Title: "command", Specified: true,
		Known:   []string{"command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox", "is_background", "riskLevel", "riskLevelReason", "summary"},
		Members: []tool.Member{code("command"), words("description")},
	},
	{
		Name: Read, Kind: tool.Read, Path: []string{"file_path"}, Title: "file_path", Specified: true,
		Known:   []string{"file_path", "offset", "limit", "pages"},
		Members: []tool.Member{path("file_path")},
	},
	{
		Name: "NotebookRead", Kind: tool.Read, Path: []string{"file_path", "notebook_path"},
		Known: []string{"file_path", "notebook_path", "cell_id"},
	},
	{
		Name: "LS", Kind: tool.ListDir, Path: []string{"path"}, Title: "path", Specified: true,
		Known: []string{"path", "ignore"},
		Lists: []string{"ignore"},
	},
	{
		Name: "Glob", Kind: tool.Find, Path: []string{"path"}, Pattern: "pattern", Title: "pattern", Specified: true,
		Known:   []string{"path", "pattern"},
		Members: []tool.Member{code("pattern"), path("path")},
	},
	{
		Name: "Grep", Kind: tool.Search, Path: []string{"path"}, Pattern: "glob", Title: "pattern", Specified: true,
		Known:   []string{"path", "pattern", "glob", "output_mode", "type"},
		Members: []tool.Member{code("pattern"), path("path"), code("glob")},
	},
	{
		Name: WebFetch, Kind: tool.Fetch, URL: "url", Title: "url", Specified: true,
		Known:   []string{"url", "prompt", "format"},
		Members: []tool.Member{address("url"), text("prompt")},
	},
	{
		Name: WebSearch, Kind: tool.WebSearch, Title: "query",
		Members: []tool.Member{text("query")},
	},
	{
		Name: Question, Kind: tool.Question,
		List: &tool.List{
			Name: "questions", Members: []tool.Member{text("question"), text("header")},
			List: &tool.List{Name: "options", Members: []tool.Member{text("label"), words("description")}},
		},
	},
	{
		Name: Plan, Kind: tool.Plan, Title: "plan",
		Members: []tool.Member{text("plan"), path("planFilePath")},
	},
	{Name: "EnterPlanMode", Kind: tool.PlanMode},
	{Name: Agent, Kind: tool.Subagent, Same: Task, Title: "description", Specified: true, Members: subagent},
	{Name: Task, Kind: tool.Subagent, Same: Agent, Title: "description", Specified: true, Members: subagent},
	{Name: "Skill", Kind: tool.Skill, Title: "skill", Specified: true},
	{Name: "SlashCommand", Title: "command"},
	{Name: "BashOutput", Title: "bash_id"},
	{Name: "KillBash", Same: "KillShell"},
	{Name: "KillShell", Same: "KillBash", Title: "shell_id"},
	{Name: "TodoWrite", Kind: tool.Todo},
	{Name: "TaskCreate", Kind: tool.Todo, Title: "subject"},
	{Name: "TaskUpdate", Kind: tool.Todo, Title: "taskId"},
	{Name: "TaskGet", Kind: tool.Todo, Title: "taskId"},
	{Name: "TaskList", Kind: tool.Todo},
}, plain...)

var subagent = []tool.Member{text("subagent_type"), text("prompt"), words("description")}

// plain are tools that assent treats as it does unknown ones. It knows their names, so that a rule
// that names them is no mistake.
var plain = append(named(
	"Config", "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ExitWorktree", "LSP",
	"PushNotification", "RemoteTrigger", "ScheduleWakeup", "SendMessage", "SendUserFile",
	"StructuredOutput", "TaskOutput", "TaskStop", "TeamCreate", "TeamDelete", "TodoRead", "ToolSearch", "WaitForMcpServers", "Workflow",
), []tool.Tool{
	{Name: Monitor, Runs: true},
	{Name: "PowerShell", Runs: true},
	{Name: "ListMcpResourcesTool", Server: "server"},
	{Name: "ReadMcpResourceTool", Server: "server"},
}...)

// Parameters are the members of inputs that a rule Name(parameter:value) may name.
var Parameters = []string{ // read-only
	"allowed_domains", "args", "background", "blocked_domains", "cell_id", "cell_type", "command", "content", "dangerouslyDisableSandbox", "description", "edit_mode", "edits", "file_path",
	"glob", "head_limit", "isolation", "limit", "max_turns", "mode", "model", "multiline", "name", "new_source", "new_string", "notebook_path", "offset", "old_string",
	"output_mode", "pages", "path", "pattern", "prompt", "query", "replace_all", "resume", "run_in_background", "shell_id", "skill", "subagent_type", "task_id", "team_name", "timeout", "type", "url",
}

func named(names ...string) []tool.Tool {
	all := make([]tool.Tool, len(names))
	for i, n := range names {
		all[i].Name = n
	}
	return all
}

func path(name string) tool.Member    { return tool.Member{Name: name, Kind: show.KindPath} }
func code(name string) tool.Member    { return tool.Member{Name: name, Kind: show.KindCode} }
func words(name string) tool.Member   { return tool.Member{Name: name, Kind: show.KindWords} }
func text(name string) tool.Member    { return tool.Member{Name: name, Kind: show.KindText} }
func address(name string) tool.Member { return tool.Member{Name: name, Kind: show.KindURL} }
func goes(name string) tool.Member    { return tool.Member{Name: name, Kind: show.KindDiffOld} }
func comes(name string) tool.Member   { return tool.Member{Name: name, Kind: show.KindDiffNew} }
