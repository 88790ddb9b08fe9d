package batch

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

func testEvaluator(t testing.TB, text string) *Evaluator {
	t.Helper()
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Layer: policy.User, Data: []byte(text)}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Set: set, Cwd: "/home/user/project", CallIn: func(cwd string) policy.Call { return policy.Call{Cwd: cwd, Project: cwd} }})
}

// FuzzEvalLine holds that every line gets one line that says what it should, whatever it holds,
// and that nothing is allowed but what a second reader takes for the one thing that is.
func FuzzEvalLine(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"command":"git status"}`, `{"command":"git status","Command":"rm"}`, `{"id":"a\u0000","tool":"Bash","input":{"command":"git status"}}`,
		`{"command":"git status"} {}`, `{"command":null}`, `[`, "", "\xff", `{"id":1,"id":2,"command":"git status"}`, `{"command":"git status","cwd":"x"}`,
	} {
		f.Add([]byte(line))
	}
	e := testEvaluator(f, "version: 1\nallow: [\"Bash(git status)\"]\n")
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			t.Skip()
		}
		var out bytes.Buffer
		if err := e.Run(t.Context(), bytes.NewReader(append(line, '\n')), &out); err != nil {
			t.Fatal(err)
		}
		var got Answer
		if bytes.Count(out.Bytes(), []byte("\n")) != 1 || json.Unmarshal(out.Bytes(), &got) != nil || got.Reason == "" {
			t.Fatalf("answered %q", out.String())
		}
		if !bytes.Equal(show.JSON(out.Bytes()), out.Bytes()) {
			t.Errorf("not fit for a terminal: %q", out.String())
		}
		switch got.Verdict {
		case hook.ActionAsk:
		case hook.ActionAllow:
			var in struct {
				Command *string
				Input   *struct{ Command string }
			}
			err := json.Unmarshal(line, &in) // in any letters, the last one counts
			if err != nil || in.Command != nil && strings.Join(strings.Fields(*in.Command), " ") != "git status" ||
				in.Input != nil && strings.Join(strings.Fields(in.Input.Command), " ") != "git status" {
				t.Errorf("%q is allowed", line)
			}
		default:
			t.Errorf("verdict %q", got.Verdict)
		}
	})
}

// A line is answered with what the rules say, and with ask and the reason where it is in doubt.
func TestLine(t *testing.T) {
	rules := "version: 1\nallow: [\"Bash(git status)\", \"Read(//etc/hosts)\"]\ndeny: [\"Bash(rm *)\"]\n"
	for _, tt := range []struct {
		name, line string
		want       string // the answer without its reason
		reason     string // a part of it
	}{
		{"allowed", `{"id":1,"command":"git status"}`, `{"id":1,"verdict":"allow","rule":"Bash(git status)"}`, "a rule allows it"},
		{"denied", `{"command":"rm x"}`, `{"verdict":"deny","rule":"Bash(rm *)"}`, "a rule denies it"},
		{"nothing said", `{"id":"a","command":"ls"}`, `{"id":"a","verdict":"ask"}`, "no rule allows"},
		{"another tool", `{"tool":"Read","input":{"file_path":"/etc/hosts"}}`, `{"verdict":"allow","rule":"Read(//etc/hosts)"}`, "a rule allows it"},
		{"a tool's input as the command's", `{"tool":"Bash","input":{"command":"git status"}}`, `{"verdict":"allow","rule":"Bash(git status)"}`, "a rule allows it"},
		{"an empty line", ` `, `{"verdict":"ask"}`, "the line is empty"},
		{"not UTF-8", "{\"command\":\"\xff\"}", `{"verdict":"ask"}`, "not UTF-8"},
		{"no object", `[1]`, `{"verdict":"ask"}`, "no JSON object"},
		{"two objects", `{"command":"git status"} {}`, `{"verdict":"ask"}`, "more on the line"},
		{"a member twice", `{"id":7,"command":"ls","command":"git status"}`, `{"id":7,"verdict":"ask"}`, `"command" stands there twice`},
		{"a member in other letters", `{"command":"git status","Cwd":"/"}`, `{"verdict":"ask"}`, `"cwd" stands there twice, or in other letters`},
		{"a command and an input", `{"command":"git status","input":{}}`, `{"verdict":"ask"}`, "a command and an input"},
		{"a command for another tool", `{"tool":"Read","command":"git status"}`, `{"verdict":"ask"}`, "for the tool Bash"},
		{"neither", `{"id":1}`, `{"id":1,"verdict":"ask"}`, "no command and no input"},
		{"no text", `{"command":["git","status"]}`, `{"verdict":"ask"}`, `"command" is not a text`},
		{"a relative directory", `{"command":"git status","cwd":"x"}`, `{"verdict":"ask"}`, "cwd is no absolute path"},
		{"a relative project", `{"command":"git status","project":"x"}`, `{"verdict":"ask"}`, "project is no absolute path"},
		{"an odd time", `{"command":"git status","time":"noon"}`, `{"verdict":"ask"}`, "time is not such as"},
		{"null is nothing", `{"command":"git status","cwd":null}`, `{"verdict":"allow","rule":"Bash(git status)"}`, "a rule allows it"},
		{"rules, which count for nothing", `{"command":"ls","rules":{"allow":["Bash(ls)"]}}`, `{"verdict":"ask"}`, "no rule allows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := testEvaluator(t, rules).line([]byte(tt.line))
			if !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got the reason %q, want %q", got.Reason, tt.reason)
			}
			got.Reason = ""
			text, err := json.Marshal(got)
			if text = bytes.Replace(text, []byte(`,"reason":""`), nil, 1); err != nil || string(text) != tt.want {
				t.Errorf("got %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

// Where it is allowed, a call may bring the rules that it is asked by, and they count instead.
func TestOwnRules(t *testing.T) {
	e := testEvaluator(t, "version: 1\nallow: [\"Bash(ls)\"]\n")
	e.cfg.OwnRules = true
	for _, tt := range []struct{ line, want, reason string }{
		{`{"command":"pwd","rules":{"allow":["Bash(pwd)"]}}`, "allow", "a rule allows it"},
		{`{"command":"ls","rules":{"allow":["Bash(pwd)"]}}`, "ask", "no rule allows"},
		{`{"command":"ls","rules":{}}`, "ask", "no rule"},
		{`{"command":"ls"}`, "allow", "a rule allows it"},
		{`{"command":"ls","rules":[]}`, "ask", "its rules are no JSON object"},
		{`{"command":"ls","rules":{"alow":[]}}`, "ask", "its rules have mistakes"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			for range 2 { // the second time they are remembered
				if got := e.line([]byte(tt.line)); string(got.Verdict) != tt.want || !strings.Contains(got.Reason, tt.reason) {
					t.Errorf("got %s: %s, want %s: %s", got.Verdict, got.Reason, tt.want, tt.reason)
				}
			}
		})
	}
}

// A line that is too long is answered unread, and the next one is read.
func TestLongLine(t *testing.T) {
	e := testEvaluator(t, "version: 1\nallow: [\"Bash(ls)\"]\n")
	in := `{"command":"ls` + strings.Repeat(" ", maxLine) + "\"}\n{\"id\":2,\"command\":\"ls\"}"
	var out bytes.Buffer
	if err := e.Run(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "more than 8388608 bytes") || !strings.HasPrefix(lines[1], `{"id":2,"verdict":"allow"`) {
		t.Errorf("got %q", lines)
	}
}

// TestAnswersAtOnce holds that a program may wait for an answer before it asks again.
func TestAnswersAtOnce(t *testing.T) {
	e := testEvaluator(t, "version: 1\n")
	in, asks := pipe(t)
	answers, out := pipe(t)
	done := make(chan error, 1)
	go func() { done <- e.Run(t.Context(), in, out) }()
	for range 3 {
		if _, err := asks.WriteString(`{"command":"ls"}` + "\n"); err != nil {
			t.Fatal(err)
		}
		var answer [200]byte
		n, err := answers.Read(answer[:])
		if err != nil || !strings.HasSuffix(string(answer[:n]), "\n") {
			t.Fatalf("answered %q, %v", answer[:n], err)
		}
	}
	asks.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
