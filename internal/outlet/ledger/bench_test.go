package ledger

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

// benchRows makes mutations as an agent does: most on one branch, of one agent, before and after
// each call, with payloads of 1 KB.
func benchRows(root string, from, n int) []hook.Mutation {
	filler := strings.Repeat("x", 800)
	tools := []string{"write", "edit", "edit", "bash", "bash", "multiedit", "mcp__files__move"}
	list := make([]hook.Mutation, n)
	for i := range list {
		k := from + i
		m := mutation(root, k)
		m.EventID = fmt.Sprintf("%08x-0000-8000-8000-%012x", uint32(k)*2654435761, k) // in no order, as UUIDs are
		m.ToolName = tools[k%len(tools)]
		m.EventType = hook.MutationPrefix + m.ToolName
		*m.FilePath = fmt.Sprintf("%s/src/package%d/file%d.go", root, k%97, k%9973)
		m.HookType = []string{"pre_tool_use", "post_tool_use"}[k%2]
		m.Timestamp = day.Add(time.Duration(k) * 10 * time.Second)
		if k%1000 == 1 {
			m.AgentID = "rare"
		}
		if k%500 == 1 {
			m.Repo.Branch = "feature/rare"
		}
		if k%2000 == 3 {
			m.HookType = "post_tool_use_failure"
		}
		m.RawPayload = hook.JSON(fmt.Sprintf(`{"session_id":"s","tool_input":{"content":"%s%d"}}`, filler, k))
		list[i] = m
	}
	return list
}

// BenchmarkInsert stores as a Follower under load does: batches, each in a file opened anew.
func BenchmarkInsert(b *testing.B) {
	root := repository(b)
	n, took := 0, time.Duration(0)
	for b.Loop() {
		list := benchRows(root, n, batchItems)
		begun := time.Now()
		if failed := Store(b.Context(), list); failed != nil {
			b.Fatal(failed)
		}
		took += time.Since(begun)
		n += len(list)
	}
	b.ReportMetric(float64(n)/took.Seconds(), "rows/s")
}

var ledgerRows = flag.Int("ledger-rows", 100_000, "how many rows BenchmarkQuery searches")

// BenchmarkQuery looks for what people look for.
func BenchmarkQuery(b *testing.B) {
	root := repository(b)
	l, err := Open(root)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < *ledgerRows; n += 10_000 {
		if err := l.Add(b.Context(), benchRows(root, n, 10_000)); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	last := day.Add(time.Duration(*ledgerRows) * 10 * time.Second)
	middle := day.Add(time.Duration(*ledgerRows) * 5 * time.Second)
	for _, tt := range []struct {
		name string
		f    Filter
	}{
		{"since", Filter{Since: last.Add(-time.Hour)}},
		{"file", Filter{Files: []string{root + "/src/package5/file5.go", "src/package5/file5.go"}}},
		{"file-and-since", Filter{Files: []string{root + "/src/package5/file5.go"}, Since: last.Add(-24 * time.Hour)}},
		{"agent", Filter{Agent: "rare"}},
		{"agent-and-since", Filter{Agent: "unknown", Since: last.Add(-time.Hour)}},
		{"branch", Filter{Branch: "feature/rare"}},
		{"branch-and-since", Filter{Branch: "main", Since: last.Add(-time.Hour)}},
		{"two-hours-long-ago", Filter{Since: middle, Until: middle.Add(2 * time.Hour), Tool: "edit"}},
		{"failures", Filter{HookType: "post_tool_use_failure"}},
		{"newest", Filter{Newest: 100, Branch: "main"}},
		{"none", Filter{Branch: "no such"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			if tt.f.HookType == "" {
				tt.f.HookType = "post_tool_use"
			}
			var took []time.Duration
			found := 0
			for b.Loop() {
				begun := time.Now()
				found = len(rows(b, root, tt.f))
				took = append(took, time.Since(begun))
			}
			slices.SortFunc(took, func(a, b time.Duration) int { return cmp.Compare(a, b) })
			b.ReportMetric(float64(found), "rows")
			b.ReportMetric(took[len(took)*95/100].Seconds()*1000, "p95-ms")
		})
	}
}
