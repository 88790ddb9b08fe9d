package hook

import "time"

// Mutation is one call of a tool that may change files, as services on RabbitMQ and the ledger
// are told of it. Unlike everything else here it is a document of its own: the schema
// ToolMutationEvent, whose names are these JSON names.
//
// Texts are as the agent wrote them; they reach a terminal through package show only.
type Mutation struct {
	// EventID is the same for every report of one step of one call, however often and by whichever
	// way it came. It serves to count each step once.
	EventID string `json:"event_id"`
	// EventType is "tool.mutation." and ToolName. It is the routing key, too.
	EventType string `json:"event_type"`
	// HookType is one of the three below.
	HookType string `json:"hook_type"`
	// ToolName is in lower case: "write", "mcp__files__move". It holds a-z, 0-9, "_" and "-" only
	// and is no longer than MaxMutationTool; RawPayload has the name as the agent wrote it.
	ToolName string `json:"tool_name"`
	// AgentID is the CLAUDE_AGENT_ID of the agent, "unknown" if it has none.
	AgentID   string `json:"agent_id"`
	SessionID string `json:"session_id,omitempty"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	// Host is where the agent ran, and where Repo.GitRoot is a directory. Empty: it did not say.
	Host string      `json:"host,omitempty"`
	Repo RepoContext `json:"repo"`

	// FilePath is as the agent wrote it, FileExt its ending without the dot; nil if there is none.
	FilePath *string `json:"file_path"`
	FileExt  *string `json:"file_ext"`
	// LinesChanged counts the line ends of the new text, nil where the input has none.
	LinesChanged *int64 `json:"lines_changed"`

	// RawPayload is the hook's JSON.
	RawPayload JSON      `json:"raw_payload"`
	Timestamp  time.Time `json:"timestamp"` // when the hook ran, UTC
	SourcePID  int       `json:"source_pid"`
}

// RepoContext is the work tree of a Mutation, by the clock and the host of its hook. Texts are
// empty where nothing was found.
type RepoContext struct {
	GitRoot   string  `json:"git_root"`
	Branch    string  `json:"branch"` // empty when HEAD is detached
	HeadSHA   string  `json:"head_sha"`
	RemoteURL *string `json:"remote_url"` // without credentials; nil if there is none
}

// The hook types of a Mutation.
const (
	HookPreToolUse         = "pre_tool_use"
	HookPostToolUse        = "post_tool_use"
	HookPostToolUseFailure = "post_tool_use_failure"
)

// What a Mutation's texts are made of.
const (
	MutationPrefix  = "tool.mutation." // of EventType
	MaxMutationTool = 128              // bytes of ToolName; a routing key takes 255
	UnknownAgent    = "unknown"        // AgentID of an agent without a label
)

// HookType is the hook type of an event type: "post_tool_use" of "PostToolUse". It is empty for
// events that tell of no tool call.
func HookType(eventType string) string {
	switch eventType {
	case EventPreToolUse:
		return HookPreToolUse
	case EventPostToolUse:
		return HookPostToolUse
	case EventPostToolUseFailure:
		return HookPostToolUseFailure
	}
	return ""
}

// EventOfHook undoes HookType.
func EventOfHook(hookType string) string {
	switch hookType {
	case HookPreToolUse:
		return EventPreToolUse
	case HookPostToolUse:
		return EventPostToolUse
	case HookPostToolUseFailure:
		return EventPostToolUseFailure
	}
	return ""
}
