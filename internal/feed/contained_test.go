package feed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/policy/contained"
)

// TestContained: a call that ran contained is told as what was asked for, and how it ran. What somebody else
// wrote in the same form is told as it came.
func TestContained(t *testing.T) {
	asked := `{"command":"cat a","description":"d"}`
	ran, err := contained.Rewrite([]byte(asked), contained.Command{Program: "/bin/assent-contain", Project: "/p", Shell: "bash", Text: "cat a"})
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(ran), "cat a", "cat b", 1)
	s := feed.New("s")
	seq := uint64(0)
	tell := func(typ, id, input string) feed.Event {
		t.Helper()
		seq++
		raw := fmt.Sprintf(`{"session_id":"s","hook_event_name":%q,"tool_name":"Bash","tool_input":%s,"tool_use_id":%q,"error":"no"}`, typ, input, id)
		out := event(hook.Event{ID: fmt.Sprint("e", seq), Agent: "claude", Type: typ, Seq: seq, Raw: []byte(raw), Time: time.Unix(1795183200, 0)}).fold(s)
		for _, e := range out {
			valid(t, e)
		}
		return out[len(out)-1]
	}
	tell("PreToolUse", "t1", asked)
	tell("PermissionRequest", "t1", asked)
	r := hook.Record{RequestID: "e2", Step: hook.StepDecided, Outcome: hook.Allowed, By: &hook.Approver{Kind: hook.KindRule, ID: "r", Name: "r"},
		Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: ran, Contain: hook.ContainRead}}
	out := s.Record(r)
	valid(t, out[0])
	if d := out[0].Data.(*feed.PermissionDecisionData); d.Contained != hook.ContainRead || d.Edited || out[0].Body != "" || !strings.HasPrefix(out[0].Title, "✓ Allowed, contained: ") || !strings.Contains(out[0].Title, "cat a") {
		t.Errorf("decided: %+v", out[0])
	}
	for input, want := range map[string]string{string(ran): asked, forged: forged, asked: asked} {
		e := tell("PostToolUse", "t9", input)
		d := e.Data.(*feed.ToolPostData)
		if string(d.ToolInput) != want || (d.Contained != "") != (input == string(ran)) || strings.Contains(e.Title, "contained") != (input == string(ran)) {
			t.Errorf("%s ran: %q %+v", input, e.Title, d)
		}
	}
	e := tell("PostToolUseFailure", "t1", string(ran))
	if d := e.Data.(*feed.ToolFailureData); string(d.ToolInput) != asked || d.Contained != hook.ContainRead || !strings.HasPrefix(e.Title, "✗ Bash (contained) failed") {
		t.Errorf("failed: %+v", e)
	}
	out = s.Record(hook.Record{RequestID: "e2", Step: hook.StepOverruled})
	valid(t, out[0])
	if d := out[0].Data.(*feed.PermissionOverruledData); d.Contained != hook.ContainRead || d.Edited || !strings.Contains(out[0].Title, "although it was allowed contained") {
		t.Errorf("overruled: %+v", out[0])
	}
}
