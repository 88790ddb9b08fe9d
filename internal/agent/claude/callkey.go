package claude

import (
	"bytes"
	"encoding/json"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/text/digest"
)

// CallKey returns a text that is equal for two descriptions of the same tool call: same tool,
// and inputs equal as JSON values (member order ignored, numbers compared as text). It is
// empty, and equal to nothing, when input is no JSON.
//
// Two tools come back from the agent with another input than was asked for (recorded with
// Claude Code 2.1.329): AskUserQuestion gains the answers, so its questions alone count;
// ExitPlanMode may carry an edited plan and loses the plan's path, so its name alone counts.
func CallKey(name string, input []byte) string {
	if name == "" {
		return ""
	}
	kind := tools.Of(name).Kind
	if kind == tool.Plan {
		return name
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return ""
	}
	if m, ok := v.(map[string]any); ok && kind == tool.Question {
		v = m["questions"]
	}
	canonical, err := json.Marshal(v) // sorts members
	if err != nil {
		return ""
	}
	return name + " " + digest.Of(canonical)
}
