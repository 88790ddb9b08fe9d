package importer

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

func TestQwenSettings(t *testing.T) {
	const allow, ask, deny = "allow", "ask", "deny"
	for _, c := range []struct {
		key string // action and the text of one permission
		b   becomes
	}{
		{allow, becomes{"Bash(git status)", allow, Changed, []string{"Bash(git status:*)"}, allow, ""}},
		{allow, becomes{"ShellTool(npm run *)", allow, Changed, []string{"Bash(npm run *)"}, allow, ""}},
		{allow, becomes{"run_shell_command(git:*)", allow, Changed, []string{"Bash(git *)"}, allow, ""}},
		{allow, becomes{"Bash(git * main)", allow, Changed, []string{"Bash(git * main)"}, allow, ""}},
		{allow, becomes{"Bash(ls | wc -l)", allow, Left, nil, "", "characters"}},
		{allow, becomes{"Bash", allow, Left, nil, "", "must name a program"}},
		{allow, becomes{"Bash(*)", allow, Left, nil, "", "must name a program"}},
		{allow, becomes{"Bash(g*)", allow, Left, nil, "", "must name a program"}},
		{allow, becomes{"Bash(git status", allow, Left, nil, "", "no ) at the end"}},
		{allow, becomes{"Monitor", allow, Left, nil, "", "any command"}},
		{allow, becomes{"Monitor(make)", allow, Left, nil, "", "no rule here"}},
		{allow, becomes{"Read(./src/**)", allow, Changed, []string{"Read(./src/**)"}, allow, ""}},
		{allow, becomes{"Read(/src/**)", allow, Changed, []string{"Read(./src/**)"}, allow, ""}},
		{allow, becomes{"Edit(//opt/x/**)", allow, Changed, []string{"Edit(//opt/x/**)"}, allow, ""}},
		{allow, becomes{"Edit(*)", allow, Changed, []string{"Edit(./*)"}, allow, ""}},
		{allow, becomes{"Bash( git push )", allow, Left, nil, "", "spaces"}},
		{deny, becomes{"Bash( git push )", deny, Changed, []string{"Bash(git push:*)"}, deny, ""}},
		{deny, becomes{"Edit(docs/**/**)", deny, Changed, []string{"Edit(docs/**)"}, deny, ""}},
		{allow, becomes{"Edit(docs/)", allow, Left, nil, "", "something else"}},
		{allow, becomes{"Edit(!(a).go)", allow, Left, nil, "", "something else"}},
		{allow, becomes{"Edit(a**b)", allow, Left, nil, "", "something else"}},
		{allow, becomes{"Edit(../x)", allow, Left, nil, "", "something else"}},
		{allow, becomes{"Grep(src/**)", allow, Left, nil, "", "allow more"}},
		{allow, becomes{"write_file(/docs/*.md)", allow, Changed, []string{`{"id":"imported-1","action":"allow","match":{"file":{"op":"write","path":"${project}/docs/*.md"}}}`}, "rules", ""}},
		{allow, becomes{"WebFetch(Example.com)", allow, Changed, []string{"WebFetch(domain:Example.com)", "WebFetch(domain:*.Example.com)"}, allow, ""}},
		{allow, becomes{"WebFetch(*.example.com)", allow, Left, nil, "", "no * in a host"}},
		{allow, becomes{"Agent(Explore)", allow, Changed, []string{"Agent(Explore)"}, allow, ""}},
		{allow, becomes{"Skill(a:b)", allow, Left, nil, "", "no rule here"}},
		{allow, becomes{"Agent(model:opus)", allow, Left, nil, "", "no rule here"}},
		{allow, becomes{"mcp__github__get_*", allow, Changed, []string{"mcp__github__get_*"}, allow, ""}},
		{allow, becomes{"mcp__git*", allow, Left, nil, "", "in full"}},
		{allow, becomes{"mcp__github(x)", allow, Left, nil, "", "no rule here"}},
		{allow, becomes{"web_search", allow, Changed, []string{"WebSearch"}, allow, ""}},
		{allow, becomes{"save_memory", allow, Left, nil, "", "not known"}},
		{deny, becomes{"Bash(rm -rf)", deny, Changed, []string{"Bash(rm -rf:*)"}, deny, ""}},
		{deny, becomes{"Bash", deny, Changed, []string{"Bash", "Monitor"}, deny, ""}},
		{deny, becomes{"Bash(curl * | sh)", deny, Changed, []string{"Bash(curl:*)"}, ask, "asked about instead"}},
		{deny, becomes{"Bash(rm *", deny, Changed, []string{"Bash"}, ask, "no ) at the end"}},
		{deny, becomes{"Read()", deny, Changed, []string{"Read", "LS", "Glob", "Grep"}, deny, ""}},
		{deny, becomes{"Read(.env)", deny, Changed, []string{"Read(.env)"}, deny, ""}},
		{deny, becomes{"grep_search(secrets/**)", deny, Changed, []string{"Read(secrets/**)"}, deny, ""}},
		{deny, becomes{"WriteFile(/x)", deny, Changed, []string{"Edit(./x)"}, deny, ""}},
		{deny, becomes{"WebFetch(domain:evil.com)", deny, Changed, []string{"WebFetch(domain:evil.com)"}, deny, ""}},
		{deny, becomes{"WebFetch(https://evil.com/)", deny, Changed, []string{"WebFetch"}, ask, "asked about instead"}},
		{deny, becomes{"Agent(model:opus)", deny, Changed, []string{"Agent(model:opus)"}, deny, ""}},
		{deny, becomes{"Agent(model:opus,isolation:none)", deny, Changed, []string{"Agent"}, ask, "asked about instead"}},
		{deny, becomes{"mcp__github__x(a:b)", deny, Changed, []string{"mcp__github__x"}, ask, "asked about instead"}},
		{deny, becomes{"save_memory", deny, Changed, []string{"save_memory"}, deny, ""}},
		{ask, becomes{"Edit", ask, Changed, []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}, ask, ""}},
		{ask, becomes{"Bash(git push *)", ask, Changed, []string{"Bash(git push *)"}, ask, ""}},
	} {
		t.Run(c.key+" "+c.b.text, func(t *testing.T) {
			text, err := json.Marshal(map[string]any{"permissions": map[string]any{c.key: []string{c.b.text}}})
			if err != nil {
				t.Fatal(err)
			}
			c.b.text = string(text)
			check(t, FromQwen, "settings.json", c.b)
		})
	}
}

// What of Qwen Code's settings is no list of rules, older, or about servers, is carried over or named.
func TestQwenOtherSettings(t *testing.T) {
	m, err := imported(t, FromQwen, "settings.json", `{ // of a person
		"permissions": {"autoMode": {"hints": {}}}, "tools": {"allowed": ["Bash(ls)"], "exclude": ["web_fetch"], "disabled": ["ShellTool(rm)"], "core": ["Bash"], "approvalMode": "yolo"},
		"excludeTools": ["Edit"], "allowedTools": ["Glob"], "mcp": {"excluded": ["bad"]}, "mcpServers": {"gh": {"trust": true, "excludeTools": ["del", "a b"]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range m.Entries {
		got = append(got, e.Action+" "+e.Under+" "+strings.Join(e.As, "+"))
	}
	slices.Sort(got)
	want := []string{
		"allow allow Bash(ls:*)", "allow allow Glob", "deny ask mcp__gh", "deny deny Bash(rm:*)", "deny deny Write+Edit+MultiEdit+NotebookEdit", "deny deny WebFetch", "deny deny mcp__bad",
		"deny deny mcp__gh__del", "mcpServers.gh.trust  ", "permissions.autoMode  ", "tools.approvalMode  ", "tools.core  ",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	file(t, m)
}

// Beside a denial that cannot be read nothing is allowed.
func TestNothingAllowedBesideALostDenial(t *testing.T) {
	for _, c := range []struct{ agent, name, text string }{
		{FromQwen, "settings.json", `{"permissions":{"allow":["Bash(ls)"],"deny":"Bash(rm)"}}`},
		{FromQwen, "settings.json", `{"permissions":{"allow":["Bash(ls)"],"deny":[{"tool":"Bash"}]}}`},
		{FromQwen, "settings.json", `{"permissions":{"allow":["Bash(ls)"]},"tools":[1]}`},
		{FromCopilot, "settings.json", `{"allowedUrls":["go.dev"],"deniedUrls":{"a":1}}`},
		{FromCopilot, "run.sh", `copilot --allow-tool 'shell(ls)' --deny-tool "$X"`},
		{FromCopilot, "run.sh", `copilot --allow-tool 'shell(ls)' --deny-tool 'shell(rm'`},
		{FromCopilot, "run.sh", `copilot --allow-tool 'shell(ls)' $FLAGS`},
	} {
		m, err := readEverywhere(t, c.agent, c.name, c.text)
		if err != nil {
			t.Fatal(c.text, err)
		}
		seen := false
		for _, e := range m.Entries {
			seen = seen || e.Action == "allow"
			if e.Action == "allow" && e.State != Left {
				t.Errorf("%s: %+v", c.text, e)
			}
		}
		if !seen {
			t.Errorf("%s: nothing that allows: %+v", c.text, m.Entries)
		}
	}
}

// What lies in a checkout may tighten and not loosen, whichever agent's it is.
func TestCheckouts(t *testing.T) {
	for _, c := range []struct{ agent, name, text string }{
		{FromClaude, ".claude/settings.json", `{"permissions":{"allow":["Bash(ls)"],"deny":["Bash(rm *)"]}}`},
		{FromClaude, ".claude/settings.local.json", `{"permissions":{"allow":["Bash(ls)"],"deny":["Bash(rm *)"]}}`},
		{FromCodex, ".codex/rules/x.rules", "prefix_rule(pattern=[\"ls\"])\nprefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n"},
		{FromGemini, ".gemini/settings.json", `{"tools":{"allowed":["run_shell_command(ls)"],"exclude":["run_shell_command(rm)"]}}`},
		{FromGemini, ".gemini/policies/x.toml", "[[rule]]\ntoolName = \"read_file\"\ndecision = \"allow\"\n[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\n"},
		{FromQwen, ".qwen/settings.json", `{"permissions":{"allow":["Bash(ls)","Write(/a)"],"deny":["Bash(rm *)"]}}`},
		{FromCopilot, ".github/copilot/settings.json", `{"allowedUrls":["go.dev"],"deniedUrls":["x.com"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			at := filepath.Join(home, "shop", c.name)
			write(t, at, c.text)
			m, err := ReadFrom(c.agent, Config{Settings: at, UserDir: filepath.Join(home, filepath.Dir(c.name))})
			if err != nil {
				t.Fatal(err)
			}
			guards := 0
			for _, e := range m.Entries {
				switch {
				case e.Action == "allow" && (e.State != Left || !strings.Contains(e.Why, "checkout")):
					t.Errorf("%+v", e)
				case e.Action == "deny" && e.State != Left:
					guards++
				}
			}
			text := file(t, m)
			if guards == 0 || m.Project() != filepath.Join(home, "shop") || !strings.Contains(strings.ReplaceAll(text, "\n# ", " "), "not from you") {
				t.Errorf("project %q, %d denials:\n%s", m.Project(), guards, text)
			}
			m, err = ReadFrom(c.agent, Config{Settings: at, UserDir: filepath.Join(home, "shop", strings.Split(c.name, "/")[0])})
			if err != nil || m.Project() != "" || strings.Contains(file(t, m), "checkout") {
				t.Errorf("the user's own is a project's: %v, %q", err, m.Project())
			}
		})
	}
}

// The rules made of Qwen Code's decide as it does.
func TestQwenDecides(t *testing.T) {
	m, err := imported(t, FromQwen, "settings.json", `{"permissions":{"allow":["Bash(git status)","Bash(npm run *)","Write(/docs/**)"],"ask":["Bash(npm run deploy *)"],"deny":["Bash(git push *)","Read(secrets/**)"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	set := loaded(t, m)
	for _, c := range []struct {
		tool string
		in   map[string]string
		want hook.Action
	}{
		{"Bash", map[string]string{"command": "git status -s"}, hook.ActionAllow},
		{"Bash", map[string]string{"command": "git statusx"}, hook.ActionAsk},
		{"Bash", map[string]string{"command": "npm run test"}, hook.ActionAllow},
		{"Bash", map[string]string{"command": "npm run deploy now"}, hook.ActionAsk},
		{"Bash", map[string]string{"command": "git push origin"}, hook.ActionDeny},
		{"Bash", map[string]string{"command": "cat secrets/a"}, hook.ActionDeny},
		{"Grep", map[string]string{"pattern": "x", "path": "/p/secrets"}, hook.ActionDeny},
		{"Write", map[string]string{"file_path": "/p/docs/a.md", "content": ""}, hook.ActionAllow},
		{"Edit", map[string]string{"file_path": "/p/docs/a.md", "old_string": "", "new_string": ""}, hook.ActionAsk},
		{"Write", map[string]string{"file_path": "/q/docs/a.md", "content": ""}, hook.ActionAsk},
	} {
		in, _ := json.Marshal(c.in)
		if v := set.Eval(policy.Call{Tool: c.tool, Input: in, Cwd: "/p", Project: "/p", Home: "/home/u"}); v.Action != c.want {
			t.Errorf("%s %s: %s (%s), want %s", c.tool, in, v.Action, v.Reason, c.want)
		}
	}
}
