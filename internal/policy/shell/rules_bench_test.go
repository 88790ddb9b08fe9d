package shell_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"assent/internal/hook"
	"assent/internal/policy"
)

// ruled is 206 characters and eight commands that the rules below allow.
const ruled = `ls src && git status --short | head -n 20; grep -rn "TODO" internal cmd | sort | uniq -c && go test ./internal/... -run TestX -count=1 2>&1 | tail -n 40 && echo "all of the tests have now passed, thank you"`

// BenchmarkRules reports the cost of a verdict under many structured rules as a ratio to a bare
// parse and walk in the same run. It stands here because the parser may be imported nowhere else.
func BenchmarkRules(b *testing.B) {
	if len(ruled) != 206 {
		b.Fatalf("%d characters", len(ruled))
	}
	input, err := json.Marshal(map[string]string{"command": ruled})
	if err != nil {
		b.Fatal(err)
	}
	call := policy.Call{Agent: "claude", Tool: "Bash", Input: input, Cwd: "/home/user/project", Project: "/home/user/project", Home: "/home/user", Shell: "bash", Time: time.Now()}
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			set := ruleset(b, n)
			if v := set.Eval(call); v.Action != hook.ActionAllow {
				b.Fatalf("%+v", v)
			}
			parser := syntax.NewParser()
			b.ReportMetric(compare(b, func() { set.Eval(call) }, func() {
				f, err := parser.Parse(strings.NewReader(ruled), "")
				if err != nil {
					b.Fatal(err)
				}
				nodes := 0
				syntax.Walk(f, func(syntax.Node) bool { nodes++; return true })
			}), "x-bare")
		})
	}
	b.Run("rules=10000-to-1000", func(b *testing.B) {
		few, many := ruleset(b, 1000), ruleset(b, 10_000)
		b.ReportMetric(compare(b, func() { many.Eval(call) }, func() { few.Eval(call) }), "x-fewer")
	})
}

func ruleset(b *testing.B, n int) *policy.Set {
	set, err := policy.Load([]policy.Source{{Name: "bench.yaml", Layer: policy.User, Data: []byte(structured(n))}}, policy.LoadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return set
}

// compare runs ours and theirs in turns and returns the ratio of the medians of what they use of the
// processors: on a machine that others use too, most of the time may be theirs.
func compare(b *testing.B, ours, theirs func()) float64 {
	var took [2][]time.Duration
	for b.Loop() {
		for i, f := range []func(){ours, theirs} {
			begun := cpuTime()
			for range 20 {
				f()
			}
			took[i] = append(took[i], cpuTime()-begun)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	return float64(took[0][len(took[0])/2]) / float64(took[1][len(took[1])/2])
}

// cpuTime is what this process has used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// structured writes n rules, of which nine are about the line and a third of the others about
// programs in it.
func structured(n int) string {
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
