package policy

import (
	"encoding/json"
	"testing"
	"time"
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
	for url, want := range map[string]Action{
		"https://docs.python.org/3/": Allow, "http://docs.python.org": Allow, "https://DOCS.Python.org:443/": Allow, "https://go.dev/x?y=z#w": Allow, "https://example.org/docs/a": Allow, "https://example.org/docs": Allow,
		"https://python.org/": Ask, "https://docs.python.org.evil.net/": Ask, "https://docs.python.org@evil.net/": Ask, "https://docs.python.org:8443/": Ask, "https://evil.net/docs.python.org": Ask,
		"https://go.dev\\@evil.net/": Ask, "https://go.dev\t.evil.net/": Ask, "https:go.dev": Ask, "file:///go.dev": Ask, "ftp://go.dev/": Ask, "https://go.dev./": Ask, "https://gо.dev/": Ask, "https://www.go.dev/": Ask, " https://go.dev/": Ask,
		"http://example.org/docs/a": Ask, "https://example.org/docs/../admin": Ask, "https://example.org/docs/%2e%2e/admin": Ask, "https://example.org/admin": Ask, "https://example.org/docsx": Ask, "": Ask,
		"https://evil.example/": Deny, "https://a.evil.example/": Deny, "https://evil.example.:9/": Deny, "https://user@EVIL.example/": Deny,
	} {
		if v := s.Eval(tool1("WebFetch", "url", url)); v.Action != want {
			t.Errorf("%q: %s (%s), expected %s", url, v.Action, v.Reason, want)
		}
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
		want        Action
	}{
		{"mcp__github__get_issue", `{}`, Allow}, {"mcp__github__get_secret", `{}`, Deny}, {"mcp__github__getx", `{}`, Ask}, {"mcp__github2__get_issue", `{}`, Ask}, {"mcp__files__read", `{}`, Allow},
		{"mcp__files__delete_all", `{}`, Deny}, {"mcp__files__x__y", `{}`, Ask}, {"mcp__filesx", `{}`, Ask}, {"mcp__files", `{}`, Ask}, {"mcp__files__read", `{"a":1,"A":2}`, Ask}, {"mcp__files__read", `[]`, Ask}, {"mcp__files__read", `{"a":1} {}`, Ask},
		{"mcp__github__create_issue", `{"owner":"me","draft":true,"n":7}`, Allow}, {"mcp__github__create_issue", `{"owner":"my-org","draft":true,"n":7}`, Allow}, {"mcp__github__create_issue", `{"owner":"you","draft":true,"n":7}`, Ask},
		{"mcp__github__create_issue", `{"owner":"me","draft":true}`, Ask}, {"mcp__github__create_issue", `{"owner":["me"],"draft":true,"n":7}`, Ask}, {"mcp__github__create_issue", `{"owner":"me","draft":false,"n":7}`, Ask},
	} {
		call := bash("")
		call.Tool, call.Input = c.tool, json.RawMessage(c.input)
		if v := s.Eval(call); v.Action != c.want {
			t.Errorf("%s %s: %s (%s), expected %s", c.tool, c.input, v.Action, v.Reason, c.want)
		}
	}
}

// TestInput: what can be read in two ways, or says something unknown, is never allowed.
func TestInput(t *testing.T) {
	s := load(t, "version: 1\nallow: [Bash(ls), Read, WebSearch]\ndeny: [Bash(rm *)]")
	for input, want := range map[string]Action{
		`{"command":"ls"}`: Allow, `{"command":"ls","description":"x","timeout":5,"run_in_background":false}`: Allow, ` {"command" : "ls"} `: Allow,
		`{"command":"rm x","COMMAND":"ls"}`: Deny, `{"command":"ls","COMMAND":"rm x"}`: Ask, `{"command":"ls","command":"rm x"}`: Ask, `{"command":"ls","env":{}}`: Ask, `{"command":"ls","dangerouslyDisableSandbox":true}`: Ask, `{"command":"ls","dangerouslyDisableSandbox":false}`: Allow,
		"{\"command\":\"ls\",\"description\":\"\xff\"}": Ask, `{"command":"ls","description":"\ud800"}`: Ask, `{"command":"ls","description":"\ud83d\ude00"}`: Allow,
		`{"command":["ls"]}`: Ask, `{"command":null}`: Ask, `{}`: Ask, ``: Ask, `{"command":"ls"`: Ask, `["ls"]`: Ask, `{"command":"ls"}x`: Ask, `{"Command":"ls"}`: Ask,
	} {
		c := bash("")
		c.Input = json.RawMessage(input)
		if v := s.Eval(c); v.Action != want {
			t.Errorf("%s: %s (%s), expected %s", input, v.Action, v.Reason, want)
		}
		c.Uninspectable = true
		if v := s.Eval(c); v.Action == Allow {
			t.Errorf("%s: uninspectable, and allowed", input)
		}
	}
	if v := s.Eval(tool1("WebSearch", "query", "x")); v.Action != Allow || v.Rule != "WebSearch" || v.File != "rules.yaml" || v.Layer != User {
		t.Errorf("%+v", v)
	}
	c := tool1("WebSearch", "query", "x")
	c.Uninspectable = true
	if v := s.Eval(c); v.Action != Ask {
		t.Errorf("%+v", v)
	}
}

func TestSearches(t *testing.T) {
	s := load(t, `
version: 1
allow: ["Read(./src/**)"]
deny: ["Read(**/.env)"]
`)
	for input, want := range map[string]Action{
		`{"pattern":"x","path":"src"}`: Allow, `{"pattern":"x"}`: Ask, `{"pattern":"x","path":"/etc"}`: Ask, `{"pattern":"x","path":"src/../.."}`: Ask, `{"pattern":"x","path":"src/.env"}`: Deny, `{"pattern":"x","path":"src","glob":"*.ts"}`: Allow,
		`{"pattern":"x","path":"src","glob":".e*"}`: Ask, `{"pattern":"x","path":"src","glob":"../*"}`: Ask, `{"pattern":"x","path":7}`: Ask, `{"pattern":"x","path":null}`: Ask,
	} {
		c := bash("")
		c.Tool, c.Input = "Grep", json.RawMessage(input)
		if v := s.Eval(c); v.Action != want {
			t.Errorf("Grep %s: %s (%s), expected %s", input, v.Action, v.Reason, want)
		}
	}
	for input, want := range map[string]Action{
		`{"pattern":"**/*.ts","path":"src"}`: Allow, `{"pattern":"/etc/*","path":"src"}`: Ask, `{"pattern":"../*","path":"src"}`: Ask, `{"pattern":"~/x","path":"src"}`: Ask,
	} {
		c := bash("")
		c.Tool, c.Input = "Glob", json.RawMessage(input)
		if v := s.Eval(c); v.Action != want {
			t.Errorf("Glob %s: %s (%s), expected %s", input, v.Action, v.Reason, want)
		}
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
		want Action
	}{
		{at(7, 12), Allow}, {at(7, 23), Deny}, {at(8, 5), Deny}, {at(8, 6), Allow}, {at(2, 23), Deny}, {at(3, 5), Deny}, {at(3, 23), Ask}, {at(5, 5), Allow}, {time.Time{}, Ask},
	} {
		call := bash("ls")
		call.Time = c.at
		if v := s.Eval(call); v.Action != c.want {
			t.Errorf("%s: %s (%s), expected %s", c.at, v.Action, v.Rule, c.want)
		}
	}
	whole := bash("make")
	whole.Repo, whole.Branch, whole.AgentLabel, whole.Mode = "github.com/acme/app", "release/7", "ci", "default"
	if v := s.Eval(whole); v.Action != Allow {
		t.Errorf("%+v", v)
	}
	for name, change := range map[string]func(*Call){
		"repo": func(c *Call) { c.Repo = "github.com/acmeevil/app" }, "no repo": func(c *Call) { c.Repo = "" }, "branch": func(c *Call) { c.Branch = "mainx" },
		"mode": func(c *Call) { c.Mode = "plan" }, "label": func(c *Call) { c.AgentLabel = "" }, "agent": func(c *Call) { c.Agent = "other" },
	} {
		c := whole
		change(&c)
		if v := s.Eval(c); v.Action != Ask {
			t.Errorf("%s: %s", name, v.Action)
		}
	}
	for cmd, want := range map[string]Action{
		"cd /srv/x && id": Ask /* cd */, "id": Ask, "date": Allow,
	} {
		if v := s.Eval(bash(cmd)); v.Action != want {
			t.Errorf("%s: %s, expected %s", cmd, v.Action, want)
		}
	}
	c := bash("id")
	c.Cwd = "/srv/x"
	if v := s.Eval(c); v.Action != Allow {
		t.Errorf("%+v", v)
	}
	c = bash("ls")
	c.Cwd = "/elsewhere"
	if v := s.Eval(c); v.Action != Ask {
		t.Errorf("outside the project: %+v", v)
	}
}

// TestCase: a guard finds a file also where the file system does not tell case apart.
func TestCase(t *testing.T) {
	s := load(t, "version: 1\nallow: [Read, \"Bash(cat *)\"]\ndeny: [\"Read(**/.env)\"]")
	for _, path := range []string{".env", ".ENV", "sub/.Env", "sub/.env/x"} {
		if v := s.Eval(tool1("Read", "file_path", path)); v.Action != Deny {
			t.Errorf("Read %s: %s", path, v.Action)
		}
		if v := s.Eval(bash("cat " + path)); v.Action != Deny {
			t.Errorf("cat %s: %s", path, v.Action)
		}
	}
}

// TestQuestions: what asks a person is for a person.
func TestQuestions(t *testing.T) {
	s := load(t, "version: 1\nallow: [AskUserQuestion, ExitPlanMode, WebFetch]")
	for _, c := range []Call{tool1("AskUserQuestion", "x", "y"), tool1("ExitPlanMode", "plan", "y"), tool1("WebFetch", "url", "y")} {
		if v := s.Eval(c); v.Action != Ask {
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
		want   Action
		shadow string
	}{
		{bash("ls"), Allow, "would-deny"}, {bash("make"), Ask, "would-allow"}, {bash("ls; make"), Ask, "would-deny would-allow"}, {bash("make; rm x"), Ask, ""}, {bash("make $(eval x)"), Ask, ""}, {tool1("Read", "file_path", "/x"), Ask, "would-read"},
	} {
		v := s.Eval(c.call)
		got := ""
		for _, sh := range v.Shadow {
			if got != "" {
				got += " "
			}
			got += sh.Rule
		}
		if v.Action != c.want || got != c.shadow {
			t.Errorf("%s: %s, shadow %q; expected %s, %q", c.call.Input, v.Action, got, c.want, c.shadow)
		}
	}
}

// TestExplain: each part names its rule or what failed.
func TestExplain(t *testing.T) {
	s := load(t, example)
	v := s.Explain(bash("go test ./... && go build ./... && git push; echo $(curl x) > .git/config"))
	if v.Action != Deny || v.Rule != "Bash(curl *)" || v.Message == "" {
		t.Errorf("%+v", v)
	}
	found := map[string]UnitVerdict{}
	for _, u := range v.Units {
		found[u.Text] = u
	}
	if u := found["go test ./..."]; u.Action != Allow || u.Rule != "go-test-here" {
		t.Errorf("%+v", u)
	}
	if u := found["go build ./..."]; u.Action != "" || len(u.Misses) != 1 || u.Misses[0].Rule != "go-test-here" || u.Misses[0].Selector != "args" {
		t.Errorf("%+v", u)
	}
	if u := found["git push"]; u.Action != Ask || u.Rule != "Bash(git push *)" {
		t.Errorf("%+v", u)
	}
	if u := found["curl x"]; u.Action != Deny {
		t.Errorf("%+v", u)
	}
	if u := found["> .git/config"]; len(u.Refused) != 1 || u.Refused[0].Code != "self" {
		t.Errorf("%+v", u)
	}
}
