package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

func TestUnderlined(t *testing.T) {
	for _, tt := range []struct {
		line       string
		start, end int
		most       int
		text, mark string
	}{
		{"git push -f", 4, 8, 80, "git push -f", "    ^^^^"},
		{"x", 1, 1, 80, "x", " ^"},
		{"", 0, 0, 80, "", "^"},
		{"漢字 x", 7, 8, 80, "漢字 x", "     ^"},
		{"é\u0301e x", 5, 6, 80, "é\u0301e x", "  ^"},
		{"\u202e x", 4, 5, 80, "⟦U+202E⟧ x", "         ^"},
		{"0123456789abcdefghij", 10, 12, 12, "…6789abcdef…", "     ^^"},
		{"0123456789abcdefghij", 0, 20, 12, "012345…hij", "^^^^^^^^^^"},
		{strings.Repeat("x", 1000) + "git" + strings.Repeat("y", 1000), 1000, 1003, 20, "…xxxxxxxxgityyyyyyy…", "         ^^^"},
	} {
		text, mark := underlined(tt.line, tt.start, tt.end, tt.most)
		if text != tt.text || mark != tt.mark {
			t.Errorf("%q %d-%d in %d:\n%q\n%q, want\n%q\n%q", tt.line, tt.start, tt.end, tt.most, text, mark, tt.text, tt.mark)
		}
	}
}

func FuzzUnderlined(f *testing.F) {
	f.Add("git push -f origin main", 4, 8)
	f.Add(strings.Repeat("漢\u0301\x1b[2J\u202e", 50), 100, 300)
	f.Fuzz(func(t *testing.T, line string, start, end int) {
		if strings.Contains(line, "\n") || start < 0 || start > len(line) || end < start || end > len(line) {
			t.Skip()
		}
		text, marks := underlined(line, start, end, ruleColumns)
		if !utf8.ValidString(text) || readable(text) != text || strings.ContainsAny(text, "\n\t") {
			t.Errorf("not safe to show: %q", text)
		}
		if width(text) > ruleColumns || strings.Contains(text, "……") && !strings.Contains(line, "…") || width(marks) > ruleColumns || !strings.HasSuffix(marks, "^") {
			t.Errorf("%d and %d columns:\n%q\n%q", width(text), width(marks), text, marks)
		}
	})
}

func testEvaluator(t testing.TB, text string) *evaluator {
	t.Helper()
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Layer: policy.User, Data: []byte(text)}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &evaluator{set: set, cwd: "/home/user/project", places: map[string]policy.Call{}}
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
		if err := e.run(t.Context(), bytes.NewReader(append(line, '\n')), &out); err != nil {
			t.Fatal(err)
		}
		var got evaluated
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

// TestEvalAnswersAtOnce holds that a program may wait for an answer before it asks again.
func TestEvalAnswersAtOnce(t *testing.T) {
	e := testEvaluator(t, "version: 1\n")
	in, asks := pipe(t)
	answers, out := pipe(t)
	done := make(chan error, 1)
	go func() { done <- e.run(t.Context(), in, out) }()
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

func TestReplayKind(t *testing.T) {
	person, rule := &hook.Approver{Kind: "device", Name: "phone"}, &hook.Approver{Kind: hook.KindRule, ID: "x"}
	for _, tt := range []struct {
		outcome hook.Outcome
		reason  string
		by      *hook.Approver
		now     hook.Action
		want    string // empty: as it went
	}{
		{hook.Denied, "", person, hook.ActionAllow, "denied-now-allowed"},
		{hook.Denied, "", rule, hook.ActionAllow, "ruled-denied-now-allowed"},
		{hook.Expired, "deadline", nil, hook.ActionAllow, "open-now-allowed"},
		{hook.Withdrawn, hook.ReasonHangup, nil, hook.ActionAllow, "open-now-allowed"}, // perhaps a No in the terminal
		{hook.Withdrawn, hook.ReasonToolRan, nil, hook.ActionAllow, "allowed-now-allowed"},
		{hook.Allowed, "", person, hook.ActionAllow, "allowed-now-allowed"},
		{hook.Allowed, "", rule, hook.ActionAllow, ""},
		{hook.Allowed, "", person, hook.ActionDeny, "allowed-now-denied"},
		{hook.Allowed, "", rule, hook.ActionDeny, "allowed-now-denied"},
		{hook.Withdrawn, hook.ReasonToolRan, nil, hook.ActionDeny, "allowed-now-denied"},
		{hook.HandedBack, "", nil, hook.ActionDeny, "open-now-denied"},
		{hook.Denied, "", person, hook.ActionDeny, "denied-now-denied"},
		{hook.Denied, "", rule, hook.ActionDeny, ""},
		{hook.Allowed, "", person, hook.ActionAsk, ""},
		{hook.Denied, "", person, hook.ActionAsk, ""},
		{hook.Expired, "", nil, hook.ActionAsk, ""},
		{hook.Allowed, "", rule, hook.ActionAsk, "ruled-now-asked"},
		{hook.Denied, "", rule, hook.ActionAsk, "denied-now-asked"},
	} {
		r := &api.Request{Outcome: tt.outcome, Reason: tt.reason, DecidedBy: tt.by}
		got := ""
		if kind, ok := replayKind(r, tt.now); ok {
			got = replayKinds[kind].name
		}
		if got != tt.want {
			t.Errorf("%s %s by %v, now %s: %q, want %q", tt.outcome, tt.reason, tt.by, tt.now, got, tt.want)
		}
	}
	edited := &api.Request{Outcome: hook.Allowed, DecidedBy: person}
	edited.Response = &api.Response{HookSpecificOutput: []byte(`{"decision":{"updatedInput":{"command":"ls"}}}`)}
	if kind, ok := replayKind(edited, hook.ActionAllow); !ok || replayKinds[kind].name != "changed-now-allowed" {
		t.Error("what was allowed in another form goes as it went")
	}
}

func TestLongDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "90m": 90 * time.Minute, "24h": 24 * time.Hour} {
		if got, err := longDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1h", "0d", "d", "1w", "99999d", "-7d"} {
		if got, err := longDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestWideMeaning(t *testing.T) {
	for text, wide := range map[string]bool{
		"Bash(python:*)": true, "Bash(python3 *)": true, "Bash(python3.12 -c *)": true, "Bash(/usr/bin/python3 *)": true, "Bash(bash -c:*)": true,
		"Bash(python script.py:*)": false, "Bash(python)": false, "Bash(npm run test:*)": false, "Bash(npm run:*)": true, "Bash(git status:*)": false,
		"Bash(git:*)": true, "Bash(rm -rf:*)": false, "Bash(rm:*)": true, "Bash(ls:*)": false, "Bash(curl:*)": true, "Bash(sudo *)": true,
		"Edit": true, "Write(**)": true, "Edit(./docs/**)": false, "Read(//**)": true, "Read(./**)": false, "Read": true,
		"WebFetch": true, "WebFetch(domain:*)": true, "WebFetch(domain:go.dev)": false, "mcp__github": true, "mcp__github__*": true, "mcp__github__get_*": false,
	} {
		if got := wideMeaning(text); (got != "") != wide {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestShellWords(t *testing.T) {
	if got := shellWords([]string{"git", "commit", "-m", "it's $x", ""}); got != `git commit -m 'it'\''s $x' ''` {
		t.Error(got)
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
