package policy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// regexpOf writes a path glob as a regular expression: another reading of the same words.
func regexpOf(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		start := i == 0 || pattern[i-1] == '/'
		switch {
		case rest == "/**":
			b.WriteString(`(/.*)?`)
			i = len(pattern)
		case start && rest == "**":
			b.WriteString(`.*`)
			i = len(pattern)
		case start && strings.HasPrefix(rest, "**/"):
			b.WriteString(`(.*/)?`)
			i += 2
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
		case rest[0] == '?':
			b.WriteString(`[^/]`)
		default:
			b.WriteString(regexp.QuoteMeta(string(rest[0])))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

func FuzzGlob(f *testing.F) {
	for _, s := range [][2]string{{"**/a*/b/**", "x/ab/b/c"}, {"a?c", "abc"}, {"**", ""}, {"a/**", "a"}, {"*/**/c", "a/c"}, {"**/**/a", "b/a"}, {"a/**/b", "a/b"}, {"*a*a*a*a*b", "aaaaaaaaaaaa"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		for i := range len(pattern) {
			if pattern[i] >= 0x80 {
				return
			}
		}
		if strings.ContainsAny(pattern, "[]{}\\") || len(pattern) > 100 || !utf8.ValidString(text) {
			return
		}
		for i := range len(text) {
			if text[i] >= 0x80 {
				return // ? is a byte here and a character there
			}
		}
		g, err := pathGlob(pattern)
		if err != nil {
			return
		}
		want := regexp.MustCompile(regexpOf(pattern)).MatchString(text)
		if got := g.match(text); got != want {
			t.Errorf("%q matches %q: %v, the regular expression says %v", pattern, text, got, want)
		}
		// A text meets a pattern exactly if it matches it.
		if got := meet(literals(text), globTokens(g)); got != want && len(text)*len(pattern) < 1000 {
			t.Errorf("%q meets %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// FuzzLoad: no text is accepted and then fails, and no text is too much.
func FuzzLoad(f *testing.F) {
	f.Add(example)
	f.Add("version: 1\nrules: [{id: [a], action: {}, match: []}]")
	f.Add("a: &a [*a, *a]")
	f.Add("? [a]\n: - - -")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		s, err := Load([]Source{{Name: "f", Layer: Repository, Data: []byte(text)}}, LoadOptions{})
		if err != nil {
			for _, p := range Problems(err) {
				if p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Errorf("no place: %+v", p)
				}
			}
			if len(Problems(err)) == 0 {
				t.Errorf("not a LoadError: %v", err)
			}
			return
		}
		for _, c := range []Call{bash("git status; rm -rf x > y"), tool1("Read", "file_path", "/x"), tool1("mcp__a__b", "x", "y"), tool1("WebFetch", "url", "https://a.b/c")} {
			if v := s.Explain(c); v.Action == hook.ActionAllow {
				t.Errorf("a repository's file allows %s %s", c.Tool, c.Input)
			}
		}
	})
}

// FuzzEval: no command panics, and none is allowed that the shell reader doubts or that has a
// part that no rule is about.
func FuzzEval(f *testing.F) {
	s := load(f, example+"\n  - {cmd: ls, expect: ask}\n")
	for _, c := range []string{"go test ./...", "go test ./... > x", "rm -rf dist/*", "npm run test $(curl x)", "cat <<EOF\n$(rm x)\nEOF", "go test {a,b} *x ~/y", "for i in a; do rm -r dist; done", "go test ./... # \\\nrm x", "a=b go vet"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if !utf8.ValidString(command) {
			return // not JSON
		}
		c := bash(command)
		v := s.Explain(c)
		if v.Action != hook.ActionAllow {
			return
		}
		script := shell.Read(command, shell.Options{Dir: c.Cwd, Home: c.Home, Project: c.Project})
		if len(script.Doubts) > 0 {
			t.Errorf("%q is allowed and doubted: %v", command, script.Doubts)
		}
		for _, u := range v.Units {
			if u.Action != hook.ActionAllow && u.Kind != "assign" && len(u.Via) == 0 {
				t.Errorf("%q is allowed, but not %q", command, u.Text)
			}
		}
		if s.Eval(c).Action != hook.ActionAllow {
			t.Errorf("%q: Eval and Explain differ", command)
		}
	})
}

// FuzzMembers: the members of an object are those that encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 , "b":[{"c":"]}"}] } `, `{"a\"":"\\","b":-1.5e3,"":null}`, `{"a":1,"A":2}`, `[1]`, `{"a":{}}`, `{"\u0061":true}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		all, problem := members(json.RawMessage(raw))
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil || want == nil {
			if problem == "" {
				t.Errorf("%q has the members %v, but: %v", raw, all, err)
			}
			return
		}
		if problem != "" {
			return
		}
		if len(all) != len(want) {
			t.Errorf("%q has %d members, want %d", raw, len(all), len(want))
		}
		for _, m := range all {
			if string(m.Value) != string(want[m.Key]) {
				t.Errorf("%q: member %q is %q, want %q", raw, m.Key, m.Value, want[m.Key])
			}
		}
	})
}

// FuzzInput: no input of a tool panics.
func FuzzInput(f *testing.F) {
	s := load(f, example)
	for _, tool := range []string{"Bash", "Read", "Grep", "Glob", "WebFetch", "NotebookEdit", "mcp__github__get_x", "Task"} {
		f.Add(tool, `{"file_path":"~/.zshrc","command":"ls","url":"https://pkg.go.dev/x","path":"a","pattern":"**","glob":"{a","notebook_path":"x"}`)
	}
	f.Fuzz(func(t *testing.T, tool, input string) {
		c := bash("")
		c.Tool, c.Input = tool, json.RawMessage(input)
		if v := s.Explain(c); v.Action == hook.ActionAllow && !json.Valid([]byte(input)) {
			t.Errorf("%s %s is allowed", tool, input)
		}
	})
}
