package claude

import (
	"strings"
	"testing"
)

func TestMutationTools(t *testing.T) {
	for _, c := range []struct{ list, tool, event string }{
		{"*", "Read", "tool.mutation.read"},
		{"*", "mcp__a.b__c", "tool.mutation.mcp__a_b__c"},
		{"write", "Write", "tool.mutation.write"},
		{"WRITE,Replace", "replace", "tool.mutation.replace"},
		{" Write ", "Write", "tool.mutation.write"},
		{"Write", "Edit", ""},
		{"Write", "Write2", ""},
		{"mcp__files__*", "mcp__files__move", "tool.mutation.mcp__files__move"},
		{"mcp__files__*", "mcp__file__move", ""},
		{"apply_patch", "apply_patch", "tool.mutation.apply_patch"},
	} {
		tools, err := ParseMutationTools(strings.Split(c.list, ","))
		if err != nil {
			t.Errorf("%s: %v", c.list, err)
			continue
		}
		m, ok, err := MutationOf(tools)(toolEvent("PostToolUse", `{"session_id":"s","tool_name":"`+c.tool+`","tool_input":{}}`))
		if err != nil || ok != (c.event != "") || m.EventType != c.event {
			t.Errorf("%s, %s: %q %v %v, want %q", c.list, c.tool, m.EventType, ok, err, c.event)
		}
	}
	for _, list := range [][]string{nil, {}, {""}, {"Write", ""}, {"a*b"}, {"**"}, {"*a"}, {"a b"}, {"a\x1b"}, {"a\xff"}, {strings.Repeat("x", 256)}, make([]string, 201)} {
		if _, err := ParseMutationTools(list); err == nil {
			t.Errorf("%q passes", list)
		}
	}
}

// firstForm is a document with just the members of the form that other programs write.
const firstForm = `{"event_type":"tool.mutation.write","hook_type":"post_tool_use","agent_id":"unknown",
 "repo":{"git_root":"/home/dev/shop","branch":"main","head_sha":"9fceb02d0a","remote_url":null},
 "file_path":"/home/dev/shop/a.rs","file_ext":"rs","lines_changed":12,
 "raw_payload":{"session_id":"s1","tool_name":"Write","tool_input":{"file_path":"/home/dev/shop/a.rs","content":"x"},"tool_use_id":"toolu_1"},
 "timestamp":"2026-02-06T15:04:05.123456789Z","source_pid":4711}`

func TestDecodeMutationOfTheFirstForm(t *testing.T) {
	m, err := DecodeMutation([]byte(firstForm))
	if err != nil {
		t.Fatal(err)
	}
	if m.ToolName != "write" || m.EventType != "tool.mutation.write" || m.SessionID != "s1" || m.ToolUseID != "toolu_1" || m.Host != "" || m.Repo.GitRoot != "/home/dev/shop" || *m.LinesChanged != 12 || m.SourcePID != 4711 {
		t.Errorf("%+v", m)
	}
	// The same call, as our own broker tells of it.
	own, ok, err := readMutation(toolEvent("PostToolUse", `{"session_id":"s1","tool_name":"Write","tool_input":{},"tool_use_id":"toolu_1"}`))
	if err != nil || !ok || own.EventID != m.EventID {
		t.Errorf("our own is %q, %v, want %q", own.EventID, err, m.EventID)
	}
	change := func(old, changed string) []byte {
		doc := strings.Replace(firstForm, old, changed, 1)
		if doc == firstForm {
			t.Fatalf("it has no %s", old)
		}
		return []byte(doc)
	}
	// Without a call's id a document is its own event, however often it comes.
	plain := change(`,"tool_use_id":"toolu_1"`, "")
	a, err := DecodeMutation(plain)
	if err != nil || a.EventID == m.EventID {
		t.Errorf("%+v, %v", a, err)
	}
	if b, err := DecodeMutation(plain); err != nil || b.EventID != a.EventID {
		t.Errorf("again %q, %v, want %q", b.EventID, err, a.EventID)
	}
	if c, err := DecodeMutation(change("4711", "4712")); err != nil || c.EventID != m.EventID {
		t.Errorf("another process of the same call: %q, %v", c.EventID, err)
	}
	for old, changed := range map[string]string{
		"mutation.write":          "mutation.Replace",          // any tool, in any case
		"mutation.write\"":        "mutation.mcp__x.y__z\"",    // with any characters
		`{"session_id":"s1",`:     `{"session_id":7,`,          // a payload of any form
		`"lines_changed":12`:      `"lines_changed":null`,      // what is optional
		`"file_ext":"rs"`:         `"file_ext":null`,           //
		`"remote_url":null`:       `"remote_url":"https://x"`,  //
		`05.123456789Z`:           `05+02:00`,                  // any RFC 3339
		`"tool_use_id":"toolu_1"`: `"tool_use_id":["toolu_1"]`, //
	} {
		if _, err := DecodeMutation(change(old, changed)); err != nil {
			t.Errorf("%s: %v", changed, err)
		}
	}
	if m, err := DecodeMutation(change(firstForm[strings.Index(firstForm, `{"session_id`):strings.Index(firstForm, ",\n \"timestamp")], `"text"`)); err != nil || string(m.RawPayload) != `"text"` {
		t.Errorf("a payload that is no object: %+v, %v", m, err)
	}
	for old, changed := range map[string]string{
		`"tool.mutation.write"`: `"tool.mutation."`,
		`"tool.mutation.`:       `"mutation.`,
		`"event_type"`:          `"event"`,
		`"post_tool_use"`:       `"later"`,
		`"hook_type"`:           `"hook"`,
		`"agent_id":"unknown"`:  `"agent_id":""`,
		`"raw_payload"`:         `"payload"`,
		`"timestamp"`:           `"time"`,
		`"source_pid":4711`:     `"source_pid":-1`,
		`"branch"`:              `"branch":"x","Branch"`,
		`"event_type":`:         `"event_id":"x","event_type":`, // neither the one form nor the other
	} {
		if m, err := DecodeMutation(change(old, changed)); err == nil {
			t.Errorf("%s passes: %+v", changed, m)
		}
	}
}

// readMutation is for the tools that count if nobody says otherwise.
var readMutation = MutationOf(DefaultMutationTools())
