package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"assent/internal/hook"
	"assent/schemas"
)

// TestProblems: what is wrong is refused at its place, and says what was expected.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, at, says string }{
		{"allow: []", "1:1", "version: 1"},
		{"version: 2", "1:10", "expected 1"},
		{"version: 1\nallows: []", "2:1", `unknown key "allows"`},
		{"version: 1\nallow: [a(]", "2:9", "no )"},
		{"version: 1\nallow: Bash(ls)", "2:8", "expected a list"},
		{"version: 1\nallow:\n  - Bash", "3:5", "every command"},
		{"version: 1\nallow:\n  - Bash(*)", "3:5", "every command"},
		{"version: 1\nallow:\n  - Bash(:*)", "3:5", "every command"},
		{"version: 1\nallow:\n  - \"Bash(* --version)\"", "3:5", "name a program"},
		{"version: 1\nallow:\n  - \"*\"", "3:5", "name the tool in full"},
		{"version: 1\nallow:\n  - mcp__*__get", "3:5", "server in full"},
		{"version: 1\nallow:\n  - WebFetch(domain:*)", "3:5", "needs a host"},
		{"version: 1\nallow:\n  - Frob(x)", "3:5", "not known"},
		{"version: 1\ndefaults: {action: allow}", "2:20", "expected ask, deny"},
		{"version: 1\ndefaults: {on_timeout: allow}", "2:24", "expected abstain, deny"},
		{"version: 1\ndefaults: {verification: never}", "2:26", "expected danger, always"},
		{"version: 1\ndefaults: {timeout: 10}", "2:21", "such as 90s"},
		{"version: 1\nuse: [builtin/nothing@9]", "2:7", "no pack"},
		{"version: 1\nuse: [../../x]", "2:7", "no pack"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {tool: X}}\n  - {id: a, action: deny, match: {tool: Y}}", "4:10", "line 3"},
		{"version: 1\nrules:\n  - {id: a, match: {tool: X}}", "3:5", "action is missing"},
		{"version: 1\nrules:\n  - {action: deny, match: {tool: X}}", "3:5", "id is missing"},
		{"version: 1\nrules:\n  - {id: a, action: deny}", "3:5", "match is missing"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {}}", "3:34", "match is empty"},
		{"version: 1\nrules:\n  - {id: a, action: ask, on_timeout: allow, match: {tool: X}}", "3:38", "expected abstain, deny"},
		{"version: 1\nrules:\n  - {id: a, action: allow, on_timeout: deny, match: {tool: X}}", "3:40", "for an ask"},
		{"version: 1\nrules:\n  - {id: a, action: allow, message: x, match: {tool: X}}", "3:37", "of a deny"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: \"*\"}}}", "3:55", "in full"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {args: [x]}}}", "3:45", "program is missing"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: git log}}}", "3:55", "its arguments go to args"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: rm, paths: [/x]}}}", "3:66", "paths needs flags"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: rm, flags: {has: [-f]}}}}", "3:72", "deny or ask"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: rm, flags: all}}}", "3:66", "expected any"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: rm, flags: {only: [f]}}}}", "3:74", "is no flag"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {command: {program: rm, args: [..., x]}}}", "3:66", "the last"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {file: {op: read, path: docs}}}", "3:59", "starts with"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {file: {op: delete, path: /x}}}", "3:47", "expected read"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {file: {op: read, path: \"/a/../b\"}}}", "3:59", ".."},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {file: {op: read, path: \"$HOME/x\"}}}", "3:59", "${project}"},
		{"version: 1\nrules:\n  - {id: a, action: allow, match: {session: {mode: plan}}}", "3:35", "needs one of"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {tool: X, mcp: {server: y}}}", "3:34", "exclude each other"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {time: {tz: Mars}}}", "3:46", "time zone"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {time: {between: 9-17}}}", "3:51", "09:00-18:00"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {tool: X, tool: Y}}", "3:44", "twice"},
		{"version: 1\nrules:\n  - {id: a, action: deny, match: {tool: &x X}}", "3:41", "anchors"},
		{"version: 1\nrules: !!seq []", "2:8", "tags"},
		{"version: 1\nallow: [\"Bash(ls\u202e)\"]", "2:9", "invisible"},
		{"version: 1\n---\nversion: 1", "2:1", "second"},
		{"version: 1\nallow: [a\nrules: 3", "", "not YAML"},
		{"version: 1\ntests:\n  - {cmd: ls}", "3:5", "expect is missing"},
		{"version: 1\ntests:\n  - {expect: ask}", "3:5", "either cmd"},
		{"version: 1\ntests:\n  - {cmd: ls, expect: allow}", "3:5", "expected allow, got ask"},
		{"version: 1\nallow: [Bash(ls)]\ntests:\n  - {cmd: ls, expect: allow, rule: x}", "4:5", `expected the rule "x"`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.text), func(t *testing.T) {
			_, err := Load([]Source{{Name: "f", Layer: User, Data: []byte(c.text)}}, LoadOptions{})
			found := false
			for _, p := range Problems(err) {
				found = found || strings.Contains(p.Message, c.says) && (c.at == "" || fmt.Sprintf("%d:%d", p.Line, p.Column) == c.at)
				if p.Line == 0 || p.Column == 0 {
					t.Errorf("no place: %v", p)
				}
			}
			if !found {
				t.Errorf("%q: want %q at %s, got\n%v", c.text, c.says, c.at, err)
			}
		})
	}
}

// TestSchema: the schema for editors takes the example, and every file that it takes apart from
// these loads.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	schemaExample, err := schemas.Example("RulesFile")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"the example": text, "the schema's example": schemaExample, "the test's example": []byte(example)} {
		load(t, string(text))
		if err := schemas.Validate("RulesFile", asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range Packs() {
		data, err := pack(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("RulesFile", asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDocs: the page names every key of the schema, and its example loads.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := schemas.Raw("RulesFile")
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			props, _ := v["properties"].(map[string]any)
			for k := range props {
				keys++
				if !strings.Contains(string(page), "`"+k+"`") && !strings.Contains(string(page), "`"+k+":") {
					t.Errorf("docs/rules.md does not describe %s", k)
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(schema)
	if keys < 60 {
		t.Errorf("only %d keys were found", keys)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	if slices.Contains(Packs(), "builtin/git-read@1") {
		load(t, block)
	}
}

// TestVerificationDefault: the strictest file counts, and a repository's says nothing.
func TestVerificationDefault(t *testing.T) {
	for _, row := range []struct {
		managed, user, repo, want string
		notices                   int
	}{
		{"", "", "", "", 0}, {"danger", "", "", "danger", 0}, {"danger", "always", "", "always", 0},
		{"always", "danger", "", "always", 0}, {"", "", "always", "", 1}, {"danger", "", "always", "danger", 1},
	} {
		var sources []Source
		for _, f := range []struct {
			layer Layer
			value string
		}{{Repository, row.repo}, {User, row.user}, {Managed, row.managed}} {
			if f.value != "" {
				sources = append(sources, Source{Name: string(f.layer), Layer: f.layer, Data: []byte("version: 1\ndefaults: {verification: " + f.value + "}")})
			}
		}
		s, err := Load(sources, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Verification(); got != row.want || len(s.Notices()) != row.notices {
			t.Errorf("%+v: got %q, notices %v", row, got, s.Notices())
		}
	}
}

// TestLayers: a repository's file may only tighten, and nobody undoes another's deny.
func TestLayers(t *testing.T) {
	source := func(name string, layer Layer, text string) Source {
		return Source{Name: name, Layer: layer, Data: []byte("version: 1\n" + text)}
	}
	s, err := Load([]Source{
		source("repo.yaml", Repository, "allow: [Bash(make), WebSearch]\nuse: [builtin/readonly@1]\ndeny: [Bash(npm publish *)]\ndefaults: {timeout: 24h, on_timeout: deny}\nask: [Bash(npm run e2e)]"),
		source("user.yaml", User, "allow: [Bash(npm *), Bash(docker ps)]\ndefaults: {timeout: 5m}"),
		source("managed.yaml", Managed, "deny: [Bash(docker *)]"),
	}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		command string
		want    hook.Action
		file    string
	}{
		{"make", hook.ActionAsk, ""},
		{"npm test", hook.ActionAllow, "user.yaml"},
		{"npm publish", hook.ActionDeny, "repo.yaml"},
		{"docker ps", hook.ActionDeny, "managed.yaml"},
		{"npm run e2e", hook.ActionAsk, "repo.yaml"},
	} {
		t.Run(row.command, func(t *testing.T) {
			v := s.Eval(bash(row.command))
			if v.Action != row.want || v.File != row.file {
				t.Errorf("got %+v, want %s by %q", v, row.want, row.file)
			}
			if v.Action == hook.ActionAsk && (v.Timeout.String() != "5m0s" || v.OnTimeout != hook.Deny) {
				t.Errorf("got timeout %s, then %s", v.Timeout, v.OnTimeout)
			}
		})
	}
	if n := len(s.Notices()); n != 3 {
		t.Errorf("%d notices, want one for each ignored entry: %v", n, s.Notices())
	}
	if len(s.Rules()) != 5 {
		t.Errorf("%+v", s.Rules())
	}
}

// TestEmpty: without files, and with the zero Set, everything is asked.
func TestEmpty(t *testing.T) {
	s, err := Load(nil, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Set{s, {}} {
		for _, c := range []Call{{}, bash("ls"), {Tool: "Read"}, {Tool: "Bash", Input: json.RawMessage(`[`)}} {
			if v := s.Eval(c); v.Action != hook.ActionAsk {
				t.Errorf("%+v", v)
			}
		}
	}
}
