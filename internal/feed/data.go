package feed

import (
	"encoding/json"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// What each kind of event carries. Texts and JSON are the payload's own and may hold anything:
// only Event.Title and Event.Body are safe to look at.

// SessionStartData is the data of session.start.
type SessionStartData struct {
	Source    string `json:"source"` // startup, resume, clear, compact
	Model     string `json:"model,omitempty"`
	AgentType string `json:"agent_type,omitempty"`
}

// SessionEndData is the data of session.end.
type SessionEndData struct {
	Reason string `json:"reason"` // clear, logout, prompt_input_exit, other, …
}

// RunStartData is the data of run.start.
type RunStartData struct {
	Trigger Trigger `json:"trigger"`
}

// Trigger is what opened a run.
type Trigger struct {
	Type          TriggerType `json:"type"`
	RequestID     string      `json:"request_id,omitempty"` // id of the hook event; in Run only
	PromptPreview string      `json:"prompt_preview,omitempty"`
}

// TriggerType is a kind of Trigger.
type TriggerType string

// The triggers.
const (
	TriggerPrompt TriggerType = "user_prompt_submit"
	TriggerResume TriggerType = "resume"
	TriggerOther  TriggerType = "other"
)

// RunEndData is the data of run.end.
type RunEndData struct {
	Status   RunStatus `json:"status"` // completed, failed, aborted
	Counters Counters  `json:"counters"`
}

// UserPromptData is the data of user.prompt.
type UserPromptData struct {
	Prompt         string `json:"prompt"`
	CWD            string `json:"cwd"`
	PermissionMode string `json:"permission_mode,omitempty"`
	// Source is task_notification for a notice the agent's program wrote about a background
	// task, session_message for a message of another program or session, which From names and whose
	// text is Summary; empty for a person's prompt.
	Source  string `json:"source,omitempty"`
	From    string `json:"from,omitempty"`
	TaskID  string `json:"task_id,omitempty"`
	Status  string `json:"status,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// PromptExpansionData is the data of prompt.expansion: a slash command became a prompt.
type PromptExpansionData struct {
	Prompt        string `json:"prompt"`
	ExpansionType string `json:"expansion_type,omitempty"`
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args,omitempty"`
	CommandSource string `json:"command_source,omitempty"`
}

// ToolPreData is the data of tool.pre.
type ToolPreData struct {
	ToolName  string    `json:"tool_name"`
	ToolInput hook.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id,omitempty"`
}

// ToolPostData is the data of tool.post.
type ToolPostData struct {
	ToolName  string    `json:"tool_name"`
	ToolInput hook.JSON `json:"tool_input"`
	// Contained says that the call ran contained: read. Its input is the one that was asked for.
	Contained    string    `json:"contained,omitempty"`
	ToolUseID    string    `json:"tool_use_id,omitempty"`
	ToolResponse hook.JSON `json:"tool_response"`
	DurationMS   int64     `json:"duration_ms,omitempty"`
}

// ToolFailureData is the data of tool.failure.
type ToolFailureData struct {
	ToolName    string    `json:"tool_name"`
	ToolInput   hook.JSON `json:"tool_input"`
	Contained   string    `json:"contained,omitempty"` // as in ToolPostData
	ToolUseID   string    `json:"tool_use_id,omitempty"`
	Error       string    `json:"error"`
	IsInterrupt bool      `json:"is_interrupt,omitempty"`
	DurationMS  int64     `json:"duration_ms,omitempty"`
}

// ToolBatchData is the data of tool.batch: all calls of one response of the model are over.
type ToolBatchData struct {
	ToolCalls []BatchCall `json:"tool_calls"`
	Count     int         `json:"count"` // also of those that tool_calls has no place for
}

// BatchCall is one call of a batch.
type BatchCall struct {
	ToolName  string `json:"tool_name"`
	ToolUseID string `json:"tool_use_id,omitempty"`
}

// PermissionRequestData is the data of permission.request.
type PermissionRequestData struct {
	ToolName  string    `json:"tool_name"`
	ToolInput hook.JSON `json:"tool_input"`
	// ToolUseID is that of the call the request is about, where only one can be meant.
	ToolUseID             string    `json:"tool_use_id,omitempty"`
	PermissionSuggestions hook.JSON `json:"permission_suggestions,omitempty"`
	AgentID               string    `json:"agent_id,omitempty"` // the subagent that asks
	AgentType             string    `json:"agent_type,omitempty"`
}

// PermissionDecisionData is the data of permission.decision.
type PermissionDecisionData struct {
	DecisionType DecisionType `json:"decision_type"`
	// Reason is a word: deadline, hangup, tool_ran, … Empty when somebody decided.
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"` // of a denial
	Interrupt          bool      `json:"interrupt,omitempty"`
	UpdatedInput       hook.JSON `json:"updated_input,omitempty"`
	UpdatedPermissions hook.JSON `json:"updated_permissions,omitempty"`
	// Edited says that updated_input is another call than was asked for. The event's body shows
	// the difference.
	Edited bool `json:"edited,omitempty"`
	// Contained says that updated_input is the same call, run contained: read.
	Contained string `json:"contained,omitempty"`
	// Answers are what was answered to questions, or in a form, safe to look at.
	Answers []show.Answer `json:"answers,omitempty"`
	// Unattended says that the agent ran without a terminal, where nobody could have answered.
	Unattended bool `json:"unattended,omitempty"`
	// Tool is the tool's name, and Summary what the call is known by that was allowed as edited, both
	// as they came.
	Tool    string `json:"-"`
	Summary string `json:"-"`

	Outcome hook.Outcome   `json:"outcome,omitempty"`
	By      *hook.Approver `json:"by,omitempty"`
}

// MarshalJSON writes the message of a denial also where it is empty: a denial always has one.
func (d PermissionDecisionData) MarshalJSON() ([]byte, error) {
	type plain PermissionDecisionData
	if d.DecisionType != DecideDeny || d.Message != "" {
		return json.Marshal(plain(d))
	}
	return json.Marshal(struct {
		plain
		Message string `json:"message"`
	}{plain(d), d.Message})
}

// DecisionType is what a decision says.
type DecisionType string

// The decisions. A withdrawn or expired request is no_opinion; ask hands it back to the
// agent's own prompt; block is for stop.decision only.
const (
	DecideNoOpinion DecisionType = "no_opinion"
	DecideAllow     DecisionType = "allow"
	DecideDeny      DecisionType = "deny"
	DecideAsk       DecisionType = "ask"
	DecideBlock     DecisionType = "block"
)

// PermissionDeliveryData is the data of permission.delivery: the answer reached the hook, or that did not print it, or a
// later event proved that the allowed tool ran.
type PermissionDeliveryData struct {
	Delivery string `json:"delivery"`          // delivered, refused, confirmed
	Failure  string `json:"failure,omitempty"` // what the tool said when it ran and failed, or why the hook refused
}

// PermissionOverruledData is the data of permission.overruled: the tool ran although the
// request was denied, or ran as it was asked for although it was allowed as edited, or contained.
type PermissionOverruledData struct {
	ToolName string `json:"tool_name,omitempty"`
	Edited   bool   `json:"edited,omitempty"` // it was allowed as edited
	// Contained says that it was allowed to run contained: read.
	Contained string `json:"contained,omitempty"`
}

// PermissionDeniedData is the data of permission.denied: the agent itself refused a call.
type PermissionDeniedData struct {
	ToolName  string    `json:"tool_name"`
	ToolInput hook.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id,omitempty"`
	Reason    string    `json:"reason,omitempty"`
}

// StopRequestData is the data of stop.request.
type StopRequestData struct {
	StopHookActive bool   `json:"stop_hook_active"`
	Scope          Scope  `json:"scope"`
	AgentID        string `json:"agent_id,omitempty"`
	AgentType      string `json:"agent_type,omitempty"`
	LastMessage    string `json:"last_message,omitempty"`
}

// Scope says whose turn ends.
type Scope string

// The scopes.
const (
	ScopeRoot     Scope = "root"
	ScopeSubagent Scope = "subagent"
)

// StopDecisionData is the data of stop.decision. assent never holds a stop: it is no_opinion.
type StopDecisionData struct {
	DecisionType DecisionType `json:"decision_type"`
	Reason       string       `json:"reason,omitempty"`
}

// StopFailureData is the data of stop.failure: an error ended the turn.
type StopFailureData struct {
	Error       string `json:"error"`
	LastMessage string `json:"last_message,omitempty"`
}

// StopInterruptData is the data of stop.interrupt: a person stopped the turn.
type StopInterruptData struct {
	TurnID string `json:"turn_id,omitempty"`
}

// SubagentStartData is the data of subagent.start.
type SubagentStartData struct {
	AgentID   string `json:"agent_id"`
	AgentType string `json:"agent_type"`
}

// SubagentStopData is the data of subagent.stop.
type SubagentStopData struct {
	AgentID             string `json:"agent_id"`
	AgentType           string `json:"agent_type"`
	StopHookActive      bool   `json:"stop_hook_active"`
	AgentTranscriptPath string `json:"agent_transcript_path,omitempty"`
	LastMessage         string `json:"last_message,omitempty"`
}

// TeammateIdleData is the data of teammate.idle.
type TeammateIdleData struct {
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name,omitempty"`
}

// NotificationData is the data of notification.
type NotificationData struct {
	Message          string `json:"message"`
	Title            string `json:"title,omitempty"`
	NotificationType string `json:"notification_type,omitempty"`
}

// MessageData is the data of message: a piece of what the agent says.
type MessageData struct {
	MessageID string `json:"message_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	Index     int64  `json:"index"`
	Final     bool   `json:"final"`
	Delta     string `json:"delta"`
}

// PreCompactData is the data of compact.pre.
type PreCompactData struct {
	Trigger            string `json:"trigger"` // manual, auto
	CustomInstructions string `json:"custom_instructions,omitempty"`
}

// PostCompactData is the data of compact.post.
type PostCompactData struct {
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary,omitempty"`
}

// SetupData is the data of setup.
type SetupData struct {
	Trigger string `json:"trigger"` // init, maintenance
}

// ModelSwitchData is the data of model.pre and model.switch.
type ModelSwitchData struct {
	FromModel string `json:"from_model,omitempty"`
	ToModel   string `json:"to_model"`
	Source    string `json:"source,omitempty"`
}

// TaskData is the data of task.created and task.completed.
type TaskData struct {
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description,omitempty"`
	TeammateName    string `json:"teammate_name,omitempty"`
	TeamName        string `json:"team_name,omitempty"`
}

// ElicitationData is the data of elicitation.request: an MCP server asks the person.
type ElicitationData struct {
	MCPServerName   string    `json:"mcp_server_name"`
	Message         string    `json:"message,omitempty"`
	Mode            string    `json:"mode,omitempty"`
	RequestedSchema hook.JSON `json:"requested_schema,omitempty"`
}

// ElicitationResultData is the data of elicitation.result.
type ElicitationResultData struct {
	MCPServerName string    `json:"mcp_server_name"`
	Mode          string    `json:"mode,omitempty"`
	Action        string    `json:"action"` // accept, decline, cancel
	Content       hook.JSON `json:"content,omitempty"`
}

// ConfigChangeData is the data of config.change.
type ConfigChangeData struct {
	Source   string `json:"source"`
	FilePath string `json:"file_path,omitempty"`
}

// InstructionsLoadedData is the data of instructions.loaded: of a file, or in the older form the
// trigger alone.
type InstructionsLoadedData struct {
	FilePath        string `json:"file_path,omitempty"`
	Trigger         string `json:"trigger,omitempty"` // init, maintenance
	MemoryType      string `json:"memory_type,omitempty"`
	LoadReason      string `json:"load_reason,omitempty"`
	TriggerFilePath string `json:"trigger_file_path,omitempty"`
}

// CwdChangedData is the data of cwd.changed.
type CwdChangedData struct {
	OldCWD string `json:"old_cwd,omitempty"`
	NewCWD string `json:"new_cwd"`
}

// FileChangedData is the data of file.changed.
type FileChangedData struct {
	FilePath string `json:"file_path"`
	Event    string `json:"event,omitempty"`
}

// DirectoryAddedData is the data of directory.added.
type DirectoryAddedData struct {
	Directory string `json:"directory"`
	Source    string `json:"source,omitempty"`
}

// WorktreeCreateData is the data of worktree.create.
type WorktreeCreateData struct {
	Name string `json:"name"`
}

// WorktreeRemoveData is the data of worktree.remove.
type WorktreeRemoveData struct {
	WorktreePath string `json:"worktree_path"`
}

// UnknownHookData is the data of unknown.hook. The payload stands in Event.Raw.
type UnknownHookData struct {
	HookEventName string    `json:"hook_event_name"`
	Payload       hook.JSON `json:"payload,omitempty"`
}

// TodoAddData is the data of todo.add.
type TodoAddData struct {
	TodoID          string   `json:"todo_id"`
	Text            string   `json:"text"`
	Details         string   `json:"details,omitempty"`
	Priority        string   `json:"priority,omitempty"` // p0, p1, p2
	LinkedEventID   string   `json:"linked_event_id,omitempty"`
	AssignedActorID string   `json:"assigned_actor_id,omitempty"`
	Tags            []string `json:"tags,omitempty"`
}

// TodoUpdateData is the data of todo.update.
type TodoUpdateData struct {
	TodoID string    `json:"todo_id"`
	Patch  TodoPatch `json:"patch"`
}

// TodoPatch is what changed about a task; what is empty did not.
type TodoPatch struct {
	Text            string   `json:"text,omitempty"`
	Details         string   `json:"details,omitempty"`
	Priority        string   `json:"priority,omitempty"`
	Status          string   `json:"status,omitempty"` // open, doing, blocked, done
	AssignedActorID string   `json:"assigned_actor_id,omitempty"`
	Tags            []string `json:"tags,omitempty"` // all of them; a task keeps its last one
}

func (p TodoPatch) empty() bool {
	return p.Text == "" && p.Details == "" && p.Priority == "" && p.Status == "" && p.AssignedActorID == "" && len(p.Tags) == 0
}

// TodoDoneData is the data of todo.done.
type TodoDoneData struct {
	TodoID string `json:"todo_id"`
	Reason string `json:"reason,omitempty"` // removed, or empty
}

// EventsLostData is the data of events.lost.
type EventsLostData struct {
	Count uint64 `json:"count"` // of all sessions together
}
