package schemas

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestDifferences(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"hooks/PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/","tool_name":"Bash","tool_use_id":"t"}`, "/tool_input missing"},
		{"hooks/PreToolUse", `{"hook_event_name":"PreToolUse","session_id":7,"tool_name":"Bash","tool_input":"ls","tool_use_id":"t"}`,
			"/cwd missing|/session_id expected string, but got number|/tool_input expected object, but got string"},
		{"hooks/PreToolUse", `[]`, " expected object, but got array"},
		{"hooks/PreToolUse", `{"hook_event_name":"Stop","session_id":"s","cwd":"/","tool_name":"Bash","tool_input":{},"tool_use_id":"t","more":1}`, `/hook_event_name value must be "PreToolUse"`},
		{"hooks/InstructionsLoaded", `{"hook_event_name":"InstructionsLoaded","session_id":"s","cwd":"/","trigger":"init"}`, ""},
		{"hooks/InstructionsLoaded", `{"hook_event_name":"InstructionsLoaded","session_id":"s","cwd":"/","file_path":"/f","load_reason":"compact"}`, ""},
		{"hooks/InstructionsLoaded", `{"hook_event_name":"InstructionsLoaded","session_id":"s","cwd":"/","trigger":7}`, "/trigger expected string, but got number"},
		{"NewToken", `{"role":"root","nmae":"x"}`, `/name missing|/nmae unknown|/role value must be one of "submit", "host", "view", "approve", "operate", "admin"`},
		{"NewToken", `{"role":"view","name":"x","a'b\"c/d~e\\'":1}`, `/a'b"c~1d~0e\' unknown`},
		{"RedeemPairing", `{"code":"x","publicKey":{"kty":"EC","crv":"P-384","x":"a"}}`, `/publicKey/crv value must be "P-256"|/publicKey/y missing`},
		{"PermissionResponse", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest"}}`, "/hookSpecificOutput/decision missing"},
		{"PermissionResponse", `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept"}}`, "/hookSpecificOutput/action unknown|/hookSpecificOutput/decision missing"},
		{"SaveGrant", `{"requestId":"x","inputSha256":"` + strings.Repeat("0", 64) + `","proposal":"` + strings.Repeat("0", 64) + `","expiresAt":"soon, with a secret"}`, "/expiresAt not a valid date-time"},
	} {
		v, err := decode([]byte(c.doc))
		if err != nil {
			t.Fatal(err)
		}
		found, err := Differences(c.name, v)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range found {
			got = append(got, d.Pointer+" "+d.Problem)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.name, c.doc, strings.Join(got, "|"), c.want)
		}
		if valid := Validate(c.name, []byte(c.doc)) == nil; valid != (c.want == "") {
			t.Errorf("%s %s: Validate says %v, which is not what Differences says", c.name, c.doc, valid)
		}
	}
	if _, err := Differences("hooks/Nope", map[string]any{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown schema: %v", err)
	}
	list := make([]any, 1000)
	if found, err := Differences("hooks/PostToolBatch", map[string]any{"tool_calls": list, "hook_event_name": 1}); err != nil || len(found) > 20 {
		t.Errorf("%d differences, %v", len(found), err)
	}
}

// TestHookReferenceExamples: what the hooks reference that this project was commissioned with says
// of every event is what our schemas take, with all members and with those alone that it requires.
func TestHookReferenceExamples(t *testing.T) {
	doc, err := os.ReadFile("testdata/original/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference map[string][]json.RawMessage
	if err := json.Unmarshal(doc, &reference); err != nil {
		t.Fatal(err)
	}
	if len(reference) != 18 {
		t.Errorf("%d events, want 18", len(reference))
	}
	for event, payloads := range reference {
		if len(payloads) < 1 {
			t.Errorf("%s: no payload", event)
		}
		for _, p := range payloads {
			if err := Validate("hooks/"+event, p); err != nil {
				t.Errorf("%v in %s", err, p)
			}
			var call struct {
				Tool  string          `json:"tool_name"`
				Input json.RawMessage `json:"tool_input"`
			}
			if err := json.Unmarshal(p, &call); err != nil {
				t.Fatal(err)
			}
			if err := Validate("tools/"+call.Tool, call.Input); err != nil && !errors.Is(err, ErrUnknown) {
				t.Errorf("%v in %s", err, p)
			}
		}
	}
}
