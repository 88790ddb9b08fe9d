package claude

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/digest"
	"assent/internal/text/strictjson"
)

// MutationOf returns what reads what an event says about a tool call that may change files. ok is
// false for an event of another kind or of another tool. An error wraps agent.ErrUnreadable: the event
// tells of a tool call, but not of which, or not in a way that can be passed on.
//
// The members of inputs are those of Claude Code's tools.
func MutationOf(tools MutationTools) func(e hook.Event) (m hook.Mutation, ok bool, err error) {
	return func(e hook.Event) (hook.Mutation, bool, error) { return mutation(e, tools) }
}

func mutation(e hook.Event, tools MutationTools) (m hook.Mutation, ok bool, err error) {
	m.HookType = hook.HookType(e.Type)
	if m.HookType == "" {
		return m, false, nil
	}
	c, err := readCall(e)
	if err != nil {
		return m, false, err
	}
	if !tools.has(c.tool) {
		return m, false, nil
	}
	m.ToolName = mutationTool(c.tool)
	m.EventType = hook.MutationPrefix + m.ToolName
	m.EventID = mutationID(e, c, m.HookType)
	m.SessionID, m.ToolUseID = c.session, c.useID
	if m.AgentID = e.Origin.AgentLabel; m.AgentID == "" {
		m.AgentID = hook.UnknownAgent
	}
	m.Host, m.SourcePID = e.Origin.Host, e.Origin.PID
	r := e.Origin.Repo
	m.Repo = hook.RepoContext{GitRoot: r.Root, Branch: r.Branch, HeadSHA: r.Head}
	if r.Remote != "" {
		m.Repo.RemoteURL = &r.Remote
	}
	input := fields(c.input)
	m.FilePath = firstText(input, "file_path", "path", "notebook_path")
	if m.FilePath != nil {
		m.FileExt = fileExt(*m.FilePath)
	}
	m.LinesChanged = linesChanged(input)
	m.RawPayload = hook.JSON(e.Raw)
	m.Timestamp = e.Time.UTC()
	if y := m.Timestamp.Year(); y < 1 || y > 9999 { // JSON cannot write it
		m.Timestamp = e.Stored.UTC()
	}
	return m, true, nil
}

// call is a tool call as an event tells it.
type call struct {
	session, tool, useID string
	input                []byte // an object, nil if absent
}

// readCall reads a tool event. Of a repeated member the last counts, as in Decode.
func readCall(e hook.Event) (c call, err error) {
	raw := e.Raw
	if !utf8.Valid(raw) {
		return c, fmt.Errorf("%w: invalid UTF-8", agent.ErrUnreadable)
	}
	members, err := strictjson.Object(raw)
	if err != nil {
		return c, fmt.Errorf("%w: %w", agent.ErrUnreadable, err)
	}
	for _, m := range members {
		var dst *string
		switch m.Key {
		case "session_id":
			dst = &c.session
		case "tool_name":
			dst = &c.tool
		case "tool_use_id":
			dst = &c.useID
		case "tool_input":
			if c.input = m.Value; m.Value[0] != '{' {
				return c, fmt.Errorf("%w: tool_input is not an object", agent.ErrUnreadable)
			}
			continue
		case "assent_oversize":
			return c, fmt.Errorf("%w: the payload was too large to be kept", agent.ErrUnreadable)
		default:
			continue
		}
		if string(m.Value) == "null" {
			continue
		}
		if err := json.Unmarshal(m.Value, dst); err != nil {
			return c, fmt.Errorf("%w: %s is not a text", agent.ErrUnreadable, m.Key)
		}
	}
	if len(c.session) > maxID || len(c.useID) > maxID {
		return c, fmt.Errorf("%w: a session or tool use id of more than %d bytes", agent.ErrUnreadable, maxID)
	}
	if c.tool == "" {
		c.tool = e.Tool
	}
	if c.tool == "" {
		return c, fmt.Errorf("%w: a tool event that names no tool", agent.ErrUnreadable)
	}
	return c, nil
}

// mutationTool is the tool's name as a routing key takes it.
func mutationTool(name string) string {
	low := strings.ToLower(name)
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_' // a dot would make two words of it
	}, low)
	return plain[:min(len(plain), hook.MaxMutationTool)]
}

// mutationID is the same for two events that tell of the same step of the same call: one call has
// one tool_use_id, and a session may be told of by several hooks. Without a tool_use_id each
// event stands for itself.
func mutationID(e hook.Event, c call, hookType string) string {
	switch {
	case c.useID != "":
		return nameID("call", c.session, c.useID, hookType)
	case len(e.ID) <= 36 && hook.PlainToken(e.ID):
		return e.ID
	case e.ID != "":
		return nameID("event", e.ID)
	}
	// Somebody else wrote it to an external stream.
	return nameID("message", strconv.FormatUint(e.Seq, 10), e.Stored.UTC().Format(time.RFC3339Nano))
}

// nameID is a UUID (version 8) made of names.
func nameID(names ...string) string {
	var quoted []byte // so that no two lists look alike
	for _, n := range names {
		quoted = strconv.AppendQuote(quoted, n)
	}
	h := []byte(digest.Of(quoted)[:32])
	h[12] = '8'
	h[16] = "89ab"[h[16]&3]
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// firstText is the first of these members that is a text and not empty.
func firstText(f map[string]json.RawMessage, names ...string) *string {
	for _, n := range names {
		if s := text(f[n]); s != "" {
			return &s
		}
	}
	return nil
}

// fileExt is what stands behind the last dot of a file's name; ".bashrc" has none.
func fileExt(file string) *string {
	base := path.Base(file)
	i := strings.LastIndexByte(base, '.')
	if i <= 0 || i == len(base)-1 {
		return nil
	}
	ext := base[i+1:]
	return &ext
}

// linesChanged counts the line ends of the new text.
func linesChanged(input map[string]json.RawMessage) *int64 {
	count := func(raw json.RawMessage) (n int64, ok bool) {
		var s *string
		if len(raw) == 0 || json.Unmarshal(raw, &s) != nil || s == nil {
			return 0, false
		}
		return int64(strings.Count(*s, "\n")), true
	}
	for _, name := range []string{"new_string", "content", "new_source"} {
		if n, ok := count(input[name]); ok {
			return &n
		}
	}
	var edits []map[string]json.RawMessage
	if json.Unmarshal(input["edits"], &edits) != nil {
		return nil
	}
	var sum int64
	some := false
	for _, e := range edits {
		n, ok := count(e["new_string"])
		sum, some = sum+n, some || ok
	}
	if !some {
		return nil
	}
	return &sum
}

// maxOrigin is how long what a hook adds to its event may be, in bytes: a header takes no more.
const maxOrigin = 4 << 10

// EncodeMutation writes the document (schema ToolMutationEvent). The payload in it is compacted
// and otherwise as it was.
func EncodeMutation(m hook.Mutation) ([]byte, error) {
	b, err := strictjson.Encode(m)
	if err != nil {
		return nil, fmt.Errorf("encode mutation %s: %w", m.EventID, err)
	}
	return b, nil
}

// DecodeMutation reads a document that EncodeMutation, or another program, wrote. An error wraps
// agent.ErrUnreadable. What passes is as hook.Mutation says.
func DecodeMutation(doc []byte) (m hook.Mutation, err error) {
	bad := func(format string, args ...any) (hook.Mutation, error) {
		return hook.Mutation{}, fmt.Errorf("%w: "+format, append([]any{agent.ErrUnreadable}, args...)...)
	}
	if !utf8.Valid(doc) {
		return bad("invalid UTF-8")
	}
	members, err := strictjson.Object(doc)
	if err != nil {
		return bad("%w", err)
	}
	// encoding/json takes any spelling, and the last of several.
	seen := map[string]bool{}
	for _, member := range members {
		key := strictjson.Fold(member.Key)
		if seen[key] {
			return bad("repeated or case-varied member %.64q", member.Key)
		}
		seen[key] = true
		if key == "repo" {
			if why := ambiguous(member.Value); why != "" {
				return bad("repo: %s", why)
			}
		}
	}
	if err := json.Unmarshal(doc, &m); err != nil {
		return bad("%w", err)
	}
	first := !seen["event_id"] && !seen["tool_name"]
	if first {
		completeFirst(&m, doc)
	}
	switch {
	case m.EventID == "" || len(m.EventID) > 255:
		return bad("event_id is missing or longer than 255 bytes")
	case hook.EventOfHook(m.HookType) == "":
		return bad("hook_type %.64q is not known", m.HookType)
	case mutationTool(m.ToolName) != m.ToolName || m.ToolName == "":
		return bad("tool_name %.64q is not one as a routing key takes it", m.ToolName)
	case m.EventType != hook.MutationPrefix+m.ToolName:
		return bad("event_type %.64q is not that of tool %s", m.EventType, m.ToolName)
	case m.AgentID == "":
		return bad("agent_id is missing")
	case m.Timestamp.IsZero() || m.Timestamp.UTC().Year() < 1 || m.Timestamp.UTC().Year() > 9999:
		return bad("timestamp is missing or in no year")
	case len(m.RawPayload) == 0 || m.RawPayload[0] != '{' && !first:
		return bad("raw_payload is not an object")
	case len(m.SessionID) > maxID || len(m.ToolUseID) > maxID:
		return bad("a session or tool use id of more than %d bytes", maxID)
	case len(m.AgentID) > maxOrigin || len(m.Host) > maxOrigin || len(m.Repo.GitRoot) > maxOrigin || len(m.Repo.Branch) > maxOrigin ||
		len(m.Repo.HeadSHA) > maxOrigin || m.Repo.RemoteURL != nil && len(*m.Repo.RemoteURL) > maxOrigin:
		return bad("an agent, a host or a part of repo of more than %d bytes", maxOrigin)
	case m.SourcePID < 0 || m.LinesChanged != nil && *m.LinesChanged < 0:
		return bad("a number below zero")
	}
	m.Timestamp = m.Timestamp.UTC()
	return m, nil
}
