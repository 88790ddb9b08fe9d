package acp

import (
	"bytes"

	"assent/internal/agent/claude/tools"
	"assent/internal/text/strictjson"
)

// member is one to be written: value is JSON.
type member struct {
	key   string
	value []byte
}

// compose writes an object. Values keep their bytes.
func compose(all ...member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// membersOf are those of an object, in order; none of what is no object.
func membersOf(text []byte) []member {
	list, err := strictjson.Object(text)
	if err != nil {
		return nil
	}
	all := make([]member, len(list))
	for i, m := range list {
		all[i] = member{m.Key, m.Value}
	}
	return all
}

// quote writes a text as JSON, without escapes that nobody needs.
func quote(text string) []byte {
	b, err := strictjson.Encode(text)
	if err != nil { // of a text there is none
		return []byte(`""`)
	}
	return b
}

// payload is a question in the shape of a hook's payload, in the agent's own words for its tools: the
// broker's side knows what they mean, see Agent.
func payload(agent, session, cwd string, was call, now object, in []byte, from string) []byte {
	k := agents[agent]
	kind, title := now.text("kind"), now.text("title")
	if kind == "" {
		kind = was.kind
	}
	if title == "" {
		title = was.title
	}
	native := nativeTool(k, was, now)
	tool := native
	if tool == "" {
		tool = kindTool(kind, in)
	}
	as, listed := k.tools[tool]
	if from == fromRaw && k.title && as.Name == tools.Bash && readObject(was.raw)["command"] == nil {
		from = fromAlone
	}
	if from != fromRaw || !listed && !k.names {
		tool = kindTool(kind, in)
	} else if as.Name == tools.Bash {
		in, cwd = k.tidy(in, cwd)
	}
	all := []member{{"hook_event_name", []byte(`"PermissionRequest"`)}, {"session_id", quote(session)}}
	if cwd != "" {
		all = append(all, member{"cwd", quote(cwd)})
	}
	about := []member{{"input", quote(from)}, {"kind", quote(kind)}}
	if native != "" {
		about = append(about, member{"tool", quote(native)})
	}
	if title != "" && len(title) <= maxTitle {
		about = append(about, member{"title", quote(title)})
	}
	all = append(all, member{"tool_name", quote(tool)}, member{"tool_use_id", quote(now.text("toolCallId"))},
		member{"tool_input", in}, member{"acp", compose(about...)})
	return compose(all...)
}

// maxTitle bounds the title that goes with a payload, in bytes: what counts is the input.
const maxTitle = 1 << 10

// nativeTool is the agent's own name of the tool; "" where it does not tell.
func nativeTool(k known, was call, now object) string {
	if name := toolName(now); name != "" {
		return name
	}
	if was.name != "" {
		return was.name
	}
	// The same call may be asked about for another reason, such as where it reaches to.
	if kind := now.text("kind"); k.title && (was.kind == kind || kind == "") {
		return was.title
	}
	return ""
}

// kindTool is the name of a tool of which nothing is known but the kind of call.
func kindTool(kind string, in []byte) string {
	switch kind {
	case "execute":
		if readObject(in).text("command") != "" {
			return Prefix + kind
		}
	case "read", "edit", "delete", "move", "search", "think", "fetch":
		return Prefix + kind
	}
	return Prefix + "other"
}
