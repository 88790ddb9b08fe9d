package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestFeedOfASubagent: its requests and their answers stand where its calls do, and the badge
// of an ordinary request does not repeat its title.
func TestFeedOfASubagent(t *testing.T) {
	var out bytes.Buffer
	f := feedPrinter{app: &app{out: &out}}
	for _, doc := range []string{
		`{"pos":1,"event_id":"E1","kind":"tool.pre","level":"info","actor_id":"subagent:a","title":"● Bash(make)","ui":{"badge":"TOOL"},"data":{}}`,
		`{"pos":2,"event_id":"E2","kind":"permission.request","level":"warn","actor_id":"system","title":"⚠ Permission: Bash(make)","ui":{"badge":"PERM"},"data":{"agent_id":"a"}}`,
		`{"pos":3,"event_id":"E3","kind":"permission.request","level":"warn","actor_id":"system","title":"⚠ Permission: Bash(ls)","ui":{"badge":"ODD"},"marks":["no_event"],"data":{}}`,
		`{"pos":4,"event_id":"E4","kind":"permission.decision","level":"info","actor_id":"system","cause":{"parent_event_id":"E2"},"title":"✓ Allowed Bash(make)","data":{}}`,
		`{"pos":5,"event_id":"E5","kind":"permission.decision","level":"info","actor_id":"system","cause":{"parent_event_id":"E3"},"title":"✓ Allowed Bash(ls)","data":{}}`,
		`{"pos":6,"event_id":"E6","kind":"permission.overruled","level":"error","actor_id":"system","cause":{"parent_event_id":"E4"},"title":"‼ Overruled","ui":{"badge":"OVERRULED"},"data":{}}`,
	} {
		if err := f.print([]byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		got = append(got, l[len("15:04:05  "):])
	}
	want := []string{
		"  │ ● Bash(make)", "  │ ⚠ Permission: Bash(make)", "⚠ Permission: Bash(ls)  [ODD] (no event)",
		"  │ ✓ Allowed Bash(make)", "✓ Allowed Bash(ls)", "  │ ‼ Overruled  [OVERRULED]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it reads\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
