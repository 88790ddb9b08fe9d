package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

	"assent/internal/text/strictjson"
)

// nobody tells the model that the denial is not a person's judgement.
const nobody = "No person has seen this request and refused it. Go on without this call, or stop and say that it needs an approval."

// question is a call of the tool: what the agent would run.
type question struct {
	tool, toolUseID string
	input           json.RawMessage // as received, a part of the arguments
}

// readQuestion reads the arguments of a call. Keys are matched exactly, and none may stand there a
// second time, or in other letters: what is shown must be what is meant.
func readQuestion(args json.RawMessage) (question, error) {
	var q question
	members, err := strictjson.Object(args)
	_, twice := strictjson.Repeated(members)
	_, varied := strictjson.Variant(members, "tool_name", "tool_use_id", "input")
	if err != nil || twice || varied {
		return q, errUnreadable
	}
	for _, m := range members {
		switch m.Key {
		case "tool_name":
			err = json.Unmarshal(m.Value, &q.tool)
		case "tool_use_id":
			err = json.Unmarshal(m.Value, &q.toolUseID)
		case "input":
			q.input = m.Value
		}
		if err != nil {
			return q, errUnreadable
		}
	}
	if q.tool == "" || len(q.input) == 0 || q.input[0] != '{' {
		return q, errUnreadable
	}
	return q, nil
}

var errUnreadable = errors.New("the agent's question is unreadable: want tool_name and input")

// payload is the question as a hook would put it. The input keeps its bytes, on which the decision
// is bound, and by which the broker knows the hook's request about the same call.
func (q question) payload(session, dir string) []byte {
	var b bytes.Buffer
	member := func(key, value string) {
		if value != "" {
			b.WriteString(`,"` + key + `":`)
			b.Write(quote(value))
		}
	}
	b.WriteString(`{"hook_event_name":"PermissionRequest"`)
	member("session_id", session)
	member("cwd", dir)
	member("tool_name", q.tool)
	member("tool_use_id", q.toolUseID)
	b.WriteString(`,"tool_input":`)
	b.Write(q.input)
	b.WriteByte('}')
	return b.Bytes()
}

// decision is what a hook prints, and under the same names what the tool answers.
type decision struct {
	Behavior           string          `json:"behavior"`
	Message            string          `json:"message,omitempty"`
	Interrupt          bool            `json:"interrupt,omitempty"`
	UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
}

var errNoDecision = errors.New("nobody decided this permission request in time, or it was withdrawn")

// answer turns what a hook would print into the tool's answer. Only a whole and certain allow is
// one.
func answer(printed []byte, input json.RawMessage) (string, error) {
	if len(bytes.TrimSpace(printed)) == 0 {
		return "", errNoDecision
	}
	var p struct {
		Output struct {
			Event    string   `json:"hookEventName"`
			Decision decision `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(printed, &p); err != nil || p.Output.Event != "PermissionRequest" {
		return "", errors.New("the broker's answer is not readable")
	}
	d := p.Output.Decision
	switch d.Behavior {
	case "allow":
		if len(d.UpdatedInput) == 0 {
			d.UpdatedInput = input // 2.1.197 wants one
		}
		return encode(decision{Behavior: "allow", UpdatedInput: d.UpdatedInput, UpdatedPermissions: d.UpdatedPermissions}), nil
	case "deny":
		if d.Message == "" { // without one the client takes the answer for no answer
			d.Message = "Denied by assent."
		}
		return encode(decision{Behavior: "deny", Message: d.Message, Interrupt: d.Interrupt}), nil
	}
	return "", errors.New("the broker's answer is neither allow nor deny")
}

func denial(words string) string { return encode(decision{Behavior: "deny", Message: words}) }

func encode(d decision) string { return string(quote(d)) }

// quote writes JSON without escaping <, > and &. All it is given are texts, and JSON that was read.
func quote(v any) []byte {
	b, err := strictjson.Encode(v)
	if err != nil {
		return []byte(`{"behavior":"deny","message":"Denied: assent could not write its answer."}`)
	}
	return b
}
