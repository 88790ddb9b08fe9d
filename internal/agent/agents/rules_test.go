package agents

import (
	"fmt"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

// The tools of other agents that touch files and addresses: a rule about the path or the address reaches each of
// them, and what is not known of an input is not allowed.
func TestRulesReachTools(t *testing.T) {
	set, err := policy.Load([]policy.Source{{Name: "mine", Layer: policy.User, Data: []byte(`version: 1
allow: ["Edit(//w/src/**)", "Read(//w/src/**)", "WebFetch(domain:go.dev)"]
deny: ["Edit(//w/secret/**)", "Read(//w/secret/**)", "WebFetch(domain:evil.example)"]
`)}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const event = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"%s","tool_input":%s}`
	const ask = `{"hookName":"permissionRequest","sessionId":"s","cwd":"/w","toolName":"%s","toolInput":%s,"permissionSuggestions":[]}`
	patch := func(lines string) string { return `{"input":"*** Begin Patch\n` + lines + `*** End Patch"}` }
	for _, x := range []struct {
		agent, tool, input string
		want               hook.Action
	}{
		{"droid", "ApplyPatch", patch(`*** Update File: /w/src/a\n@@\n-x\n+y\n`), hook.ActionAllow},
		{"droid", "ApplyPatch", patch(`*** Update File: /w/src/a\n@@\n-x\n+y\n*** Add File: /w/src/b\n+y\n`), hook.ActionAllow},
		{"droid", "ApplyPatch", patch(`*** Update File: /w/src/a\n@@\n-x\n+y\n*** Add File: /w/secret/b\n+y\n`), hook.ActionDeny},
		{"droid", "ApplyPatch", patch(`*** Delete File: /w/secret/a\n`), hook.ActionDeny},
		{"droid", "ApplyPatch", patch(`*** Update File: /w/src/a\n*** Move to: /w/secret/a\n@@\n-x\n+y\n`), hook.ActionDeny},
		{"droid", "ApplyPatch", patch(`*** Delete File: /w/src/a\n`), hook.ActionAsk},
		{"droid", "ApplyPatch", patch(`*** Update File: src/a\n@@\n-x\n+y\n`), hook.ActionAsk},
		{"droid", "ApplyPatch", patch(`*** Update File: /w/src/a\n@@\n-x\n+y\nand more\n`), hook.ActionAsk},
		{"droid", "ApplyPatch", `{"input":"*** Begin Patch\n*** Update File: /w/src/a\n@@\n+y\n*** End Patch","more":"x"}`, hook.ActionAsk},
		{"droid", "MultiEdit", `{"file_path":"/w/src/a","changes":[{"old_str":"x","new_str":"y"}]}`, hook.ActionAllow},
		{"droid", "MultiEdit", `{"file_path":"/w/secret/a","changes":[{"old_str":"x","new_str":"y"}]}`, hook.ActionDeny},
		{"droid", "MultiEdit", `{"file_path":"/w/src/a","changes":[{"old_str":"x","new_str":"y"}],"file":"/w/secret/a"}`, hook.ActionAsk},
		{"droid", "Edit", `{"file_path":"/w/secret/a","old_str":"x","new_str":"y"}`, hook.ActionDeny},
		{"droid", "Create", `{"file_path":"/w/secret/a","content":"y"}`, hook.ActionDeny},
		{"droid", "Read", `{"file_path":"/w/secret/a"}`, hook.ActionDeny},
		{"droid", "Read", `{"file_path":"/w/secret/a","image_quality":"high"}`, hook.ActionDeny},
		{"droid", "Read", `{"file_path":"/w/src/a","offset":1}`, hook.ActionAllow},
		{"droid", "Read", `{"file_path":"/w/other"}`, hook.ActionAsk},
		{"droid", "LS", `{"directory_path":"/w/secret/a"}`, hook.ActionDeny},
		{"droid", "Grep", `{"pattern":"x","path":"/w/secret/a"}`, hook.ActionDeny},
		{"droid", "Glob", `{"patterns":["*"],"folder":"/w/secret/a"}`, hook.ActionDeny},
		{"droid", "FetchUrl", `{"url":"https://evil.example/x"}`, hook.ActionDeny},
		{"droid", "Script", `{"code":"1"}`, hook.ActionAsk},
		{"copilot", "web_fetch", `{"url":"https://go.dev/x"}`, hook.ActionAllow},
		{"copilot", "web_fetch", `{"url":"https://evil.example/x","raw":true}`, hook.ActionDeny},
		{"copilot", "web_fetch", `{"url":"https://go.dev/x","proxy":"https://evil.example"}`, hook.ActionAsk},
		{"copilot", "view", `{"path":"/w/secret/a"}`, hook.ActionDeny},
	} {
		form := event
		if x.agent == "copilot" {
			form = ask
		}
		p, err := Reader(x.agent).Decode("", fmt.Appendf(nil, form, x.tool, x.input))
		if err != nil {
			t.Errorf("%s %s %s: %v", x.agent, x.tool, x.input, err)
			continue
		}
		v := set.Eval(policy.Call{Agent: x.agent, Tool: p.ToolName, Input: []byte(p.ToolInput), Cwd: "/w", Project: "/w", Home: "/home/u", Uninspectable: p.Uninspectable != ""})
		if v.Action != x.want {
			t.Errorf("%s %s %s, to rules %s %s: %s by %q (%s), want %s", x.agent, x.tool, x.input, p.ToolName, p.ToolInput, v.Action, v.Rule, v.Reason, x.want)
		}
	}
	// What does not say on what it is about is not taken for a call that rules know.
	for _, x := range [][2]string{
		{"droid", fmt.Sprintf(event, "ApplyPatch", `{"patch":"x"}`)}, {"droid", fmt.Sprintf(event, "MultiEdit", `{"changes":[]}`)}, {"copilot", fmt.Sprintf(ask, "web_fetch", `{"address":"x"}`)},
	} {
		if p, err := Reader(x[0]).Decode("", []byte(x[1])); err == nil {
			t.Errorf("%s is read as %s %s", x[1], p.ToolName, p.ToolInput)
		}
	}
}
