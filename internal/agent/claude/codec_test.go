package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

var codec Agent

const bash = `{"session_id":"s1","hook_event_name":"PermissionRequest","cwd":"/p","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls -la"},"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}`

func TestDecodeReadsExactly(t *testing.T) {
	p, err := codec.Decode("", []byte(bash))
	if err != nil {
		t.Fatal(err)
	}
	if p.Type != "PermissionRequest" || p.SessionID != "s1" || p.ToolName != "Bash" || p.CWD != "/p" || p.PermissionMode != "default" {
		t.Errorf("read %+v", p)
	}
	if string(p.ToolInput) != `{"command":"ls -la"}` || p.InputSHA256 != digest.Of([]byte(`{"command":"ls -la"}`)) {
		t.Errorf("input %s digest %s", p.ToolInput, p.InputSHA256)
	}
	if p.Uninspectable != "" {
		t.Errorf("uninspectable: %s", p.Uninspectable)
	}
	if p, _ := codec.Decode("Stop", []byte(bash)); p.Type != "Stop" {
		t.Errorf("the registered event must win, got %q", p.Type)
	}
}

func TestDecodeRefusesToGuess(t *testing.T) {
	whole := func(raw string) string { return digest.Of([]byte(raw)) }
	for name, raw := range map[string]string{
		"repeated in the input":      `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf ~","command":"ls"}}`,
		"case-varied in the input":   `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf ~","COMMAND":"ls"}}`,
		"escaped to the same name":   `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf ~","c\u006fmmand":"ls"}}`,
		"kelvin sign":                `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"k":1,"\u212a":2}}`,
		"deep inside an array":       `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":[{"b":[{"c":1,"C":2}]}]}}`,
		"after a nested object":      `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":{"b":1},"z":[1,{}],"A":2}}`,
		"invalid UTF-8":              "{\"session_id\":\"s\",\"hook_event_name\":\"PermissionRequest\",\"tool_name\":\"X\",\"tool_input\":{\"a\":\"\xff\"}}",
		"another spelling of a name": `{"session_id":"s","Session_ID":"t","hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{}}`,
	} {
		p, err := codec.Decode("", []byte(raw))
		if err != nil || p.Uninspectable == "" {
			t.Errorf("%s: err %v, uninspectable %q", name, err, p.Uninspectable)
		}
	}
	for name, raw := range map[string]string{
		"tool_input absent":   `{"hook_event_name":"PermissionRequest","tool_name":"X"}`,
		"tool_input repeated": `{"hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":1},"tool_input":{"a":2}}`,
		"tool_input varied":   `{"hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":1},"Tool_Input":{"a":2}}`,
	} {
		p, _ := codec.Decode("", []byte(raw))
		if p.InputSHA256 != whole(raw) {
			t.Errorf("%s: the digest must be the whole payload's", name)
		}
	}
	for name, raw := range map[string]string{
		"not JSON":      `hello`,
		"empty":         ``,
		"an array":      `[]`,
		"two objects":   `{} {}`,
		"cut off":       `{"session_id":"s","tool_name":"Ba`,
		"session a num": `{"session_id":5}`,
		"tool a list":   `{"session_id":"s","tool_name":["Bash"]}`,
		"a long id":     `{"session_id":"` + strings.Repeat("s", 1025) + `","tool_name":"Bash","tool_input":{}}`,
		"input a text":  `{"session_id":"s","tool_name":"Bash","tool_input":"ls"}`,
		"300 levels":    `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"X","tool_input":{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`,
		"20,000 levels": strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		if _, err := codec.Decode("", []byte(raw)); !errors.Is(err, agent.ErrUnreadable) {
			t.Errorf("%s: err %v, want ErrUnreadable", name, err)
		}
	}
	p, err := codec.Decode("", []byte(`{"session_id":5,"hook_event_name":"Stop","cwd":"/p"}`))
	if err == nil || p.Type != "Stop" || p.CWD != "/p" {
		t.Errorf("what is readable must be read: %+v, %v", p, err)
	}
}

// What breaks off belongs to the session it names, and proves nothing about its calls.
func TestDecodeFilesWhatIsBroken(t *testing.T) {
	for raw, want := range map[string]string{
		`{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"`: "s",
		`{"session_id":"s","tool_name":"Bash","tool_input":{}} more`:        "s",
		`{"session_id":7,"tool_name":"Bash"`:                                "",
		`{"session_id":"` + strings.Repeat("x", 2000) + `",`:                "",
		`{"tool_input":{"session_id":"inner"},`:                             "",
	} {
		p, err := codec.Decode("PostToolUse", []byte(raw))
		if !errors.Is(err, agent.ErrUnreadable) || p.SessionID != want || p.CallKey != "" || p.ToolName != "" {
			t.Errorf("%.60s: %+v, %v", raw, p, err)
		}
	}
}

func TestCallKey(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":[true,null]}`, `{ "b" : [true, null], "a":1 }`},
		{`{"a":"\u0041"}`, `{"a":"A"}`},
		{`{"n":12345678901234567890123}`, `{"n":12345678901234567890123}`},
	}
	for _, c := range same {
		if CallKey("T", []byte(c[0])) != CallKey("T", []byte(c[1])) {
			t.Errorf("%s and %s must be the same call", c[0], c[1])
		}
	}
	differ := [][2]string{
		{`{"a":1}`, `{"a":1.0}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{}`, `{"a":null}`},
		{`{"n":12345678901234567890123}`, `{"n":12345678901234567890124}`},
	}
	for _, c := range differ {
		if CallKey("T", []byte(c[0])) == CallKey("T", []byte(c[1])) {
			t.Errorf("%s and %s must be different calls", c[0], c[1])
		}
	}
	if CallKey("A", []byte(`{}`)) == CallKey("B", []byte(`{}`)) {
		t.Error("the tool counts")
	}
	if k := CallKey("A", []byte(`{`)); k != "" {
		t.Errorf("no JSON has no key, got %q", k)
	}
	asked := `{"questions":[{"question":"Q?"}]}`
	if CallKey("AskUserQuestion", []byte(asked)) != CallKey("AskUserQuestion", []byte(`{"questions":[{"question":"Q?"}],"answers":{"Q?":"A"}}`)) {
		t.Error("an answered question is the same call")
	}
}

func TestEncodeClaude(t *testing.T) {
	const open = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{`
	for name, c := range map[string]struct {
		d    hook.Decision
		tool string
		want string
	}{
		"allow":       {hook.Decision{Behavior: "allow"}, "Bash", `"behavior":"allow"`},
		"deny":        {hook.Decision{Behavior: "deny"}, "Bash", `"behavior":"deny"`},
		"deny, words": {hook.Decision{Behavior: "deny", Message: "not <on> a \"Friday\" & so\n"}, "Bash", `"behavior":"deny","message":"not <on> a \"Friday\" & so\n"`},
		"interrupt":   {hook.Decision{Behavior: "deny", Message: "stop", Interrupt: true}, "Bash", `"behavior":"deny","message":"stop","interrupt":true`},
		"input":       {hook.Decision{Behavior: "allow", UpdatedInput: hook.JSON(`{ "command": "ls" }`)}, "Bash", `"behavior":"allow","updatedInput":{"command":"ls"}`},
		"plan":        {hook.Decision{Behavior: "allow"}, "ExitPlanMode", `"behavior":"allow","updatedInput":{}`},
		"always": {hook.Decision{Behavior: "allow", UpdatedPermissions: hook.JSON(`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls:*"}],"behavior":"allow","destination":"session"}]`)}, "Bash",
			`"behavior":"allow","updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls:*"}],"behavior":"allow","destination":"session"}]`},
	} {
		got, err := codec.Encode(c.d, &hook.Request{ToolName: c.tool, ToolInput: hook.JSON(`{}`)})
		if err != nil || string(got) != open+c.want+"}}}" {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, open+c.want+"}}}")
		}
	}
}

func TestCheckDecisionNamesTheField(t *testing.T) {
	q := &hook.Request{ToolName: "AskUserQuestion", ToolInput: hook.JSON(`{"questions":[{"question":"Q?"}]}`)}
	b := &hook.Request{ToolName: "Bash", ToolInput: hook.JSON(`{}`), Suggestions: hook.JSON(`[{"type":"toolAlwaysAllow","tool":"Bash"}]`)}
	ls := &hook.Request{ToolName: "Bash", ToolInput: hook.JSON(`{"command":"ls"}`)}
	for name, c := range map[string]struct {
		r     *hook.Request
		d     string
		field string
	}{
		"no behavior":            {b, `{}`, "behavior"},
		"maybe":                  {b, `{"behavior":"maybe"}`, "behavior"},
		"allow with words":       {b, `{"behavior":"allow","message":"x"}`, "message"},
		"allow and interrupt":    {b, `{"behavior":"allow","interrupt":true}`, "interrupt"},
		"deny with input":        {b, `{"behavior":"deny","updatedInput":{}}`, "updatedInput"},
		"input no object":        {b, `{"behavior":"allow","updatedInput":[]}`, "updatedInput"},
		"input ambiguous":        {b, `{"behavior":"allow","updatedInput":{"command":"ls","Command":"rm"}}`, "updatedInput"},
		"command as a list":      {ls, `{"behavior":"allow","updatedInput":{"command":["git","push","-f"]}}`, "updatedInput"},
		"command as a number":    {ls, `{"behavior":"allow","updatedInput":{"command":1}}`, "updatedInput"},
		"command in capitals":    {ls, `{"behavior":"allow","updatedInput":{"COMMAND":"ls"}}`, "updatedInput"},
		"question plainly":       {q, `{"behavior":"allow"}`, "updatedInput"},
		"question, no answers":   {q, `{"behavior":"allow","updatedInput":{"questions":[{"question":"Q?"}]}}`, "updatedInput"},
		"question, other one":    {q, `{"behavior":"allow","updatedInput":{"questions":[{"question":"R?"}],"answers":{"R?":"x"}}}`, "updatedInput"},
		"updates no array":       {b, `{"behavior":"allow","updatedPermissions":{}}`, "updatedPermissions"},
		"update unknown":         {b, `{"behavior":"allow","updatedPermissions":[{"type":"x","destination":"session"}]}`, "updatedPermissions[0]"},
		"update case-varied":     {b, `{"behavior":"allow","updatedPermissions":[{"Type":"setMode","mode":"plan","destination":"session"}]}`, "updatedPermissions[0]"},
		"update, bad mode":       {b, `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"x","destination":"session"}]}`, "updatedPermissions[0]"},
		"update, no destination": {b, `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan"}]}`, "updatedPermissions[0]"},
		"rule without tool":      {b, `{"behavior":"allow","updatedPermissions":[{"type":"addRules","rules":[{"ruleContent":"x"}],"behavior":"allow","destination":"session"}]}`, "updatedPermissions[0]"},
		"old entry not offered":  {b, `{"behavior":"allow","updatedPermissions":[{"type":"toolAlwaysAllow","tool":"Write"}]}`, "updatedPermissions[0]"},
	} {
		var d hook.Decision
		if err := json.Unmarshal([]byte(c.d), &d); err != nil {
			t.Fatal(name, err)
		}
		var fe *hook.FieldError
		if err := codec.Check(d, c.r); !errors.As(err, &fe) || fe.Field != c.field {
			t.Errorf("%s: %v, want a complaint about %s", name, err, c.field)
		}
		if out, err := codec.Encode(d, c.r); err == nil {
			t.Errorf("%s: encoded %s", name, out)
		}
	}
	good := hook.Decision{Behavior: "allow", UpdatedPermissions: b.Suggestions}
	if err := codec.Check(good, b); err != nil {
		t.Errorf("the agent's own suggestion: %v", err)
	}
	answered := hook.Decision{Behavior: "allow", UpdatedInput: hook.JSON(`{"questions":[{"question":"Q?"}],"answers":{"Q?":"A"}}`)}
	if err := codec.Check(answered, q); err != nil {
		t.Errorf("an answered question: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(bash))
	f.Add([]byte(`{"tool_input":{"a":1},"Tool_Input":{}}`))
	f.Add([]byte(`{"a":[{"b":1,"B":2}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := codec.Decode("", raw)
		if err == nil && !json.Valid(raw) {
			t.Fatalf("accepted what is not JSON: %q", raw)
		}
		if p.ToolInput != nil && !bytes.Contains(raw, p.ToolInput) {
			t.Fatalf("tool_input is no part of the payload: %q in %q", p.ToolInput, raw)
		}
		if p.InputSHA256 != digest.Of(raw) && p.InputSHA256 != digest.Of(p.ToolInput) {
			t.Fatalf("digest of neither: %q", raw)
		}
	})
}

func FuzzCheckDecision(f *testing.F) {
	f.Add([]byte(`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]}`))
	f.Add([]byte(`{"behavior":"deny","message":"x"}`))
	r := &hook.Request{ToolName: "Bash", ToolInput: hook.JSON(`{"command":"ls"}`)}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d hook.Decision
		if json.Unmarshal(raw, &d) != nil || codec.Check(d, r) != nil {
			return
		}
		out, err := codec.Encode(d, r)
		if err != nil {
			t.Fatalf("checked but not encoded: %v", err)
		}
		var back struct {
			HookSpecificOutput struct {
				Decision struct{ Behavior string }
			}
		}
		if err := json.Unmarshal(out, &back); err != nil || back.HookSpecificOutput.Decision.Behavior != string(d.Behavior) {
			t.Fatalf("%s decodes as %+v, %v", out, back, err)
		}
	})
}
