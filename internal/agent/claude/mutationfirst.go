package claude

import (
	"strings"

	"assent/internal/hook"
	"assent/internal/text/digest"
	"assent/internal/text/strictjson"
)

// completeFirst adds to a document of the first form what it does not have. Other programs write
// such documents, of just these members: event_type, hook_type, agent_id, repo, file_path, file_ext,
// lines_changed, raw_payload, timestamp, source_pid.
//
// The tool is that of the event type. Session and call are those of the payload, so that a call of
// which assent tells, too, is stored once; without them equal documents are one event.
func completeFirst(m *hook.Mutation, doc []byte) {
	m.ToolName = ""
	if tool, ok := strings.CutPrefix(m.EventType, hook.MutationPrefix); ok && tool != "" {
		m.ToolName = mutationTool(tool)
		m.EventType = hook.MutationPrefix + m.ToolName
	}
	m.EventID = nameID("document", digest.Of(doc))
	payload, err := strictjson.Object(m.RawPayload)
	if err != nil {
		return
	}
	for _, member := range payload {
		switch member.Key {
		case "session_id":
			m.SessionID = text(member.Value)
		case "tool_use_id":
			m.ToolUseID = text(member.Value)
		}
	}
	if len(m.SessionID) > maxID || len(m.ToolUseID) > maxID {
		m.SessionID, m.ToolUseID = "", ""
	}
	if m.ToolUseID != "" {
		m.EventID = nameID("call", m.SessionID, m.ToolUseID, m.HookType)
	}
}
