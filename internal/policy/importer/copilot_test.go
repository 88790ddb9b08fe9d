package importer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readEverywhere is imported with --everywhere.
func readEverywhere(t *testing.T, agent, name, text string) (*Import, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return ReadFrom(agent, Config{Settings: path, Everywhere: true})
}

func loaded(t *testing.T, m *Import) *policy.Set {
	t.Helper()
	set, err := policy.Load([]policy.Source{{Name: "x", Layer: policy.User, Data: []byte(file(t, m))}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCopilotFlags(t *testing.T) {
	const allow, ask, deny = "allow", "ask", "deny"
	rule := func(match string) []string {
		return []string{`{"id":"imported-1","action":"allow","match":` + match + `}`}
	}
	for _, c := range []becomes{
		{"--allow-tool 'shell(git push)'", allow, Changed, []string{"Bash(git push:*)"}, allow, ""},
		{"--allow-tool='shell(touch)'", allow, Changed, []string{"Bash(touch:*)"}, allow, ""},
		{"--allow-tool 'shell(git:*)'", allow, Changed, []string{"Bash(git:*)"}, allow, ""},
		{"--allow-tool 'shell(frobnicate:*)'", allow, Changed, []string{"Bash(frobnicate:*)"}, allow, ""},
		{"--allow-tool 'shell(npm)'", allow, Changed, []string{"Bash(npm)"}, allow, "without arguments only"},
		{"--allow-tool 'shell(frobnicate)'", allow, Changed, []string{"Bash(frobnicate)"}, allow, "without arguments only"},
		{"--allow-tool 'shell(touch x)'", allow, Left, nil, "", "not known, or none"},
		{"--allow-tool 'shell(touch x:*)'", allow, Left, nil, "", "not known, or none"},
		{"--allow-tool 'shell(gh pr create)'", allow, Left, nil, "", "not known, or none"},
		{"--allow-tool 'shell(git;rm)'", allow, Left, nil, "", ""},
		{"--allow-tool shell", allow, Left, nil, "", "must name a program"},
		{"--allow-tool 'MyMCP(get)'", allow, Changed, []string{"mcp__MyMCP__get"}, allow, ""},
		{"--allow-tool MyMCP", allow, Changed, []string{"mcp__MyMCP"}, allow, ""},
		{"--allow-tool write", allow, Changed, rule(`{"file":{"op":["edit","write"],"path":"${project}/**"}}`), "rules", ""},
		{"--allow-tool 'write(a.md)'", allow, Changed, rule(`{"file":{"op":["edit","write"],"path":"${project}/**/a.md"}}`), "rules", ""},
		{"--allow-tool 'write(/srv/a.md)'", allow, Changed, rule(`{"file":{"op":["edit","write"],"path":"/srv/a.md"}}`), "rules", ""},
		{"--allow-tool 'write(*.md)'", allow, Left, nil, "", "something else"},
		{"--allow-url GitHub.com", allow, Changed, rule(`{"url":{"host":"github.com","scheme":"https"}}`), "rules", ""},
		{"--allow-tool 'url(http://*.a.com)'", allow, Changed, rule(`{"url":{"host":"*.a.com","scheme":"http"}}`), "rules", ""},
		{"--allow-url https://a.com/b", allow, Changed, rule(`{"url":{"host":"a.com","path":"/b","scheme":"https"}}`), "rules", ""},
		{"--allow-url https://a.com:8080", allow, Left, nil, "", "allow more"},
		{"--allow-url '*'", allow, Left, nil, "", "allow more"},
		{"--deny-tool 'shell(rm)'", deny, Changed, []string{"Bash(rm:*)"}, deny, ""},
		{"--deny-tool 'shell(rm -rf)'", deny, Changed, []string{"Bash(rm -rf:*)"}, deny, ""},
		{"--deny-tool 'shell(git)'", deny, Changed, []string{"Bash(git:*)"}, deny, ""},
		{"--deny-tool 'shell(a|b)'", deny, Changed, []string{"Bash"}, ask, "asked about instead"},
		{"--deny-tool 'shell(rm |b)'", deny, Changed, []string{"Bash(rm:*)"}, ask, "asked about instead"},
		{"--deny-tool 'write(.env)'", deny, Changed, []string{"Edit(**/.env)"}, deny, ""},
		{"--deny-tool 'write(/etc/x)'", deny, Changed, []string{"Edit(//etc/x)"}, deny, ""},
		{"--deny-tool write", deny, Changed, []string{"Edit"}, deny, ""},
		{"--deny-tool 'My MCP'", deny, Left, nil, "", "characters"},
		{"--deny-tool 'M(a b)'", deny, Changed, []string{"mcp__M"}, ask, "asked about instead"},
		{"--deny-url evil.com", deny, Changed, []string{"WebFetch(domain:evil.com)", "Bash(* *evil.com*)"}, deny, ""},
		{"--deny-url 'https://*.evil.com/x'", deny, Changed, []string{"WebFetch(domain:*.evil.com)", "Bash(* *evil.com*)"}, deny, ""},
		{"--deny-url 'a b'", deny, Changed, []string{"WebFetch"}, ask, "asked about instead"},
		{"--allow-all-tools", "--allow-all-tools", Left, nil, "", "stays Copilot's"},
		{"--excluded-tools bash", "--excluded-tools", Left, nil, "", "no rule stands"},
	} {
		t.Run(c.text, func(t *testing.T) {
			c.text = "set -e\ncopilot -p hello " + c.text + "\n"
			m, err := readEverywhere(t, FromCopilot, "run.sh", c.text)
			if err != nil || len(m.Entries) != 1 {
				t.Fatalf("%v, %+v", err, m)
			}
			compare(t, m.Entries[0], c)
			file(t, m)
		})
	}
	m, err := imported(t, FromCopilot, "run.sh", `copilot --allow-tool 'shell(ls)' write --deny-tool='shell(rm),write(.env)' -p x; alias copilot='copilot --deny-url a.com'`)
	if err != nil || m.Count(Left) != 3 || m.Count(Changed) != 3 {
		t.Errorf("what a script allows: %v, %+v", err, m)
	}
	if _, err := imported(t, FromCopilot, "run.sh", "ls"); err == nil || !strings.Contains(err.Error(), "starts copilot") {
		t.Error(err)
	}
}

// What was approved in one directory holds there.
func TestCopilotApprovals(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"trustedFolders":["/srv"],"firstLaunchAt":"x"}`)
	write(t, filepath.Join(dir, "settings.json"), `{"allowedUrls":["go.dev"],"deniedUrls":["evil.com"],"defaultPermissionMode":"allow-all"}`)
	write(t, filepath.Join(dir, "mcp-config.json"), `not read`)
	write(t, filepath.Join(dir, "permissions-config.json"), `{"locations":{"/srv/shop":{"allowed_directories":["/x"],"tool_approvals":[
		{"kind":"commands","commandIdentifiers":["touch","npm test","npm","frob x"]},{"kind":"write"},{"kind":"mcp","serverName":"gh","toolName":null},
		{"kind":"mcp","serverName":"gl","toolName":"get"},{"kind":"memory"},7]},"rel":{"tool_approvals":[{"kind":"write"}]}}}`)
	m, err := ReadFrom(FromCopilot, Config{Settings: dir})
	if err != nil {
		t.Fatal(err)
	}
	if m.Count(Left) != 7 || m.Count(Changed) != 8 {
		t.Errorf("%d left, %d changed: %+v", m.Count(Left), m.Count(Changed), m.Entries)
	}
	set := loaded(t, m)
	for _, c := range []struct {
		tool, in, cwd string
		want          hook.Action
	}{
		{"Bash", `{"command":"touch a"}`, "/srv/shop", hook.ActionAllow},
		{"Bash", `{"command":"touch a"}`, "/srv/other", hook.ActionAsk},
		{"Bash", `{"command":"npm test a"}`, "/srv/shop/sub", hook.ActionAllow},
		{"Bash", `{"command":"npm install a"}`, "/srv/shop", hook.ActionAsk},
		{"Bash", `{"command":"npm"}`, "/srv/shop", hook.ActionAllow},
		{"Bash", `{"command":"frob x"}`, "/srv/shop", hook.ActionAsk},
		{"Bash", `{"command":"curl https://evil.com/"}`, "/srv/shop", hook.ActionDeny},
		{"Write", `{"file_path":"/srv/shop/a","content":""}`, "/srv/shop", hook.ActionAllow},
		{"Write", `{"file_path":"/srv/other/a","content":""}`, "/srv/shop", hook.ActionAsk},
		{"mcp__gh__x", `{}`, "/srv/shop", hook.ActionAllow},
		{"mcp__gh__x", `{}`, "/srv/other", hook.ActionAsk},
		{"mcp__gl__x", `{}`, "/srv/shop", hook.ActionAsk},
		{"WebFetch", `{"url":"https://go.dev/x","prompt":""}`, "/p", hook.ActionAllow},
		{"WebFetch", `{"url":"http://go.dev/x","prompt":""}`, "/p", hook.ActionAsk},
		{"WebFetch", `{"url":"https://a.evil.com/x","prompt":""}`, "/p", hook.ActionDeny},
	} {
		if v := set.Eval(policy.Call{Tool: c.tool, Input: json.RawMessage(c.in), Cwd: c.cwd, Project: c.cwd, Home: "/home/u"}); v.Action != c.want {
			t.Errorf("%s %s in %s: %s (%s), want %s", c.tool, c.in, c.cwd, v.Action, v.Reason, c.want)
		}
	}
}
