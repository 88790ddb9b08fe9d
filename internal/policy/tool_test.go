package policy

import (
	"encoding/json"
	"testing"
	"time"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// tool1 is a call of a tool with one member in its input.
func tool1(tool, key, value string) Call {
	c := bash("")
	c.Tool = tool
	c.Input, _ = json.Marshal(map[string]string{key: value})
	return c
}

func TestURLs(t *testing.T) {
	s := load(t, `
version: 1
allow: ["WebFetch(domain:*.python.org)", "WebFetch(domain:go.dev)"]
deny: ["WebFetch(domain:evil.example)"]
rules:
  - {id: docs, action: allow, match: {url: {scheme: https, host: example.org, path: ["/docs/**"]}}}
`)
	for _, row := range []row{
		{"https://docs.python.org/3/", hook.ActionAllow}, {"http://docs.python.org", hook.ActionAllow}, {"https://DOCS.Python.org:443/", hook.ActionAllow}, {"https://go.dev/x?y=z#w", hook.ActionAllow}, {"https://example.org/docs/a", hook.ActionAllow}, {"https://example.org/docs", hook.ActionAllow},
		{"https://python.org/", hook.ActionAsk}, {"https://docs.python.org.evil.net/", hook.ActionAsk}, {"https://docs.python.org@evil.net/", hook.ActionAsk}, {"https://docs.python.org:8443/", hook.ActionAsk}, {"https://evil.net/docs.python.org", hook.ActionAsk},
		{"https://go.dev\\@evil.net/", hook.ActionAsk}, {"https://go.dev\t.evil.net/", hook.ActionAsk}, {"https:go.dev", hook.ActionAsk}, {"file:///go.dev", hook.ActionAsk}, {"ftp://go.dev/", hook.ActionAsk}, {"https://go.dev./", hook.ActionAsk}, {"https://gо.dev/", hook.ActionAsk}, {"https://www.go.dev/", hook.ActionAsk}, {" https://go.dev/", hook.ActionAsk},
		{"http://example.org/docs/a", hook.ActionAsk}, {"https://example.org/docs/../admin", hook.ActionAsk}, {"https://example.org/docs/%2e%2e/admin", hook.ActionAsk}, {"https://example.org/admin", hook.ActionAsk}, {"https://example.org/docsx", hook.ActionAsk}, {"", hook.ActionAsk},
		{"https://evil.example/", hook.ActionDeny}, {"https://a.evil.example/", hook.ActionDeny}, {"https://evil.example.:9/", hook.ActionDeny}, {"https://user@EVIL.example/", hook.ActionDeny},
	} {
		t.Run(row.in, func(t *testing.T) {
			if v := s.Eval(tool1("WebFetch", "url", row.in)); v.Action != row.want {
				t.Errorf("%q: got %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
		})
	}
}

func TestMCP(t *testing.T) {
	s := load(t, `
version: 1
allow: [mcp__github__get_*, mcp__files]
deny: [mcp__github__get_secret, "mcp__*__delete_*"]
rules:
  - {id: mine, action: allow, match: {mcp: {server: github, tool: create_issue, input: {owner: [me, "my-*"], draft: true, n: 7}}}}
`)
	for _, c := range []struct {
		tool, input string
		want        hook.Action
	}{
		{"mcp__github__get_issue", `{}`, hook.ActionAllow}, {"mcp__github__get_secret", `{}`, hook.ActionDeny}, {"mcp__github__getx", `{}`, hook.ActionAsk}, {"mcp__github2__get_issue", `{}`, hook.ActionAsk}, {"mcp__files__read", `{}`, hook.ActionAllow},
		{"mcp__files__delete_all", `{}`, hook.ActionDeny}, {"mcp__files__x__y", `{}`, hook.ActionAsk}, {"mcp__filesx", `{}`, hook.ActionAsk}, {"mcp__files", `{}`, hook.ActionAsk}, {"mcp__files__read", `{"a":1,"A":2}`, hook.ActionAsk}, {"mcp__files__read", `[]`, hook.ActionAsk}, {"mcp__files__read", `{"a":1} {}`, hook.ActionAsk},
		{"mcp__github__create_issue", `{"owner":"me","draft":true,"n":7}`, hook.ActionAllow}, {"mcp__github__create_issue", `{"owner":"my-org","draft":true,"n":7}`, hook.ActionAllow}, {"mcp__github__create_issue", `{"owner":"you","draft":true,"n":7}`, hook.ActionAsk},
		{"mcp__github__create_issue", `{"owner":"me","draft":true}`, hook.ActionAsk}, {"mcp__github__create_issue", `{"owner":["me"],"draft":true,"n":7}`, hook.ActionAsk}, {"mcp__github__create_issue", `{"owner":"me","draft":false,"n":7}`, hook.ActionAsk},
	} {
		t.Run(c.tool+" "+c.input, func(t *testing.T) {
			call := bash("")
			call.Tool, call.Input = c.tool, json.RawMessage(c.input)
			if v := s.Eval(call); v.Action != c.want {
				t.Errorf("%s %s: got %s (%s), want %s", c.tool, c.input, v.Action, v.Reason, c.want)
			}
		})
	}
}

// TestInput: what can be read in two ways, or says something unknown, is never allowed.
func TestInput(t *testing.T) {
	s := load(t, "version: 1\nallow: [Bash(ls), Read, WebSearch]\ndeny: [Bash(rm *)]")
	for _, row := range []row{
		{`{"command":"ls"}`, hook.ActionAllow}, {`{"command":"ls","description":"x","timeout":5,"run_in_background":false}`, hook.ActionAllow}, {` {"command" : "ls"} `, hook.ActionAllow},
		{`{"command":"rm x","COMMAND":"ls"}`, hook.ActionDeny}, {`{"command":"ls","COMMAND":"rm x"}`, hook.ActionAsk}, {`{"command":"ls","command":"rm x"}`, hook.ActionAsk}, {`{"command":"ls","env":{}}`, hook.ActionAsk}, {`{"command":"ls","dangerouslyDisableSandbox":true}`, hook.ActionAsk}, {`{"command":"ls","dangerouslyDisableSandbox":false}`, hook.ActionAllow},
		{"{\"command\":\"ls\",\"description\":\"\xff\"}", hook.ActionAsk}, {`{"command":"ls","description":"\ud800"}`, hook.ActionAsk}, {`{"command":"ls","description":"\ud83d\ude00"}`, hook.ActionAllow},
		{`{"command":["ls"]}`, hook.ActionAsk}, {`{"command":null}`, hook.ActionAsk}, {`{}`, hook.ActionAsk}, {``, hook.ActionAsk}, {`{"command":"ls"`, hook.ActionAsk}, {`["ls"]`, hook.ActionAsk}, {`{"command":"ls"}x`, hook.ActionAsk}, {`{"Command":"ls"}`, hook.ActionAsk},
	} {
		t.Run(row.in, func(t *testing.T) {
			c := bash("")
			c.Input = json.RawMessage(row.in)
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("%s: got %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
			c.Uninspectable = true
			if v := s.Eval(c); v.Action == hook.ActionAllow {
				t.Errorf("%s: uninspectable, and allowed", row.in)
			}
		})
	}
	if v := s.Explain(tool1("WebSearch", "query", "x")); v.Action != hook.ActionAllow || v.Rule != "WebSearch" || v.File != "rules.yaml" || v.Layer != User {
		t.Errorf("%+v", v)
	}
	c := tool1("WebSearch", "query", "x")
	c.Uninspectable = true
	if v := s.Eval(c); v.Action != hook.ActionAsk {
		t.Errorf("%+v", v)
	}
}

func TestSearches(t *testing.T) {
	s := load(t, `
version: 1
allow: ["Read(./src/**)"]
deny: ["Read(**/.env)"]
`)
	for _, row := range []row{
		{`{"pattern":"x","path":"src"}`, hook.ActionAllow}, {`{"pattern":"x"}`, hook.ActionAsk}, {`{"pattern":"x","path":"/etc"}`, hook.ActionAsk}, {`{"pattern":"x","path":"src/../.."}`, hook.ActionAsk}, {`{"pattern":"x","path":"src/.env"}`, hook.ActionDeny}, {`{"pattern":"x","path":"src","glob":"*.ts"}`, hook.ActionAllow},
		{`{"pattern":"x","path":"src","glob":".e*"}`, hook.ActionAsk}, {`{"pattern":"x","path":"src","glob":"../*"}`, hook.ActionAsk}, {`{"pattern":"x","path":7}`, hook.ActionAsk}, {`{"pattern":"x","path":null}`, hook.ActionAsk},
	} {
		t.Run(row.in, func(t *testing.T) {
			c := bash("")
			c.Tool, c.Input = "Grep", json.RawMessage(row.in)
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("Grep %s: %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
		})
	}
	for _, row := range []row{
		{`{"pattern":"**/*.ts","path":"src"}`, hook.ActionAllow}, {`{"pattern":"/etc/*","path":"src"}`, hook.ActionAsk}, {`{"pattern":"../*","path":"src"}`, hook.ActionAsk}, {`{"pattern":"~/x","path":"src"}`, hook.ActionAsk}, {`{"pattern":"/etc/passwd"}`, hook.ActionAsk}, {`{"pattern":"//a"}`, hook.ActionAsk}, {`{"pattern":"/"}`, hook.ActionAsk},
	} {
		t.Run(row.in, func(t *testing.T) {
			c := bash("")
			c.Tool, c.Input = "Glob", json.RawMessage(row.in)
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("Glob %s: %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
		})
	}
}

func TestCircumstances(t *testing.T) {
	s := load(t, `
version: 1
allow: [Bash(ls)]
rules:
  - {id: night, action: deny, match: {command: {program: ls}, time: {days: [mon-fri], between: "22:00-06:00", tz: UTC}}}
  - {id: weekend, action: ask, match: {command: {program: ls}, time: {days: sat-sun, tz: UTC}}}
  - {id: main, action: allow, match: {command: {program: make}, session: {repo: "github.com/acme/*", branch: [main, "release/*"], mode: default, agent: claude, label: ci}}}
  - {id: there, action: allow, match: {command: {program: id}, cwd: [/srv/**]}}
  - {id: anywhere, action: allow, match: {command: {program: date}, cwd: ["**"]}}
`)
	at := func(day, hour int) time.Time { return time.Date(2026, 1, day, hour, 30, 0, 0, time.UTC) } // 1 January 2026 is a Thursday
	for _, c := range []struct {
		at   time.Time
		want hook.Action
	}{
		{at(7, 12), hook.ActionAllow}, {at(7, 23), hook.ActionDeny}, {at(8, 5), hook.ActionDeny}, {at(8, 6), hook.ActionAllow}, {at(2, 23), hook.ActionDeny}, {at(3, 5), hook.ActionDeny}, {at(3, 23), hook.ActionAsk}, {at(5, 5), hook.ActionAllow}, {time.Time{}, hook.ActionAsk},
	} {
		call := bash("ls")
		call.Time = c.at
		if v := s.Eval(call); v.Action != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.at, v.Action, v.Rule, c.want)
		}
	}
	whole := bash("make")
	whole.Repo, whole.Branch, whole.AgentLabel, whole.Mode = "github.com/acme/app", "release/7", "ci", "default"
	if v := s.Eval(whole); v.Action != hook.ActionAllow {
		t.Errorf("%+v", v)
	}
	for name, change := range map[string]func(*Call){
		"repo": func(c *Call) { c.Repo = "github.com/acmeevil/app" }, "no repo": func(c *Call) { c.Repo = "" }, "branch": func(c *Call) { c.Branch = "mainx" },
		"mode": func(c *Call) { c.Mode = "plan" }, "label": func(c *Call) { c.AgentLabel = "" }, "agent": func(c *Call) { c.Agent = "other" },
	} {
		c := whole
		change(&c)
		if v := s.Eval(c); v.Action != hook.ActionAsk {
			t.Errorf("%s: %s", name, v.Action)
		}
	}
	for _, row := range []row{
		{"cd /srv/x && id", hook.ActionAsk /* cd */}, {"id", hook.ActionAsk}, {"date", hook.ActionAllow},
	} {
		t.Run(row.in, func(t *testing.T) {
			if v := s.Eval(bash(row.in)); v.Action != row.want {
				t.Errorf("%s: %s, want %s", row.in, v.Action, row.want)
			}
		})
	}
	c := bash("id")
	c.Cwd = "/srv/x"
	if v := s.Eval(c); v.Action != hook.ActionAllow {
		t.Errorf("%+v", v)
	}
	c = bash("ls")
	c.Cwd = "/elsewhere"
	if v := s.Eval(c); v.Action != hook.ActionAsk {
		t.Errorf("outside the project: %+v", v)
	}
}

// TestCase: a guard finds a file also where the file system does not tell case apart.
func TestCase(t *testing.T) {
	s := load(t, "version: 1\nallow: [Read, \"Bash(cat *)\"]\ndeny: [\"Read(**/.env)\"]")
	for _, path := range []string{".env", ".ENV", "sub/.Env", "sub/.env/x"} {
		if v := s.Eval(tool1("Read", "file_path", path)); v.Action != hook.ActionDeny {
			t.Errorf("Read %s: %s", path, v.Action)
		}
		if v := s.Eval(bash("cat " + path)); v.Action != hook.ActionDeny {
			t.Errorf("cat %s: %s", path, v.Action)
		}
	}
}

// TestBareRead: who may not read may neither search nor list, nor change what he has not read.
func TestBareRead(t *testing.T) {
	s := load(t, "version: 1\nallow: [Read, Grep, Glob, Edit, Write, \"Bash(ls)\"]\ndeny: [Read]")
	for _, c := range []Call{tool1("Read", "file_path", "a"), tool1("Grep", "pattern", "x"), tool1("Glob", "pattern", "*.go"), tool1("LS", "path", "."), tool1("NotebookRead", "notebook_path", "a.ipynb"),
		tool1("Edit", "file_path", "a"), tool1("MultiEdit", "file_path", "a"), tool1("Write", "file_path", "a")} {
		if v := s.Eval(c); v.Action != hook.ActionDeny {
			t.Errorf("%s: %+v", c.Tool, v)
		}
	}
	if v := s.Eval(bash("ls")); v.Action != hook.ActionAllow {
		t.Errorf("ls: %+v", v)
	}
	s = load(t, "version: 1\nallow: [Read]")
	if v := s.Eval(tool1("Grep", "pattern", "x")); v.Action != hook.ActionAsk {
		t.Errorf("an allow of Read allows Grep: %+v", v)
	}
}

// TestOtherPushes: what pushes by another name is a push.
func TestOtherPushes(t *testing.T) {
	s := load(t, "version: 1\nallow: [\"Bash(git *)\"]\ndeny: [\"Bash(git push *)\"]")
	for command, want := range map[string]hook.Action{
		"git push": hook.ActionDeny, "git send-pack o main": hook.ActionDeny, "git http-push x": hook.ActionDeny, "git -C . send-pack o": hook.ActionDeny, "git subtree push -P a o main": hook.ActionDeny,
		"git lfs push o main": hook.ActionDeny, "echo push a:b | git remote-https o https://h/x": hook.ActionDeny, "git remote-ext o x": hook.ActionDeny, "git remote -v": hook.ActionAllow, "git status": hook.ActionAllow, "git log send-pack": hook.ActionAllow,
	} {
		if v := s.Eval(bash(command)); v.Action != want {
			t.Errorf("%s: %+v", command, v)
		}
	}
}

// TestQuestions: what asks a person is for a person.
func TestQuestions(t *testing.T) {
	s := load(t, "version: 1\nallow: [AskUserQuestion, ExitPlanMode, WebFetch]")
	for _, c := range []Call{tool1("AskUserQuestion", "x", "y"), tool1("ExitPlanMode", "plan", "y"), tool1("WebFetch", "url", "y")} {
		if v := s.Eval(c); v.Action != hook.ActionAsk {
			t.Errorf("%s: %+v", c.Tool, v)
		}
	}
}

func TestShadow(t *testing.T) {
	s := load(t, `
version: 1
allow: [Bash(ls)]
rules:
  - {id: would-allow, action: allow, shadow: true, match: {command: {program: make}}}
  - {id: would-deny, action: deny, shadow: true, match: {command: {program: ls}}}
  - {id: would-read, action: allow, shadow: true, match: {file: {op: read, path: ["**"]}}}
`)
	for _, c := range []struct {
		call   Call
		want   hook.Action
		shadow string
	}{
		{bash("ls"), hook.ActionAllow, "would-deny"}, {bash("make"), hook.ActionAsk, "would-allow"}, {bash("ls; make"), hook.ActionAsk, "would-deny would-allow"}, {bash("make; rm x"), hook.ActionAsk, ""}, {bash("make $(eval x)"), hook.ActionAsk, ""}, {tool1("Read", "file_path", "/x"), hook.ActionAsk, "would-read"},
	} {
		t.Run(string(c.call.Input), func(t *testing.T) {
			v := s.Eval(c.call)
			got := ""
			for _, sh := range v.Shadow {
				if got != "" {
					got += " "
				}
				got += sh.Rule
			}
			if v.Action != c.want || got != c.shadow {
				t.Errorf("%s: %s, shadow %q; want %s, %q", c.call.Input, v.Action, got, c.want, c.shadow)
			}
		})
	}
}

// TestExplain: each part names its rule or what failed.
func TestExplain(t *testing.T) {
	s := load(t, example)
	v := s.Explain(bash("go test ./... && go build ./... && git push; echo $(curl x) > .git/config"))
	if v.Action != hook.ActionDeny || v.Rule != "Bash(curl *)" || v.Message == "" {
		t.Errorf("%+v", v)
	}
	found := map[string]UnitVerdict{}
	for _, u := range v.Units {
		found[u.Text] = u
	}
	if u := found["go test ./..."]; u.Action != hook.ActionAllow || u.Rule != "go-test-here" {
		t.Errorf("%+v", u)
	}
	if u := found["go build ./..."]; u.Action != "" || len(u.Misses) != 1 || u.Misses[0].Rule != "go-test-here" || u.Misses[0].Selector != "args" {
		t.Errorf("%+v", u)
	}
	if u := found["git push"]; u.Action != hook.ActionAsk || u.Rule != "Bash(git push *)" {
		t.Errorf("%+v", u)
	}
	if u := found["curl x"]; u.Action != hook.ActionDeny {
		t.Errorf("%+v", u)
	}
	if u := found["> .git/config"]; len(u.Refused) != 1 || u.Refused[0].Code != "self" {
		t.Errorf("%+v", u)
	}
}

// A member whose meaning is not known may name another file, address or command than the one that a rule
// allows: no tool is allowed with one, whatever agent it is of.
func TestStrangeMembers(t *testing.T) {
	s := load(t, `
version: 1
allow: ["Read(./**)", "Edit(./**)", "Write(./**)", "Bash(ls:*)", "WebFetch(domain:go.dev)"]
`)
	inputs := map[string]string{tools.Bash: `"command":"ls"`, tools.WebFetch: `"url":"https://go.dev/"`}
	for _, name := range tools.Names() {
		x := tools.Of(name)
		if x.AboutFiles() {
			inputs[name] = `"` + x.Path[0] + `":"a.txt"`
		}
		if x.Pattern != "" {
			inputs[name] += `,"pattern":"x"`
		}
	}
	if len(inputs) != 10 {
		t.Fatalf("%d tools: %v", len(inputs), inputs)
	}
	qwen := bash("")
	qwen.Input = []byte(`{"command":"ls","description":"list","is_background":false}`)
	if v := s.Eval(qwen); v.Action != hook.ActionAllow {
		t.Errorf("Qwen Code's shell tool: %s (%s)", v.Action, v.Reason)
	}
	for name, input := range inputs {
		call := bash("")
		call.Tool, call.Input = name, []byte("{"+input+"}")
		if v := s.Eval(call); v.Action != hook.ActionAllow {
			t.Errorf("%s %s: %s (%s)", name, call.Input, v.Action, v.Reason)
		}
		for _, strange := range []string{`"patterns":["a","/etc/x"]`, `"files":[{"filePath":"/etc/x"}]`, `"call":{"tool":"apply_patch"}`, `"directory":"/etc"`, `"FilePaths":"/etc/x"`} {
			call.Input = []byte("{" + input + "," + strange + "}")
			if v := s.Eval(call); v.Action != hook.ActionAsk {
				t.Errorf("%s %s: %s (%s)", name, call.Input, v.Action, v.Reason)
			}
		}
	}
}

// Who says that nothing may be edited means every tool that changes files.
func TestBareEdit(t *testing.T) {
	s := load(t, `
version: 1
allow: ["Edit(./**)", Read]
deny: [Edit]
`)
	for tool, key := range map[string]string{"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"} {
		if v := s.Eval(tool1(tool, key, "/home/user/project/a")); v.Action != hook.ActionDeny {
			t.Errorf("%s: got %s (%s)", tool, v.Action, v.Reason)
		}
	}
	if v := s.Eval(tool1("Read", "file_path", "/home/user/project/a")); v.Action != hook.ActionAllow {
		t.Errorf("Read: got %s (%s)", v.Action, v.Reason)
	}
	if v := s.Eval(patchCall("*** Begin Patch\n*** Add File: /home/user/project/a\n+x\n*** End Patch")); v.Action != hook.ActionDeny {
		t.Errorf("a patch: got %s (%s)", v.Action, v.Reason)
	}
}
