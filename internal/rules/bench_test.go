package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// line is 206 characters and eight commands.
const line = `ls src && git status --short | head -n 20; grep -rn "TODO" internal cmd | sort | uniq -c && go test ./internal/... -run TestX -count=1 2>&1 | tail -n 40 && echo "all of the tests have now passed, thank you"`

// manyRules writes n structured rules, of which a few are about the line.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i, m := range []string{
		`{program: ls, args: ["*"]}`, `{program: git, args: [[status, log, diff], ...], flags: {only: [--short, -s, -b]}}`,
		`{program: head, flags: {only: ["-n="]}}`, `{program: tail, flags: {only: ["-n="]}}`, `{program: grep, flags: {only: [-r, -n, -i]}}`,
		`{program: sort, flags: {only: [-r, -u]}}`, `{program: uniq, args: [], flags: {only: [-c]}}`,
		`{program: go, args: [test, ...], flags: {only: ["-run=", "-count="]}}`, `{program: echo}`,
	} {
		fmt.Fprintf(&b, "  - {id: own-%d, action: allow, match: {command: %s}}\n", i, m)
	}
	for i := 9; i < n; i++ {
		action := []string{"allow", "ask", "deny"}[i%3]
		program := []string{"git", "go", "kubectl", "docker", fmt.Sprintf("tool%d", i)}[i%5]
		fmt.Fprintf(&b, "  - {id: r-%d, action: %s, match: {command: {program: %s, args: [sub%d, ...], flags: {only: [-a, --long]}}}}\n", i, action, program, i)
	}
	return b.String()
}

func parseAndWalk(b *testing.B, text string) int {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		b.Fatal(err)
	}
	calls := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.CallExpr); ok {
			calls++
		}
		return true
	})
	return calls
}

// BenchmarkParseAndWalk is what the others are compared with: the parser alone.
func BenchmarkParseAndWalk(b *testing.B) {
	if len(line) != 206 {
		b.Fatalf("the line has %d characters", len(line))
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := parseAndWalk(b, line); n != 8+1 {
			b.Fatal(n)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			s := load(b, manyRules(n))
			c := bash(line)
			if v := s.Eval(c); v.Action != Allow {
				b.Fatalf("%+v", v)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Eval(c)
			}
		})
	}
}

// BenchmarkHostile is the worst that is known for the time of one call.
func BenchmarkHostile(b *testing.B) {
	s := load(b, example)
	for name, cmd := range map[string]string{
		"units":   strings.Repeat("a;", 5000),
		"words":   "rm -r " + strings.Repeat("a ", 4990),
		"paths":   "cat " + strings.Repeat("a/b/c/../d ", 900),
		"dynamic": "git " + strings.Repeat("$x ", 3000),
		"long":    "cat " + strings.Repeat("a", 60_000),
		"nested":  strings.Repeat("$(", 30_000),
		"globs":   "cat " + strings.Repeat("*", 9_000),
	} {
		c := bash(cmd)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Eval(c)
			}
		})
	}
	deep := Call{Tool: "Read", Cwd: "/p", Project: "/p", Input: json.RawMessage(strings.Repeat(`{"a":`, 100_000))}
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			s.Eval(deep)
		}
	})
}
