package codex

import (
	"errors"
	"strings"
	"testing"

	"assent/internal/agent"
	"assent/internal/hook"
)

const base = `"session_id":"s","cwd":"/p","hook_event_name":"PermissionRequest","permission_mode":"default"`

// What is not as Codex's contract says is an error, so that nobody is asked about a guess.
func TestOffContract(t *testing.T) {
	for name, raw := range map[string]string{
		"no command":              `{` + base + `,"tool_name":"Bash","tool_input":{"cmd":"ls"}}`,
		"a command in words":      `{` + base + `,"tool_name":"Bash","tool_input":{"command":["ls"]}}`,
		"no input":                `{` + base + `,"tool_name":"Bash"}`,
		"a patch by another name": `{` + base + `,"tool_name":"apply_patch","tool_input":{"patch":"x"}}`,
		"an input that is text":   `{` + base + `,"tool_name":"Bash","tool_input":"ls"}`,
		"no JSON":                 `{` + base,
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := New().Decode("", []byte(raw)); !errors.Is(err, agent.ErrUnreadable) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	for name, raw := range map[string]string{
		"two commands": `{` + base + `,"tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}`,
		"two tools":    `{` + base + `,"tool_name":"Bash","tool_name":"x","tool_input":{"command":"ls"}}`,
		"another case": `{` + base + `,"tool_name":"Bash","Tool_Input":{},"tool_input":{"command":"ls"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := New().Decode("", []byte(raw)); err != nil || p.Uninspectable == "" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// Nothing is ever written that Codex would take for a failed hook, whatever tool is asked about.
func TestEncodeIsStrict(t *testing.T) {
	for _, tool := range []string{"Bash", "apply_patch", "ExitPlanMode", "AskUserQuestion", "mcp__a__b"} {
		r := &hook.Request{Agent: Name, ToolName: tool, ToolInput: hook.JSON(`{"command":"x"}`), Suggestions: hook.JSON(`[{"type":"toolAlwaysAllow"}]`)}
		out, err := New().Encode(hook.Decision{Behavior: hook.BehaviorAllow}, r)
		if want := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`; err != nil || string(out) != want {
			t.Errorf("%s: %s, %v", tool, out, err)
		}
		for field, d := range map[string]hook.Decision{
			"interrupt":          {Behavior: hook.BehaviorDeny, Interrupt: true},
			"updatedInput":       {Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(`{"command":"x"}`)},
			"updatedPermissions": {Behavior: hook.BehaviorAllow, UpdatedPermissions: hook.JSON(`[]`)},
			"message":            {Behavior: hook.BehaviorAllow, Message: "go on"},
			"behavior":           {Behavior: "ask"},
		} {
			var bad *hook.FieldError
			if out, err := New().Encode(d, r); !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%s, %s: %s, %v", tool, field, out, err)
			}
		}
	}
	if New().Rewrites() {
		t.Error("no command of Codex can run contained: it takes no other input")
	}
}

// A patch is told by its files, and with all its text.
func TestDescribe(t *testing.T) {
	const text = `*** Begin Patch\n*** Add File: /p/new\u202e.txt\n+hello\n*** Update File: /p/old.txt\n@@\n-one\n+two\n*** Delete File: /p/gone\n*** End Patch`
	verb, fields := New().Describe("apply_patch", []byte(`{"command":"`+text+`","more":1}`))
	if verb != "Add new⟦U+202E⟧.txt, edit old.txt, delete gone" {
		t.Error(verb)
	}
	if len(fields) != 3 || fields[0].Text != "add /p/new⟦U+202E⟧.txt\nupdate /p/old.txt\ndelete /p/gone" || !strings.Contains(fields[1].Text, "+hello") || fields[2].Name != "more" {
		t.Errorf("%+v", fields)
	}
	if verb, _ := New().Describe("apply_patch", []byte(`{"command":"rm"}`)); verb != "Apply a patch that names no file" {
		t.Error(verb)
	}
	many := strings.Repeat(`*** Add File: /p/a\n+x\n`, 5)
	if verb, _ := New().Describe("apply_patch", []byte(`{"command":"`+many+`"}`)); verb != "Add a, add a, and 3 more" {
		t.Error(verb)
	}
	if verb, fields := New().Describe("Bash", []byte(`{"command":"ls"}`)); verb != "Run a command" || len(fields) != 1 {
		t.Error(verb, fields)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{`+base+`,"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}}`, "")
	f.Add(`{"x":[`, "PermissionRequest")
	f.Fuzz(func(t *testing.T, raw, event string) {
		a := New()
		p, err := a.Decode(event, []byte(raw))
		a.Detail(event, []byte(raw))
		if p.ToolInput != nil && err == nil {
			if verb, fields := a.Describe(p.ToolName, p.ToolInput); verb == "" || fields == nil {
				t.Error("not described")
			}
		}
	})
}
