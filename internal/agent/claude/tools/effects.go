package tools

import "assent/internal/agent/tool"

// effects are what calls of tools without a kind of their own do.
var effects = map[string]tool.Effect{ // read-only
	"BashOutput":           {Kind: "reads", Risk: "calm", Says: "Reads what a command of its own printed"},
	"TaskOutput":           {Kind: "reads", Risk: "calm", Says: "Reads what a task of its own printed"},
	"TodoRead":             {Kind: "reads", Risk: "calm", Says: "Reads its list of tasks"},
	"CronList":             {Kind: "reads", Risk: "calm", Says: "Lists what it has planned to run"},
	"ToolSearch":           {Kind: "reads", Risk: "calm", Says: "Looks for tools"},
	"KillShell":            {Kind: "kills", Risk: "attention", Says: "Kills a command of its own"},
	"KillBash":             {Kind: "kills", Risk: "attention", Says: "Kills a command of its own"},
	"TaskStop":             {Kind: "kills", Risk: "attention", Says: "Stops a task of its own"},
	"Config":               {Kind: "agent-settings", Risk: "danger", Says: "Changes the agent's settings"},
	"CronCreate":           {Kind: "plants", Risk: "danger", Says: "Plans what runs later without being asked for"},
	"CronDelete":           {Kind: "deletes", Risk: "attention", Says: "Deletes what was planned to run"},
	"ScheduleWakeup":       {Kind: "plants", Risk: "attention", Says: "Plans to go on later"},
	"RemoteTrigger":        {Kind: "sends", Risk: "danger", Says: "Starts something on another machine"},
	"SendMessage":          {Kind: "sends", Risk: "attention", Says: "Sends a message to another agent"},
	"SendUserFile":         {Kind: "sends", Risk: "attention", Says: "Sends you a file"},
	"PushNotification":     {Kind: "sends", Risk: "attention", Says: "Sends you a notice"},
	"EnterWorktree":        {Kind: "writes", Risk: "attention", Says: "Makes another work tree"},
	"ExitWorktree":         {Kind: "deletes", Risk: "attention", Says: "Leaves its work tree, and may delete it"},
	"TeamCreate":           {Kind: "other", Risk: "attention", Says: "Starts more agents"},
	"TeamDelete":           {Kind: "kills", Risk: "attention", Says: "Stops its agents"},
	"PowerShell":           {Kind: "unknown", Risk: "attention", Says: "Runs a command of PowerShell, which assent does not read"},
	"Workflow":             {Kind: "unknown", Risk: "attention", Says: "Runs a workflow"},
	"Monitor":              {Kind: "unknown", Risk: "attention", Says: "Runs a command and watches it"},
	"SlashCommand":         {Kind: "runs-project", Risk: "attention", Says: "Follows a command of the project"},
	"StructuredOutput":     {Kind: "other", Risk: "calm", Says: "Answers in a given form"},
	"LSP":                  {Kind: "runs-project", Risk: "normal", Says: "Asks a language server"},
	"ListMcpResourcesTool": {Kind: "unknown", Risk: "attention", Says: "Asks an MCP server for its list"},
	"ReadMcpResourceTool":  {Kind: "unknown", Risk: "attention", Says: "Reads from an MCP server"},
	"WaitForMcpServers":    {Kind: "other", Risk: "calm", Says: "Waits for MCP servers"},
}

// withEffects says of each tool what its calls do.
func withEffects(all []tool.Tool) []tool.Tool {
	for i := range all {
		all[i].Effect = effects[all[i].Name]
	}
	return all
}
