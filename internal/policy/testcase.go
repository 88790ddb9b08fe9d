package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// testCase is one entry of a file's tests.
type testCase struct {
	call Call
	want hook.Action
	// contain: it must be allowed contained, and no other way. Otherwise nothing can run so.
	contain bool
	rule    string // the id of the rule that must have decided; empty: any
	name    string
	at      *yaml.Node
}

// fileTests are the tests of one file, with the rules they are about.
type fileTests struct {
	file  string
	cases []testCase
	set   *Set
	home  string
}

// TestResult is the outcome of one test case of a file.
type TestResult struct {
	File         string
	Line, Column int
	Name         string // the command, or the tool and its input
	Want         hook.Action
	Got          Explanation // with Units when it failed
	Failed       string      // what was expected and what came; empty when it passed
}

// Test runs the test cases of all files. Each file is tested with its own rules and the packs
// it uses, in a project at /home/user/project that has no symbolic links.
func (s *Set) Test() []TestResult {
	var all []TestResult
	for _, f := range s.tests {
		for _, t := range f.cases {
			r := TestResult{File: f.file, Line: t.at.Line, Column: t.at.Column, Name: t.name, Want: t.want}
			c := t.call
			c.Contain = t.contain
			c.Home = f.home
			c.Project = f.home + "/project"
			if c.Cwd == "" {
				c.Cwd = "${project}"
			}
			c.Cwd = testPath(c.Cwd, c.Project, c.Home)
			c.Input = json.RawMessage(strings.ReplaceAll(string(c.Input), "${project}", c.Project))
			other, differs := hook.Verdict{}, false
			if c.Shell == "" { // the broker rarely knows, and then takes it for either
				c.Shell = "bash"
				r.Got.Verdict = f.set.Eval(c)
				c.Shell = ""
				other = f.set.Eval(c)
				if differs = other.Action != r.Got.Action; differs && r.Got.Action == t.want {
					r.Got.Verdict = other
				}
			} else {
				r.Got.Verdict = f.set.Eval(c)
			}
			switch {
			case differs && other.Action != t.want:
				r.Failed = fmt.Sprintf("test %q: expected %s, got %s where the shell is not known to be bash: %s; say shell: bash to test it there only", short(t.name), t.want, other.Action, other.Reason)
			case r.Got.Action != t.want:
				r.Failed = fmt.Sprintf("test %q: expected %s, got %s", short(t.name), t.want, r.Got.Action)
				if r.Got.Rule != "" {
					r.Failed += " from the rule " + r.Got.Rule
				} else {
					r.Failed += ": " + r.Got.Reason
				}
			case t.contain && r.Got.Contain == "":
				r.Failed = fmt.Sprintf("test %q: expected contain, got allow from the rule %s", short(t.name), r.Got.Rule)
			case t.rule != "" && r.Got.Rule != t.rule:
				r.Failed = fmt.Sprintf("test %q: expected the rule %q, got %q", short(t.name), short(t.rule), r.Got.Rule)
			}
			if r.Failed != "" {
				r.Got = f.set.Explain(c)
			}
			all = append(all, r)
		}
	}
	return all
}

func testPath(s, project, home string) string {
	s = strings.ReplaceAll(s, "${project}", project)
	if s == "~" || strings.HasPrefix(s, "~/") {
		s = home + s[1:]
	}
	return s
}

// testTime is when tests take place unless they say otherwise: a Wednesday at noon.
var testTime = time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC)

func (c *compiler) tests(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		c.problem(n, "expected a list of tests, but got %s", kindOf(n))
		return
	}
	for _, item := range n.Content {
		before := len(c.problems)
		if t := c.test(item); len(c.problems) == before {
			c.out.tests = append(c.out.tests, t)
		}
	}
}

func (c *compiler) test(n *yaml.Node) testCase {
	t := testCase{at: n, call: Call{Agent: "claude", Mode: "default", Time: testTime}}
	text := func(dst *string, what string) func(*yaml.Node) {
		return func(n *yaml.Node) {
			w, _ := c.text(n, what)
			*dst = w.text
		}
	}
	command, tool := "", ""
	var input *yaml.Node
	ok := c.object(n, "a test", map[string]func(*yaml.Node){
		"cmd": func(n *yaml.Node) { // any characters: tests try hostile ones
			if n.Kind != yaml.ScalarNode || n.Value == "" {
				c.problem(n, "expected a command, but got %s", kindOf(n))
			}
			command = n.Value
		},
		"tool":  text(&tool, "the name of a tool"),
		"input": func(n *yaml.Node) { input = n },
		"cwd":   text(&t.call.Cwd, "a directory"), "repo": text(&t.call.Repo, "a repository"),
		"branch": text(&t.call.Branch, "a branch"), "agent": text(&t.call.Agent, "an agent"),
		"shell": func(n *yaml.Node) { t.call.Shell = c.oneOf(n, "the shell", "bash", "zsh") },
		"mode":  text(&t.call.Mode, "a permission mode"), "label": text(&t.call.AgentLabel, "a label"),
		"time": func(n *yaml.Node) {
			w, ok := c.text(n, "a time")
			if !ok {
				return
			}
			at, err := time.Parse(time.RFC3339, w.text)
			if err != nil {
				c.problem(n, "time is %q, expected such as 2026-01-07T12:00:00Z", short(w.text))
			}
			t.call.Time = at
		},
		"expect": func(n *yaml.Node) {
			const contain = "contain"
			if t.want = hook.Action(c.oneOf(n, "expect", string(hook.ActionAllow), string(hook.ActionAsk), string(hook.ActionDeny), contain)); t.want == contain {
				t.want, t.contain = hook.ActionAllow, true
			}
		},
		"rule": text(&t.rule, "the id of a rule"),
	})
	switch {
	case !ok:
		return t
	case t.want == "":
		c.problem(n, "the key expect is missing, expected allow, ask or deny")
	case (command == "") == (tool == ""):
		c.problem(n, "a test needs either cmd, or tool with its input")
	case command != "" && input != nil:
		c.problem(input, "input goes with tool; a cmd has none")
	}
	members := map[string]any{}
	if command != "" {
		t.call.Tool, t.name, members["command"] = tools.Bash, command, command
	} else {
		t.call.Tool, t.name = tool, tool
		if input != nil {
			if err := input.Decode(&members); err != nil {
				c.problem(input, "expected the members of the tool's input, but got %s", kindOf(input))
			}
		}
	}
	raw, err := json.Marshal(members)
	if err != nil {
		c.problem(n, "the input cannot be written as JSON: %v", err)
	}
	t.call.Input = raw
	if command == "" {
		t.name += " " + string(raw)
	}
	return t
}
