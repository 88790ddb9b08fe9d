package feed_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/schemas"
)

// A denial always has a message, other decisions never an empty one; both read back.
func TestDenialAlwaysHasAMessage(t *testing.T) {
	for _, d := range []feed.PermissionDecisionData{
		{DecisionType: feed.DecideDeny}, {DecisionType: feed.DecideDeny, Message: "no", Interrupt: true, Outcome: "denied"},
		{DecisionType: feed.DecideAllow}, {DecisionType: feed.DecideNoOpinion, Reason: "deadline"},
	} {
		b, err := json.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(b), `"message":`); has != (d.DecisionType == feed.DecideDeny) || strings.Count(string(b), "message") > 1 {
			t.Errorf("%s", b)
		}
		var back feed.PermissionDecisionData
		if err := json.Unmarshal(b, &back); err != nil || back.Message != d.Message || back.Interrupt != d.Interrupt || back.Outcome != d.Outcome || back.Reason != d.Reason {
			t.Errorf("%s came back as %+v, %v", b, back, err)
		}
	}
}

// TestTags: what an agent says of a task's tags stands in todo.add, a change in todo.update, and the
// list of tasks has the last ones.
func TestTags(t *testing.T) {
	s := feed.New("s")
	tell := func(n int, todos string) (out []string) {
		raw := `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_use_id":"t` + strconv.Itoa(n) + `","tool_input":{"todos":` + todos + `},"tool_response":{}}`
		for _, e := range event(hook.Event{ID: strconv.Itoa(n), Agent: "claude", Type: "PostToolUse", Seq: uint64(n), Time: start, Raw: []byte(raw)}).fold(s) {
			if !strings.HasPrefix(string(e.Kind), "todo.") {
				continue
			}
			b, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := schemas.Validate("feed/Event", b); err != nil {
				t.Error(err)
			}
			var x struct {
				Data struct {
					Tags  []string
					Patch struct{ Tags []string }
				}
			}
			if err := json.Unmarshal(b, &x); err != nil {
				t.Fatal(err)
			}
			out = append(out, string(e.Kind)+strings.Join(x.Data.Tags, ",")+strings.Join(x.Data.Patch.Tags, ","))
		}
		return out
	}
	for i, c := range []struct{ todos, want string }{
		{`[{"content":"a","status":"pending","tags":["x","y","x",""]}]`, "[todo.addx,y]"},
		{`[{"content":"a","status":"pending"}]`, "[]"},
		{`[{"content":"a","status":"pending","tags":["y"]}]`, "[todo.updatey]"},
		{`[{"content":"a","status":"pending","tags":["y"]}]`, "[]"},
		{`[{"content":"a","status":"pending","tags":7}]`, "[]"},
	} {
		if got := fmt.Sprint(tell(i+1, c.todos)); got != c.want {
			t.Errorf("%s: %s, want %s", c.todos, got, c.want)
		}
	}
	if tasks := s.Info(start).Tasks; len(tasks) != 1 || !slices.Equal(tasks[0].Tags, []string{"y"}) {
		t.Errorf("%+v", tasks)
	}
}
