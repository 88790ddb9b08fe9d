// Package events is the one table of Claude Code's hook events. Data only.
package events

// Versions of Claude Code that were tried: Oldest and Driven by the tests of every change, Newest once. Older ones than
// Oldest are refused.
const (
	Oldest = "2.1.197"
	Driven = "2.1.329"
	Newest = "2.1.332"
)

// Event is a hook event of Claude Code.
type Event struct {
	Name  string
	Since string // the first version known to have it; empty: Oldest
	// Never says why no hook may run for it, Unwanted why none is written for it though one may.
	Never, Unwanted string
}

// All are all 33 of 2.1.329, in the order that a session meets them. Read-only.
var All = []Event{
	{Name: "PermissionRequest"},
	{Name: "SessionStart"}, {Name: "Setup"}, {Name: "InstructionsLoaded"}, {Name: "ConfigChange"},
	{Name: "UserPromptSubmit"}, {Name: "UserPromptExpansion"},
	{Name: "PreToolUse"}, {Name: "PostToolUse"}, {Name: "PostToolUseFailure"}, {Name: "PostToolBatch"},
	{Name: "PermissionDenied"}, {Name: "Notification"}, {Name: "Elicitation"}, {Name: "ElicitationResult"},
	{Name: "SubagentStart"}, {Name: "SubagentStop"},
	{Name: "TeammateIdle"}, {Name: "TaskCreated"}, {Name: "TaskCompleted"},
	{Name: "PreCompact"}, {Name: "PostCompact"},
	{Name: "PreModelSwitch", Since: Driven}, {Name: "PostModelSwitch", Since: Driven},
	{Name: "CwdChanged"}, {Name: "DirectoryAdded", Since: Driven}, {Name: "WorktreeRemove"},
	{Name: "Stop"}, {Name: "StopFailure"}, {Name: "SessionEnd"},
	{Name: "FileChanged", Unwanted: "it fires only for files that its matcher names"},
	{Name: "MessageDisplay", Unwanted: "it fires for every piece of an answer"},
	{Name: "WorktreeCreate", Never: "a hook there replaces git, and work trees would no longer be made"},
}

// Names are the names of All, in that order.
func Names() []string {
	names := make([]string, len(All))
	for i, e := range All {
		names[i] = e.Name
	}
	return names
}
