package claude

import (
	"encoding/json"
	"fmt"

	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Detail reads what an event says beyond Decode's Payload, for the feed. It never fails: what
// cannot be read is left out, and Detail.Problem says why. Of a repeated member the last
// counts, as in Decode.
//
// The members were found in payloads of Claude Code 2.1.329.
func (Agent) Detail(event string, raw []byte) hook.Detail {
	var r detailReader
	members, err := strictjson.Object(raw)
	if err != nil {
		r.d.NotJSON = true
		r.d.Problem = err.Error()
	}
	for _, m := range members {
		r.member(m)
	}
	d := &r.d
	d.ToolArg = toolArg(r.toolName, r.toolInput)
	if len(d.ToolResponse) > 0 {
		d.ResultText = resultText(d.ToolResponse)
	}
	if event == "" {
		event = r.event
	}
	switch event {
	case hook.EventUserPromptSubmit:
		d.Notice = taskNotice(d.Prompt)
	case hook.EventPostToolUse:
		d.Todos = todosOfTool(r.toolName, r.toolInput, d.ToolResponse)
	case "TaskCreated", "TaskCompleted":
		d.Todos = todosOfTask(event, d)
	}
	return r.d
}

// detailReader gathers a Detail member by member.
type detailReader struct {
	d         hook.Detail
	event     string
	toolName  string
	toolInput []byte
	unused    string // for members that Decode gives, and of which only the type matters here
}

func (r *detailReader) member(m strictjson.Member) {
	d := &r.d
	if dst := r.textMember(m.Key); dst != nil {
		r.read(m, dst, "a text")
		return
	}
	switch m.Key {
	case "tool_input":
		if r.toolInput = m.Value; m.Value[0] != '{' && d.Problem == "" {
			d.Problem = "tool_input is not an object"
		}
	case "tool_response":
		d.ToolResponse = hook.JSON(m.Value)
	case "requested_schema":
		d.Schema = hook.JSON(m.Value)
	case "content":
		d.Content = hook.JSON(m.Value)
	case "is_interrupt":
		r.read(m, &d.IsInterrupt, "true or false")
	case "stop_hook_active":
		r.read(m, &d.StopHookActive, "true or false")
	case "final":
		r.read(m, &d.Final, "true or false")
	case "index":
		r.read(m, &d.Index, "a whole number")
	case "duration_ms":
		var ms float64
		r.read(m, &ms, "a number")
		if 0 < ms && ms < 1<<53 {
			d.DurationMS = int64(ms)
		}
	case "tool_calls":
		d.Calls, d.CallCount = batchCalls(m.Value)
	}
}

// textMember is where a member that is a text goes, nil for one that is none or not of
// interest. Members of different events that mean the same share a field.
func (r *detailReader) textMember(key string) *string {
	d := &r.d
	switch key {
	case "hook_event_name":
		return &r.event
	case "tool_name":
		return &r.toolName
	case "session_id", "agent_id", "agent_type", "cwd", "permission_mode":
		return &r.unused
	case "transcript_path":
		return &d.TranscriptPath
	case "agent_transcript_path":
		return &d.AgentTranscriptPath
	case "tool_use_id":
		return &d.ToolUseID
	case "error":
		return &d.Error
	case "prompt":
		return &d.Prompt
	case "source", "command_source":
		return &d.Source
	case "model", "to_model":
		return &d.Model
	case "from_model":
		return &d.FromModel
	case "reason":
		return &d.Reason
	case "trigger":
		return &d.Trigger
	case "custom_instructions":
		return &d.Instructions
	case "compact_summary":
		return &d.Summary
	case "last_assistant_message":
		return &d.LastMessage
	case "message", "delta":
		return &d.Message
	case "title":
		return &d.Title
	case "notification_type":
		return &d.NotificationType
	case "mcp_server_name":
		return &d.Server
	case "mode":
		return &d.Mode
	case "action":
		return &d.Action
	case "message_id":
		return &d.MessageID
	case "turn_id":
		return &d.TurnID
	case "file_path", "worktree_path", "directory", "new_cwd":
		return &d.Path
	case "old_cwd":
		return &d.OldPath
	case "event":
		return &d.Change
	case "memory_type":
		return &d.MemoryType
	case "load_reason":
		return &d.LoadReason
	case "trigger_file_path":
		return &d.TriggerPath
	case "name", "command_name", "teammate_name":
		return &d.Name
	case "command_args":
		return &d.Args
	case "expansion_type":
		return &d.NameType
	case "task_id":
		return &d.TaskID
	case "task_subject":
		return &d.Subject
	case "task_description":
		return &d.Description
	case "team_name":
		return &d.Team
	}
	return nil
}

func (r *detailReader) read(m strictjson.Member, dst any, want string) {
	if s, ok := dst.(*string); ok {
		if plain, ok := plainText(m.Value); ok {
			*s = plain
			return
		}
	}
	if err := json.Unmarshal(m.Value, dst); err != nil && r.d.Problem == "" {
		r.d.Problem = fmt.Sprintf("%.64s is not %s", m.Key, want)
	}
}

// plainText reads a JSON string that has no escapes and is plain ASCII, as nearly all are.
func plainText(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	v = v[1 : len(v)-1]
	for _, c := range v {
		if c < ' ' || c >= 0x7f || c == '\\' {
			return "", false
		}
	}
	return string(v), true
}

// batchCalls names the calls of a batch.
func batchCalls(v []byte) (calls []hook.Call, n int) {
	var all []json.RawMessage
	if json.Unmarshal(v, &all) != nil {
		return nil, 0
	}
	for i, raw := range all {
		if i == hook.MaxCalls {
			break
		}
		f := fields(raw)
		calls = append(calls, hook.Call{ToolName: text(f["tool_name"]), ToolUseID: text(f["tool_use_id"])})
	}
	return calls, len(all)
}

// fields are the members of an object by their exact names, nil where there is none.
func fields(v []byte) map[string]json.RawMessage {
	var f map[string]json.RawMessage
	if json.Unmarshal(v, &f) != nil {
		return nil
	}
	return f
}
