package importer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

// imported reads one file of an agent.
func imported(t *testing.T, agent, name, text string) (*Import, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadFrom(agent, Config{Settings: path})
}

type becomes struct {
	text   string
	action string
	state  string
	as     []string
	under  string
	why    string // a part of the reason
}

func check(t *testing.T, agent, name string, c becomes) {
	t.Helper()
	m, err := imported(t, agent, name, c.text)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Entries) != 1 {
		t.Fatalf("%d entries: %+v", len(m.Entries), m.Entries)
	}
	compare(t, m.Entries[0], c)
	file(t, m)
}

func compare(t *testing.T, e Entry, c becomes) {
	t.Helper()
	if e.Action != c.action || e.State != c.state || !slices.Equal(e.As, c.as) || e.Under != c.under || !strings.Contains(e.Why, c.why) {
		t.Errorf("got %+v", e)
	}
}

func TestCodexRules(t *testing.T) {
	for _, c := range []becomes{
		{`prefix_rule(pattern=["git", "status"])`, "allow", Changed, []string{"Bash(git status:*)"}, "allow", ""},
		{`prefix_rule(pattern = ["gh", "pr", ["view", "list"]], decision = "prompt", justification = "x", match = ["gh pr view 1"])`,
			"ask", Changed, []string{"Bash(gh pr view:*)", "Bash(gh pr list:*)"}, "ask", ""},
		{`prefix_rule(pattern=["rm"], decision="forbidden")`, "deny", Changed, []string{"Bash(rm:*)"}, "deny", ""},
		{`prefix_rule(pattern=["npm", "run", "a b"])`, "allow", Left, nil, "", "characters"},
		{`prefix_rule(pattern=["curl", "*"], decision="forbidden")`, "deny", Changed, []string{"Bash(curl:*)"}, "ask", "asked about instead"},
		{`prefix_rule(pattern=["a b"], decision="forbidden")`, "deny", Changed, []string{"Bash"}, "ask", "asked about instead"},
		{`prefix_rule(pattern=["git"], decision="maybe")`, "rule", Left, nil, "", "decision"},
		{`prefix_rule(pattern=["git"], only_in="x")`, "allow", Left, nil, "", "only_in"},
		{`prefix_rule(["git"])`, "allow", Left, nil, "", "named"},
		{`prefix_rule(pattern=["git"], pattern=["rm"])`, "allow", Left, nil, "", "repeated"},
		{`prefix_rule(pattern=GIT)`, "allow", Left, nil, "", "no list"},
		{`prefix_rule(pattern=[])`, "allow", Left, nil, "", "no list"},
		{`prefix_rule(decision="allow")`, "allow", Left, nil, "", "no pattern"},
		{`host_executable(name="git", paths=["/usr/bin/git"])`, "rule", Left, nil, "", "prefix_rule"},
		{`prefix_rule(pattern=["sudo"])`, "allow", Left, nil, "", "never match"},
		{"[prefix_rule(pattern=[w]) for w in ['rm']]", "rule", Left, nil, "", "prefix_rule"},
	} {
		t.Run(c.text, func(t *testing.T) { check(t, FromCodex, "default.rules", c) })
	}
	wide := `prefix_rule(pattern=[["a","b","c","d","e"],["a","b","c","d","e"],["a","b","c"]], decision="forbidden")`
	check(t, FromCodex, "x.rules", becomes{wide, "deny", Changed, []string{"Bash"}, "ask", "more than 64"})
	check(t, FromCodex, "config.toml", becomes{`approval_policy = "never"`, "approval_policy", Left, nil, "", "stays Codex's"})
}

func TestGeminiPolicies(t *testing.T) {
	for _, c := range []becomes{
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git status\"\ndecision = \"allow\"\npriority = 100", "allow", Changed, []string{"Bash(git status:*)"}, "allow", ""},
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"git log\", \"ls\"]\ndecision = \"ask_user\"", "ask", Changed, []string{"Bash(git log:*)", "Bash(ls:*)"}, "ask", ""},
		{"[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"", "deny", Changed, []string{"Write"}, "deny", ""},
		{"[[rule]]\ntoolName = \"create\"\nmcpName = \"github\"\ndecision = \"deny\"", "deny", Changed, []string{"mcp__github__create"}, "deny", ""},
		{"[[rule]]\ntoolName = \"x\"\nmcpName = \"*\"\ndecision = \"allow\"", "allow", Left, nil, "", "not known"},
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"rm.*\"\ndecision = \"deny\"", "deny", Changed, []string{"Bash"}, "ask", "regular expression"},
		{"[[rule]]\ntoolName = \"run_shell_command\"\nargsPattern = \"x\"\ndecision = \"allow\"", "allow", Left, nil, "", "regular expression"},
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls\"\ndecision = \"allow\"\nmodes = [\"yolo\"]", "allow", Left, nil, "", "modes"},
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls\"\ndecision = \"allow\"\nonlyOn = \"x\"", "allow", Left, nil, "", "onlyOn"},
		{"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls; rm\"\ndecision = \"allow\"", "allow", Left, nil, "", "characters"},
		{"[[rule]]\ntoolName = \"telepathy\"\ndecision = \"allow\"", "allow", Left, nil, "", "not known"},
		{"[[rule]]\ntoolName = \"write_file\"\ndecision = \"perhaps\"", "rule", Left, nil, "", "decision"},
	} {
		t.Run(c.text, func(t *testing.T) { check(t, FromGemini, "my.toml", c) })
	}
	for _, c := range []becomes{
		{`{"tools":{"allowed":["run_shell_command(git status)"]}}`, "allow", Changed, []string{"Bash(git status:*)"}, "allow", ""},
		{`{"excludeTools":["ShellTool(rm)"]} /* of before */`, "deny", Changed, []string{"Bash(rm:*)"}, "deny", ""},
		{`{"tools":{"exclude":["web_fetch"]}}`, "deny", Changed, []string{"WebFetch"}, "deny", ""},
		{`{"tools":{"approvalMode":"yolo"}}`, "tools.approvalMode", Left, nil, "", "stays Gemini's"},
	} {
		t.Run(c.text, func(t *testing.T) { check(t, FromGemini, "settings.json", c) })
	}
}

// What cannot be read is refused with its place, and a directory is read whole.
func TestForeignFiles(t *testing.T) {
	for _, c := range []struct{ agent, name, text, want string }{
		{FromCodex, "x.rules", "prefix_rule(pattern=[\n", "x.rules:2:1"},
		{FromCodex, "config.toml", "a = \n", "config.toml:1:"},
		{FromGemini, "x.toml", "[[rule]]\ntoolName = \n", "x.toml:2:"},
		{FromGemini, "x.toml", "[[rule]]\ntoolname = \"write_file\"\ndecision = \"deny\"", `"toolname"`},
		{FromGemini, "settings.json", "{", "settings.json"},
		{"hal", "x", "", "want one of claude, codex, gemini"},
	} {
		if _, err := imported(t, c.agent, c.name, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	dir := t.TempDir()
	if _, err := ReadFrom(FromCodex, Config{Settings: dir}); err == nil {
		t.Error("an empty directory is read")
	}
	for name, text := range map[string]string{"a.rules": `prefix_rule(pattern=["ls"])`, "b.rules": `prefix_rule(pattern=["rm"], decision="forbidden")`, "c.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ReadFrom(FromCodex, Config{Settings: dir})
	if err != nil || len(m.Entries) != 2 || m.Entries[0].Action != "deny" {
		t.Fatalf("%+v, %v", m, err)
	}
	set, err := policy.Load([]policy.Source{{Name: "x", Layer: policy.User, Data: []byte(file(t, m))}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]hook.Action{"ls -la": hook.ActionAllow, "rm x": hook.ActionDeny, "mv a b": hook.ActionAsk} {
		if v := set.Eval(policy.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"` + command + `"}`), Cwd: "/p", Project: "/p"}); v.Action != want {
			t.Errorf("%s: %s (%s)", command, v.Action, v.Reason)
		}
	}
}

// FuzzForeign reads any bytes as each agent's files: nothing panics, and what comes of it loads.
func FuzzForeign(f *testing.F) {
	for _, s := range []string{
		`prefix_rule(pattern=["git", ["a","b"]], decision="prompt")`, "def f():\n  return 1\n", "[[rule]]\ntoolName = [\"write_file\"]\ndecision = \"allow\"\n",
		`{"tools":{"allowed":["run_shell_command(git \"x\")"]}}`, "\x00\xff",
		`{"permissions":{"allow":["Write(/a/**)"],"deny":["Bash(rm -rf)","Agent(a:b,c)"]},"mcp":{"excluded":["x"]},"mcpServers":{"y":{"excludeTools":["z"]}}}`,
		`{"deniedUrls":["*.a.com"],"allowedUrls":["http://a.com/b"],"locations":{"/a":{"tool_approvals":[{"kind":"commands","commandIdentifiers":["ls"]},{"kind":"mcp","serverName":"x"}]}}}`,
		"copilot --allow-tool='shell(git:*),write(a)' --deny-tool \"shell(rm)\" $X --allow-url a.com",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(*Import, string, []byte) error{(*Import).codexRules, (*Import).codexConfig, (*Import).geminiPolicy, (*Import).geminiSettings, (*Import).qwenSettings, (*Import).copilotSettings, (*Import).copilotScript} {
			m := &Import{Config: Config{Settings: "x", Everywhere: true}}
			if read(m, "x", []byte(text)) != nil {
				continue
			}
			if _, err := m.File(); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
