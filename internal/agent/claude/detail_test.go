package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/hook"
)

// TestDetailOfRecorded reads what a real client sent.
func TestDetailOfRecorded(t *testing.T) {
	read := func(name string) hook.Detail {
		t.Helper()
		raw, err := os.ReadFile("../../../schemas/testdata/payloads/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		typ, _, _ := strings.Cut(name, "-")
		d := codec.Detail(typ, raw)
		if d.Problem != "" || d.NotJSON {
			t.Errorf("%s: %s", name, d.Problem)
		}
		if !reflect.DeepEqual(d, codec.Detail("", raw)) {
			t.Errorf("%s: the payload's own type does not count", name)
		}
		return d
	}
	for name, ok := range map[string]func(hook.Detail) bool{
		"SessionStart-startup": func(d hook.Detail) bool { return d.Source == "startup" && d.Model == "claude-opus-5-5" },
		"SessionEnd-clear":     func(d hook.Detail) bool { return d.Reason == "clear" },
		"UserPromptSubmit":     func(d hook.Detail) bool { return d.Prompt == "please TOOL=Bash" && d.Notice == hook.Notice{} },
		"PreToolUse": func(d hook.Detail) bool {
			return d.ToolArg == "touch /home/dev/project/out.txt" && strings.HasPrefix(d.ToolUseID, "toolu_8c12")
		},
		"PreToolUse-Agent":               func(d hook.Detail) bool { return d.ToolArg == "Sub task" },
		"PreToolUse-mcp-lab-echo":        func(d hook.Detail) bool { return strings.HasPrefix(d.ToolArg, "{") && json.Valid([]byte(d.ToolArg)) },
		"PermissionRequest-Edit":         func(d hook.Detail) bool { return d.ToolArg == "/home/dev/project/edit-me.txt" },
		"PermissionRequest-ExitPlanMode": func(d hook.Detail) bool { return d.ToolArg == "# Plan\n1. do it\n" },
		"PostToolUse": func(d hook.Detail) bool {
			return d.DurationMS == 66 && d.ResultText == "" && json.Valid(d.ToolResponse)
		},
		"PostToolUse-mcp-lab-echo": func(d hook.Detail) bool { return d.ResultText == `echo {"text":"hi","nested":{"a":1}}` },
		"PostToolUseFailure":       func(d hook.Detail) bool { return strings.HasPrefix(d.Error, "Exit code 128\n") && !d.IsInterrupt },
		"PostToolBatch": func(d hook.Detail) bool {
			return len(d.Calls) == 1 && d.Calls[0].ToolName == "Bash" && d.CallCount == 1
		},
		"Stop":        func(d hook.Detail) bool { return strings.HasPrefix(d.LastMessage, "MOCK-DONE") && !d.StopHookActive },
		"StopFailure": func(d hook.Detail) bool { return d.Error == "unknown" && d.LastMessage == "API Error: 400 mock error" },
		"SubagentStop": func(d hook.Detail) bool {
			return strings.HasSuffix(d.AgentTranscriptPath, "agent-a271e4ca1b4b2ccec.jsonl")
		},
		"Notification-idle-prompt": func(d hook.Detail) bool { return d.NotificationType == "idle_prompt" && d.Message != "" },
		"MessageDisplay":           func(d hook.Detail) bool { return d.Message == "Calling Bash." && d.Final && d.Index == 0 },
		"PreCompact":               func(d hook.Detail) bool { return d.Trigger == "manual" && d.Instructions == "focus on x" },
		"PostCompact":              func(d hook.Detail) bool { return strings.Contains(d.Summary, "summarised") },
		"PostModelSwitch":          func(d hook.Detail) bool { return d.FromModel == "claude-opus-5-5" && d.Model == "claude-sonnet-5-5" },
		"PermissionDenied": func(d hook.Detail) bool {
			return d.Reason == "Classifier unavailable" && strings.HasPrefix(d.ToolArg, "git commit")
		},
		"Elicitation": func(d hook.Detail) bool {
			return d.Server == "lab" && d.Message == "Your name?" && json.Valid(d.Schema)
		},
		"ElicitationResult": func(d hook.Detail) bool { return d.Action == "cancel" },
		"ConfigChange": func(d hook.Detail) bool {
			return strings.HasSuffix(d.Path, "settings.json") && d.Source == "project_settings"
		},
		"CwdChanged":                 func(d hook.Detail) bool { return d.OldPath == "/home/dev/project" && d.Path == "/home/dev/project/sub" },
		"FileChanged":                func(d hook.Detail) bool { return d.Change == "change" },
		"InstructionsLoaded-compact": func(d hook.Detail) bool { return d.LoadReason == "compact" && d.MemoryType == "Project" },
		"UserPromptExpansion":        func(d hook.Detail) bool { return d.Name == "mycmd" && d.Args == "foo" && d.NameType == "slash_command" },
		"PreToolUse-AskUserQuestion": func(d hook.Detail) bool { return d.ToolArg == "Which colour do you want? Which toppings?" },
		"PostToolUse-AskUserQuestion": func(d hook.Detail) bool {
			return d.ResultText == "Which colour do you want? Blue\nWhich toppings? Salt, Basil"
		},
		"UserPromptSubmit-injected": func(d hook.Detail) bool {
			return d.Notice == hook.Notice{Kind: "task_notification", TaskID: "aee9a3a522461a8d9", ToolUseID: "toolu_86f8e51fab2d79253f403e63", Status: "completed", Summary: `Agent "Sub task" finished`}
		},
	} {
		if d := read(name); !ok(d) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestToolArgNamesWhatIsMeant: a call that can be read in two ways is known by its whole input.
func TestToolArgNamesWhatIsMeant(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"ls"}`:                         "ls",
		`{"description":"x","command":"a\u0000b"}`: "a\x00b",
		`{}`:                              "",
		`{"command":7}`:                   `{"command":7}`,
		`{"command":"ls","command":"rm"}`: `{"command":"ls","command":"rm"}`,
		`{"command":"ls","COMMAND":"rm"}`: `{"command":"ls","COMMAND":"rm"}`,
		`{"Command":"rm"}`:                `{"Command":"rm"}`,
		`["ls"]`:                          "",
	} {
		if got := toolArg("Bash", []byte(in)); got != want {
			t.Errorf("Bash %s is known as %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"questions":[{"question":"A?"},{"question":"B?"}]}`: "A? B?",
		`{"questions":[{"question":"A?","Question":"B?"}]}`:   `{"questions":[{"question":"A?","Question":"B?"}]}`,
		`{"questions":"none"}`:                                `{"questions":"none"}`,
	} {
		if got := toolArg("AskUserQuestion", []byte(in)); got != want {
			t.Errorf("a question %s is known as %q, want %q", in, got, want)
		}
	}
}

func TestResultText(t *testing.T) {
	for in, want := range map[string]string{
		`"done"`: "done", `null`: "", `7`: "7",
		`{"stdout":"out\n","stderr":"err\n"}`:           "out\nerr",
		`{"stdout":"","stderr":""}`:                     "",
		`[{"type":"text","text":"a"},{"type":"image"}]`: "a",
		`[1]`:                        "[1]",
		`{"result":"a page"}`:        "a page",
		`{"file":{"content":"..."}}`: `{"file":{"content":"..."}}`,
	} {
		if got := resultText([]byte(in)); got != want {
			t.Errorf("%s reads %q, want %q", in, got, want)
		}
	}
}

func TestTodosOfTools(t *testing.T) {
	one := func(it hook.Todo) *hook.Todos { return &hook.Todos{Items: []hook.Todo{it}} }
	for name, c := range map[string]struct {
		tool, input, response string
		want                  *hook.Todos
	}{
		"a list": {"TodoWrite", `{"todos":[{"content":"a","status":"in_progress","priority":"high"},{"content":"b","status":"?"}]}`, `{}`,
			&hook.Todos{Whole: true, Items: []hook.Todo{{Text: "a", Status: "doing", Priority: "p0"}, {Text: "b"}}}},
		"no list": {"TodoWrite", `{"todos":"none"}`, `{}`, nil},
		"created": {"TaskCreate", `{"subject":"Fix it","description":"all of it"}`, `{"task":{"id":"1","subject":"Fix it"}}`,
			one(hook.Todo{ID: "1", New: true, Text: "Fix it", Details: "all of it", Status: "open"})},
		"not created": {"TaskCreate", `{"subject":"Fix it"}`, `"Error"`, nil},
		"updated": {"TaskUpdate", `{"taskId":"2","status":"in_progress","owner":"me","addBlockedBy":["1"]}`, `{"success":true}`,
			one(hook.Todo{ID: "2", Status: "doing", Owner: "me", BlockedBy: []string{"1"}})},
		"not updated": {"TaskUpdate", `{"taskId":"2","status":"completed"}`, `{"success":false}`, nil},
		"deleted":     {"TaskUpdate", `{"taskId":"2","status":"deleted"}`, `{"success":true}`, one(hook.Todo{ID: "2", Status: "removed"})},
		"listed":      {"TaskList", `{}`, `{"tasks":[{"id":"1","subject":"a","status":"completed"}]}`, one(hook.Todo{ID: "1", Text: "a", Status: "done"})},
		"another":     {"Bash", `{"todos":[]}`, `{}`, nil},
	} {
		if got := todosOfTool(c.tool, []byte(c.input), []byte(c.response)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	long := `{"todos":[` + strings.Repeat(`{"content":"a"},`, hook.MaxTodos) + `{"content":"b"}]}`
	if got := todosOfTool("TodoWrite", []byte(long), nil); len(got.Items) != hook.MaxTodos || got.More != 1 {
		t.Errorf("%d tasks and %d more", len(got.Items), got.More)
	}
}

func TestDetailSaysWhatIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		`{"tool_use_id":7}`:     "tool_use_id is not a text",
		`{"agent_id":7}`:        "agent_id is not a text",
		`{"tool_input":"ls"}`:   "tool_input is not an object",
		`{"is_interrupt":"no"}`: "is_interrupt is not true or false",
		`{"index":1.5}`:         "index is not a whole number",
		`{"prompt":null}`:       "",
	} {
		if d := codec.Detail("Stop", []byte(raw)); d.Problem != want || d.NotJSON {
			t.Errorf("%s: %q, want %q", raw, d.Problem, want)
		}
	}
	for _, raw := range []string{``, `[]`, `{`, `{"prompt":"x"} {}`} {
		if d := codec.Detail("Stop", []byte(raw)); d.Problem == "" || !d.NotJSON {
			t.Errorf("%q: %+v", raw, d)
		}
	}
	// A result that quotes a notice's own tags does not become part of the notice.
	n := taskNotice("<task-notification>\n<task-id>a</task-id>\n<result><summary>x</summary><status>failed</status></result>")
	if n != (hook.Notice{Kind: "task_notification", TaskID: "a"}) {
		t.Errorf("%+v", n)
	}
}

func FuzzDetail(f *testing.F) {
	files, err := filepath.Glob("../../../schemas/testdata/payloads/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no payloads: %v", err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("", raw)
	}
	f.Add("TaskUpdate", []byte(`{"tool_calls":[{}],"tool_response":"x","content":[1],"requested_schema":null}`))
	f.Fuzz(func(t *testing.T, event string, raw []byte) {
		d := codec.Detail(event, raw)
		for _, j := range []hook.JSON{d.ToolResponse, d.Schema, d.Content} {
			if len(j) > 0 && (!bytes.Contains(raw, j) || !json.Valid(j)) {
				t.Fatalf("%q of %q", j, raw)
			}
		}
		for _, s := range []string{d.Prompt, d.Message, d.ToolUseID, d.Error} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q of %q", s, raw)
			}
		}
		if d.NotJSON == json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			t.Fatalf("NotJSON %v of %q", d.NotJSON, raw)
		}
		if len(d.Calls) > hook.MaxCalls || d.Todos != nil && len(d.Todos.Items) > hook.MaxTodos || d.DurationMS < 0 {
			t.Fatalf("%+v", d)
		}
	})
}
