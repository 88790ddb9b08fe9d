package hook

// The events that assent does something about, by the names that agents give them
// (hook_event_name). Any other is streamed and shown as it came.
const (
	EventPermissionRequest = "PermissionRequest"
	// EventElicitation is the event in which an MCP server wants a person to fill in a form. It is
	// answered like a permission: allow sends the form with Decision.UpdatedInput as its content,
	// deny declines it, and deny with Interrupt dismisses it unanswered.
	EventElicitation = "Elicitation"

	EventPreToolUse         = "PreToolUse"
	EventPostToolUse        = "PostToolUse"
	EventPostToolUseFailure = "PostToolUseFailure"
	EventPostToolBatch      = "PostToolBatch"

	EventUserPromptSubmit = "UserPromptSubmit"
	EventStop             = "Stop"
	EventStopFailure      = "StopFailure"
	EventSubagentStop     = "SubagentStop"
	EventSessionEnd       = "SessionEnd"
)
