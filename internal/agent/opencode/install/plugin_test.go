package install

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// driver calls the plugin as the agent does, and prints what the plugin posts.
const driver = `import { readFileSync } from "node:fs"
const [plugin, directory, steps] = process.argv.slice(2)
const { Assent } = await import(plugin)
const post = async (o) => console.log(JSON.stringify([o.url, o.body]))
const p = await Assent({ client: { _client: { post } }, directory })
for (const [name, ...args] of JSON.parse(readFileSync(steps, "utf8"))) await p[name](...args)
`

// recorded reads what was recorded of an agent.
func recorded(t *testing.T, agent, file string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../agents/testdata", agent, file))
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The plugin makes of the events that real agents sent what the hook was recorded to get, and answers each decision
// by the agent's API.
func TestPlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	const shape = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":`
	for _, agent := range []string{"opencode", "kilo"} {
		asked := func(name string) map[string]any { return recorded(t, agent, "api/"+name+".json") }
		id := func(event map[string]any) string { return event["properties"].(map[string]any)["id"].(string) }
		created := asked("session.created-subagent")
		subagent := created["properties"].(map[string]any)["sessionID"]
		before := func(payload, tool string, members ...string) []any {
			all, args := recorded(t, agent, payload), map[string]any{}
			for _, m := range members {
				args[m] = all["tool_input"].(map[string]any)[m]
			}
			return []any{"tool.execute.before", map[string]any{"tool": tool, "sessionID": all["session_id"], "callID": all["tool_use_id"]}, map[string]any{"args": args}}
		}
		shell := before("PermissionRequest-shell.json", "bash", "command", "description")
		event := func(e map[string]any) []any { return []any{"event", map[string]any{"event": e}} }
		for _, x := range []struct {
			name    string
			steps   []any
			payload string // as recorded
			answer  string // the hook's
			posts   string
		}{
			{"allow", []any{shell, event(asked("permission.asked-shell"))}, "PermissionRequest-shell.json", shape + `{"behavior":"allow"}}}`,
				`["/permission/` + id(asked("permission.asked-shell")) + `/reply",{"reply":"once"}]`},
			{"always", []any{shell, event(asked("permission.asked-shell"))}, "PermissionRequest-shell.json", shape + `{"behavior":"allow","updatedPermissions":["touch *"]}}}`,
				`["/permission/` + id(asked("permission.asked-shell")) + `/reply",{"reply":"always"}]`},
			{"deny", []any{before("PermissionRequest-write.json", "write", "filePath", "content"), event(asked("permission.asked-write"))}, "PermissionRequest-write.json", shape + `{"behavior":"deny","message":"no <x>"}}}`,
				`["/permission/` + id(asked("permission.asked-write")) + `/reply",{"reply":"reject","message":"no <x>"}]`},
			{"nothing said", []any{shell, event(asked("permission.asked-shell"))}, "PermissionRequest-shell.json", "", ""},
			{"answered in its prompt meanwhile", []any{shell, event(asked("permission.asked-shell")), event(asked("permission.replied-shell"))}, "", shape + `{"behavior":"allow"}}}`, ""},
			{"question", []any{event(asked("question.asked-question"))}, "PermissionRequest-question.json", shape + `{"behavior":"allow","updatedInput":{"answers":{"Which color?":"Blue"}}}}}`,
				`["/question/` + id(asked("question.asked-question")) + `/reply",{"answers":[["Blue"]]}]`},
			{"question refused", []any{event(asked("question.asked-question"))}, "PermissionRequest-question.json", shape + `{"behavior":"deny"}}}`,
				`["/question/` + id(asked("question.asked-question")) + `/reject",{}]`},
			{"the end of a subagent", []any{event(created), event(map[string]any{"type": "session.idle", "properties": map[string]any{"sessionID": subagent}})}, "SubagentStop-subagent.json", "", ""},
			{"the end of a turn", []any{event(asked("session.created-shell")), event(asked("session.idle-shell"))}, "Stop-shell.json", "", ""},
		} {
			t.Run(agent+"/"+x.name, func(t *testing.T) {
				dir := t.TempDir()
				put := func(name, text string, mode os.FileMode) string {
					path := filepath.Join(dir, name)
					if err := os.WriteFile(path, []byte(text), mode); err != nil {
						t.Fatal(err)
					}
					return path
				}
				put("answer", x.answer, 0o600)
				hook := put("hook", "#!/bin/sh\ncat > \"$1/got.$$\"\ncat \"$1/answer\"\n", 0o700)
				steps, err := json.Marshal(x.steps)
				if err != nil {
					t.Fatal(err)
				}
				o, err := Options(agent, agent, func(string) string { return dir }, dir, []string{hook, dir}, false)
				if err != nil {
					t.Fatal(err)
				}
				put("package.json", `{"type":"module"}`, 0o600)
				cmd := exec.CommandContext(t.Context(), node, put("driver.js", driver, 0o600), put("assent.js", string(o.Format.Whole), 0o600), dir, put("steps", string(steps), 0o600))
				out, err := cmd.CombinedOutput()
				if posts := strings.TrimSpace(string(out)); err != nil || posts != x.posts {
					t.Errorf("%v\nposted %s\nwant   %s", err, posts, x.posts)
				}
				if x.payload == "" {
					return
				}
				want := recorded(t, agent, x.payload)
				want["cwd"] = dir
				files, err := filepath.Glob(filepath.Join(dir, "got.*"))
				if err != nil {
					t.Fatal(err)
				}
				var got map[string]any
				for _, file := range files {
					var m map[string]any
					b, err := os.ReadFile(file)
					if err == nil {
						err = json.Unmarshal(b, &m)
					}
					if err != nil {
						t.Fatal(err)
					}
					if m["hook_event_name"] == want["hook_event_name"] {
						got = m
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("the hook got\n%v\nwant\n%v", got, want)
				}
			})
		}
	}
}
