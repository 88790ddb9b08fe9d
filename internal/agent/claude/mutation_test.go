package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/schemas"
)

func toolEvent(typ, raw string) hook.Event {
	return hook.Event{
		ID: "0b6d3c1e-0f6c-4f0e-9a51-3d0d6a2f7c11", Type: typ, Agent: "claude", Raw: []byte(raw), Seq: 7,
		Time:   time.Date(2026, 11, 21, 16, 0, 0, 5, time.FixedZone("", 3600)),
		Stored: time.Date(2026, 11, 21, 15, 0, 1, 0, time.UTC),
		Origin: hook.Origin{Host: "box", PID: 42, Repo: hook.Repo{Root: "/r", Branch: "main", Head: "9f", Remote: "https://x/y"}},
	}
}

// TestMutationOfRecorded reads what a real client sent. Every document is as its schema says.
func TestMutationOfRecorded(t *testing.T) {
	recorded, err := filepath.Glob("../../../schemas/testdata/payloads/*.json")
	if err != nil || len(recorded) < 50 {
		t.Fatalf("%d recordings, %v", len(recorded), err)
	}
	got := map[string]string{}
	for _, p := range recorded {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(p), ".json")
		typ, _, _ := strings.Cut(name, "-")
		m, ok, err := readMutation(toolEvent(typ, string(raw)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !ok {
			continue
		}
		got[name] = m.HookType + " " + m.EventType
		doc, err := EncodeMutation(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("ToolMutationEvent", doc); err != nil {
			t.Errorf("%s: %v in %s", name, err, doc)
		}
		back, err := DecodeMutation(doc)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(back.RawPayload, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the payload is another one: %s", name, back.RawPayload)
		}
		m.RawPayload, back.RawPayload = nil, nil
		if !reflect.DeepEqual(m, back) {
			t.Errorf("%s: %+v came back as %+v", name, m, back)
		}
	}
	want := map[string]string{
		"PreToolUse": "pre_tool_use tool.mutation.bash", "PostToolUse": "post_tool_use tool.mutation.bash",
		"PostToolUseFailure":      "post_tool_use_failure tool.mutation.bash",
		"PreToolUse-mcp-lab-echo": "pre_tool_use tool.mutation.mcp__lab__echo", "PostToolUse-mcp-lab-echo": "post_tool_use tool.mutation.mcp__lab__echo",
		"PreToolUse-mcp-lab-elicit": "pre_tool_use tool.mutation.mcp__lab__elicit", "PostToolUse-mcp-lab-elicit": "post_tool_use tool.mutation.mcp__lab__elicit",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("mutations are %v, want %v", got, want)
	}
}

func TestMutationFields(t *testing.T) {
	for name, c := range map[string]struct {
		tool, input string
		file, ext   any
		lines       any
	}{
		"write":               {"Write", `{"file_path":"/r/src/main.rs","content":"a\nb\n"}`, "/r/src/main.rs", "rs", 2.0},
		"edit":                {"Edit", `{"file_path":"/r/a.tar.gz","old_string":"x\n\n","new_string":"one"}`, "/r/a.tar.gz", "gz", 0.0},
		"several edits":       {"MultiEdit", `{"file_path":"/r/x","edits":[{"new_string":"\n"},{"new_string":"\n\n"},{}]}`, "/r/x", nil, 3.0},
		"a notebook":          {"NotebookEdit", `{"notebook_path":"/r/n.ipynb","new_source":"a\n"}`, "/r/n.ipynb", "ipynb", 1.0},
		"a command":           {"Bash", `{"command":"rm\n-rf"}`, nil, nil, nil},
		"a path":              {"mcp__files__write", `{"path":"d/.bashrc","content":"x"}`, "d/.bashrc", nil, 0.0},
		"the first counts":    {"Write", `{"path":"b.c","file_path":"a.go","content":"\n","new_string":""}`, "a.go", "go", 0.0},
		"no text":             {"Write", `{"file_path":7,"path":"b.","content":null,"edits":{}}`, "b.", nil, nil},
		"another spelling":    {"Write", `{"File_Path":"a","CONTENT":"\n"}`, nil, nil, nil},
		"no new text at all":  {"MultiEdit", `{"edits":[{},{"new_string":3}]}`, nil, nil, nil},
		"escaped line ends":   {"Write", `{"content":"\u000a\\n"}`, nil, nil, 1.0},
		"an ending of a path": {"Write", `{"file_path":"/a.b/c"}`, "/a.b/c", nil, nil},
	} {
		m, ok, err := readMutation(toolEvent("PostToolUse", `{"session_id":"s","tool_use_id":"t","tool_name":"`+c.tool+`","tool_input":`+c.input+`}`))
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
			continue
		}
		doc, err := EncodeMutation(m)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Fatal(err)
		}
		if got["file_path"] != c.file || got["file_ext"] != c.ext || got["lines_changed"] != c.lines {
			t.Errorf("%s: %v %v %v, want %v %v %v", name, got["file_path"], got["file_ext"], got["lines_changed"], c.file, c.ext, c.lines)
		}
		if got["agent_id"] != "unknown" || got["timestamp"] != "2026-11-21T15:00:00.000000005Z" || got["source_pid"] != 42.0 || got["host"] != "box" {
			t.Errorf("%s: %s", name, doc)
		}
		if repo, _ := json.Marshal(got["repo"]); string(repo) != `{"branch":"main","git_root":"/r","head_sha":"9f","remote_url":"https://x/y"}` {
			t.Errorf("%s: repo is %s", name, repo)
		}
	}
}

// TestMutationID: one step of one call counts once, whichever way it was told.
func TestMutationID(t *testing.T) {
	id := func(e hook.Event) string {
		t.Helper()
		m, ok, err := readMutation(e)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return m.EventID
	}
	const call = `{"session_id":"s","tool_use_id":"toolu_1","tool_name":"Write","tool_input":{}}`
	first, again := toolEvent("PostToolUse", call), toolEvent("PostToolUse", call+"\n")
	again.ID = "6f1f4b52-8a0e-4f1c-8a3e-000000000000"
	if id(first) != id(again) {
		t.Error("the same step of the same call has two ids")
	}
	ids := map[string]bool{id(first): true}
	for _, e := range []hook.Event{
		toolEvent("PreToolUse", call), toolEvent("PostToolUseFailure", call),
		toolEvent("PostToolUse", `{"session_id":"s2","tool_use_id":"toolu_1","tool_name":"Write"}`),
		toolEvent("PostToolUse", `{"session_id":"s","tool_use_id":"toolu_2","tool_name":"Write"}`),
		toolEvent("PostToolUse", `{"session_id":"s\"\"toolu_1","tool_use_id":"","tool_name":"Write"}`),
		{Type: "PostToolUse", Seq: 1, Raw: []byte(`{"tool_name":"Bash"}`)}, {Type: "PostToolUse", Seq: 2, Raw: []byte(`{"tool_name":"Bash"}`)},
		{Type: "PostToolUse", ID: strings.Repeat("x", 300), Raw: []byte(`{"tool_name":"Bash"}`)},
	} {
		if ids[id(e)] {
			t.Errorf("%s %s %s has the id of another", e.Type, e.ID, e.Raw)
		}
		if ids[id(e)] = true; len(id(e)) != 36 {
			t.Errorf("the id %q is no UUID", id(e))
		}
	}
	plain := toolEvent("PreToolUse", `{"tool_name":"Bash"}`)
	if id(plain) != plain.ID {
		t.Error("an event without a tool_use_id stands for itself")
	}
}

func TestMutationRefuses(t *testing.T) {
	for _, raw := range []string{
		``, `[]`, `{"tool_name":"Write"`, `{}`, `{"tool_name":null}`, `{"tool_name":7}`, `{"tool_name":"Write","tool_input":[]}`,
		`{"tool_name":"Write","session_id":{}}`, `{"tool_name":"Write","tool_use_id":"` + strings.Repeat("x", 1025) + `"}`, "{\"tool_name\":\"Write\",\"x\":\"\xff\"}", `{"tool_name":"Write"} {}`, `{"Tool_Name":"Write"}`,
		`{"assent_oversize":{"length":9000000,"sha256":"00"},"hook_event_name":"PostToolUse"}`,
	} {
		if _, ok, err := readMutation(toolEvent("PostToolUse", raw)); ok || !errors.Is(err, agent.ErrUnreadable) {
			t.Errorf("%s: %v, %v", raw, ok, err)
		}
		if _, ok, err := readMutation(toolEvent("Stop", raw)); ok || err != nil {
			t.Errorf("%s in a Stop: %v, %v", raw, ok, err)
		}
	}
	for tool, want := range map[string]string{
		"Read": "", "Grep": "", "Task": "", "mcp": "", "WRITE": "write", "mcp__A.b#*__\u00fc c": "mcp__a_b______c",
		"mcp__" + strings.Repeat("x", 300): "mcp__" + strings.Repeat("x", hook.MaxMutationTool-5),
	} {
		got := ""
		if DefaultMutationTools().has(tool) {
			got = mutationTool(tool)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", tool, got, want)
		}
	}
}

func TestDecodeMutationRefuses(t *testing.T) {
	good, err := schemas.Example("ToolMutationEvent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeMutation(good); err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{
		`"event_id": "`:      `"event_id": "` + strings.Repeat("x", 256),
		`"event_id"`:         `"event_ids"`,
		`"post_tool_use"`:    `"later"`,
		`"tool_name": "`:     `"tool_name": "rm.`,
		`"agent_id"`:         `"agent"`,
		`"timestamp"`:        `"time"`,
		`"raw_payload"`:      `"raw"`,
		`"source_pid": `:     `"Event_Id": "x", "source_pid": `,
		`"git_root"`:         `"GIT_ROOT": "/etc", "git_root"`,
		`"source_pid": 4711`: `"source_pid": "x"`,
		`"source_pid": 47`:   `"source_pid": -47`,
		`"session_id": "`:    `"session_id": "` + strings.Repeat("x", 1025),
		`"agent_id": "`:      `"agent_id": "` + strings.Repeat("x", 4097),
		`"host": "`:          `"host": "` + strings.Repeat("x", 4097),
		`"git_root": "`:      `"git_root": "/` + strings.Repeat("x", 4097),
		`"branch": "`:        `"branch": "` + strings.Repeat("x", 4097),
		`"head_sha": "`:      `"head_sha": "` + strings.Repeat("x", 4097),
		`"2026-11-21T`:       `"0000-11-21T`,
		`"raw_payload": {`:   `"raw_payload": [], "x": {`,
		`"file_path": "`:     "\"file_path\": \"\xff",
	} {
		doc := bytes.Replace(good, []byte(old), []byte(changed), 1)
		if bytes.Equal(doc, good) {
			t.Fatalf("the example has no %s", old)
		}
		if m, err := DecodeMutation(doc); !errors.Is(err, agent.ErrUnreadable) {
			t.Errorf("%s: %+v, %v", changed, m, err)
		}
	}
}

// FuzzMutation: whatever comes, what is passed on is as its schema says and can be read back.
func FuzzMutation(f *testing.F) {
	f.Add("PostToolUse", `{"session_id":"s","tool_use_id":"t","tool_name":"Write","tool_input":{"file_path":"a","content":"\n"}}`, "box")
	f.Add("PreToolUse", `{"tool_name":"mcp__a.b__c","tool_input":{"edits":[{"new_string":"\n"}]}}`, "\xff")
	f.Fuzz(func(t *testing.T, typ, raw, host string) {
		e := toolEvent(typ, raw)
		e.Origin.Host = host
		m, ok, err := readMutation(e)
		if err != nil || !ok {
			return
		}
		doc, err := EncodeMutation(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("ToolMutationEvent", doc); err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		back, err := DecodeMutation(doc)
		if err != nil || back.EventID != m.EventID {
			t.Fatalf("%s came back as %q, %v", doc, back.EventID, err)
		}
	})
}
