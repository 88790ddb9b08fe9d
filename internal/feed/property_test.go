package feed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assent/internal/feed"
	"assent/internal/hook"
)

var start = time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)

// anyInput draws an event or a record, from few enough ids that they meet.
func anyInput(n int) *rapid.Generator[in] {
	types := []string{"SomethingNew", ""}
	for _, r := range feed.Table() {
		types = append(types, r.Event)
	}
	return rapid.Custom(func(t *rapid.T) in {
		rid := rapid.SampledFrom([]string{"q1", "q2", "q3", "q4"}).Draw(t, "request")
		at := start.Add(time.Duration(n) * time.Second)
		if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
			return in{session: "s", record: anyRecord(t, rid, at)}
		}
		typ := rapid.SampledFrom(types).Draw(t, "type")
		e := hook.Event{ID: fmt.Sprintf("e%d", n), Type: typ, Agent: "claude", Seq: uint64(n + 1), Time: at}
		if typ == "PermissionRequest" {
			e.ID = rid
		} else if rapid.IntRange(0, 20).Draw(t, "again") == 0 {
			e.ID = "e1"
		}
		switch rapid.IntRange(0, 12).Draw(t, "time") {
		case 0:
			e.Spooled = true
		case 1:
			e.Spooled, e.Time = true, at.Add(-time.Hour)
		case 2:
			e.Time = at.Add(time.Duration(rapid.IntRange(-9e5, 9e5).Draw(t, "hours")) * time.Hour)
		case 3:
			e.Time = time.Time{}
		}
		m := map[string]any{"session_id": "s", "hook_event_name": typ}
		draw := func(key string, values ...any) {
			if v := rapid.SampledFrom(append(values, nil)).Draw(t, key); v != nil {
				m[key] = v
			}
		}
		draw("agent_id", "a1", "a2", "a3")
		if m["agent_id"] != nil {
			draw("agent_type", "Explore", "")
		}
		draw("tool_name", "Bash", "AskUserQuestion", "ExitPlanMode", "TodoWrite", "TaskUpdate", 7)
		if m["tool_name"] == "TodoWrite" {
			m["tool_input"] = map[string]any{"todos": rapid.SliceOfN(rapid.Custom(func(t *rapid.T) map[string]any {
				return map[string]any{
					"content": rapid.SampledFrom([]string{"a", "b", "c", "\u202e"}).Draw(t, "todo"),
					"status":  rapid.SampledFrom([]string{"pending", "in_progress", "completed", "?"}).Draw(t, "status"),
					"tags":    rapid.SampledFrom([]any{nil, []string{}, []string{"x", "x", "\u202e"}, []string{"y"}, 7}).Draw(t, "tags"),
				}
			}), 0, 4).Draw(t, "todos")}
		} else {
			draw("tool_input", map[string]any{"command": "make"}, map[string]any{"command": "ls"}, map[string]any{"taskId": "1", "status": "completed", "subject": "s", "addBlockedBy": []string{"2"}})
		}
		draw("tool_use_id", "t1", "t2", "t3", "t4")
		draw("tool_response", "text", map[string]any{"success": true}, []any{})
		draw("prompt", "make it", "\x1b[2J\n⟦", "<task-notification><task-id>a1</task-id><summary>done</summary>")
		draw("source", "startup", "resume", "compact", "clear")
		draw("notification_type", "permission_prompt", "idle_prompt", "agent_needs_input")
		draw("message", "hello", []int{1})
		draw("is_interrupt", true)
		draw("task_id", "1", "2")
		draw("task_subject", "write", "test")
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 30).Draw(t, "broken") == 0 {
			raw = raw[:len(raw)/2]
		}
		e.Raw = raw
		x := event(e)
		x.session = "s"
		return x
	})
}

func anyRecord(t *rapid.T, rid string, at time.Time) *hook.Record {
	r := &hook.Record{RequestID: rid, ID: "r", Time: at}
	r.Step = rapid.SampledFrom([]hook.Step{hook.StepAsked, hook.StepAsked, hook.StepDecided, hook.StepDecided, hook.StepEnded, hook.StepDelivered, hook.StepConfirmed, hook.StepOverruled, "guessed"}).Draw(t, "step")
	switch r.Step {
	case hook.StepAsked:
		if rapid.Bool().Draw(t, "whole") {
			r.Request = &hook.Request{
				ID: rid, SessionID: "s", ToolName: rapid.SampledFrom([]string{"Bash", "AskUserQuestion"}).Draw(t, "tool"), ToolInput: hook.JSON(`{"command":"make"}`),
				AgentID: rapid.SampledFrom([]string{"", "a1"}).Draw(t, "agent"), OnTimeout: rapid.SampledFrom([]hook.Fallback{hook.Abstain, hook.Deny}).Draw(t, "fallback"),
			}
		}
	case hook.StepDecided:
		r.Outcome = rapid.SampledFrom([]hook.Outcome{hook.Allowed, hook.Denied}).Draw(t, "outcome")
		r.By = &hook.Approver{Kind: "device", Name: "phone\u202e"}
		r.Decision = &hook.Decision{
			Behavior: rapid.SampledFrom([]hook.Behavior{hook.BehaviorAllow, hook.BehaviorDeny}).Draw(t, "behavior"),
			Message:  "no\nno", Interrupt: rapid.Bool().Draw(t, "interrupt"),
		}
	case hook.StepEnded:
		r.Outcome = rapid.SampledFrom([]hook.Outcome{hook.Expired, hook.Withdrawn, hook.HandedBack, hook.Allowed, "?"}).Draw(t, "outcome")
		r.Reason = rapid.SampledFrom([]string{hook.ReasonDeadline, hook.ReasonHangup, hook.ReasonToolRan, hook.ReasonTurnEnded, "?"}).Draw(t, "reason")
	}
	return r
}

// TestAnyOrder folds inputs in any order. None is lost, ids are unique and without gaps, what
// an event names as its cause came before it and fits, a session that was put away as JSON in
// between goes on with the same bytes, and folding all again gives the same bytes.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 120).Draw(t, "inputs")
		ins := make([]in, n)
		for i := range ins {
			ins[i] = anyInput(i).Draw(t, "input")
		}
		c := checker{t: t, byID: map[string]feed.Event{}, seqs: map[string]uint64{}, asked: map[string]bool{}}
		live, kept := feed.New("s"), feed.New("s")
		var first, second bytes.Buffer
		for i, x := range ins {
			evs := x.fold(live)
			c.check(x, evs)
			writeJSON(t, &first, evs)
			if rapid.IntRange(0, 4).Draw(t, "snapshot") == 0 {
				kept = reread(t, kept)
			}
			writeJSON(t, &second, x.fold(kept))
			at := start.Add(time.Duration(i)*time.Second + time.Minute)
			info := live.Info(at)
			if info.PermissionQueueCount < 0 || info.LastPos != c.pos || info.State == "" {
				t.Fatalf("info %+v", info)
			}
			if a, b := string(encode(t, info)), string(encode(t, kept.Info(at))); a != b {
				t.Fatalf("the session stands otherwise once it was put away:\n%s\n%s", a, b)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("a session that was put away goes on differently:\n%s\n%s", first.Bytes(), second.Bytes())
		}
		again, third := feed.New("s"), bytes.Buffer{}
		for _, x := range ins {
			writeJSON(t, &third, x.fold(again))
		}
		if !bytes.Equal(first.Bytes(), third.Bytes()) {
			t.Fatal("the replay differs")
		}
	})
}

// checker follows a feed.
type checker struct {
	t     *rapid.T
	pos   uint64
	byID  map[string]feed.Event
	seqs  map[string]uint64
	asked map[string]bool // ids that were folded
}

func (c *checker) check(x in, evs []feed.Event) {
	t := c.t
	id, kind := x.event.ID, kindOf(x)
	if x.record != nil {
		id = x.record.RequestID
	}
	switch found := slices.ContainsFunc(evs, func(e feed.Event) bool { return e.Kind == kind && e.Cause.HookRequestID == id }); {
	case found:
	case x.record != nil && x.record.Step == hook.StepAsked && c.asked[id]: // its event was folded
	case x.record == nil && c.asked[id] && len(evs) == 0: // folded before
	default:
		t.Fatalf("%s %s is lost: %+v", kind, id, evs)
	}
	if x.record == nil || x.record.Step == hook.StepAsked {
		c.asked[id] = true
	}
	for _, e := range evs {
		c.pos++
		if e.Pos != c.pos {
			t.Fatalf("pos %d after %d", e.Pos, c.pos-1)
		}
		c.seqs[e.RunID]++
		if e.Seq != c.seqs[e.RunID] || e.EventID != fmt.Sprintf("%s:E%d", e.RunID, e.Seq) {
			t.Fatalf("%s is number %d of its run", e.EventID, c.seqs[e.RunID])
		}
		if (e.Seq == 1) != (e.Kind == feed.KindRunStart) {
			t.Fatalf("%s is a %s", e.EventID, e.Kind)
		}
		if _, ok := c.byID[e.EventID]; ok {
			t.Fatalf("%s comes twice", e.EventID)
		}
		c.cause(e)
		c.byID[e.EventID] = e
		if e.Title == "" || strings.ContainsAny(e.Title, "\n\x1b\u202e") || strings.ContainsAny(e.Body, "\x1b\u202e") {
			t.Fatalf("title %q, body %q", e.Title, e.Body)
		}
		if len(e.Marks) > 0 && !slices.Equal(e.Marks, []feed.Mark{feed.MarkSpooled}) && (e.UI.Badge == "" || e.UI.Hidden || e.Level == feed.LevelInfo || e.Level == feed.LevelDebug) {
			t.Fatalf("%v is not to be seen: %+v", e.Marks, e)
		}
	}
}

// cause holds the parent of an event against what it may be.
func (c *checker) cause(e feed.Event) {
	t := c.t
	if e.Cause.ParentEventID == "" {
		return
	}
	p, ok := c.byID[e.Cause.ParentEventID]
	if !ok {
		t.Fatalf("%s follows %s, which never was", e.EventID, e.Cause.ParentEventID)
	}
	fits := false
	switch d := e.Data.(type) {
	case *feed.ToolPostData:
		pre, ok := p.Data.(*feed.ToolPreData)
		fits = ok && p.ActorID == e.ActorID && (d.ToolUseID == pre.ToolUseID || d.ToolUseID == "" && string(d.ToolInput) == string(pre.ToolInput))
	case *feed.ToolFailureData:
		pre, ok := p.Data.(*feed.ToolPreData)
		fits = ok && p.ActorID == e.ActorID && (d.ToolUseID == pre.ToolUseID || d.ToolUseID == "" && string(d.ToolInput) == string(pre.ToolInput))
	case *feed.PermissionRequestData:
		pre, ok := p.Data.(*feed.ToolPreData)
		fits = ok && d.ToolName == pre.ToolName && e.Cause.ToolUseID == pre.ToolUseID
	case *feed.PermissionDecisionData:
		fits = p.Kind == feed.KindPermissionRequest && p.Cause.HookRequestID == e.Cause.HookRequestID
	case *feed.PermissionDeliveryData, *feed.PermissionOverruledData:
		fits = strings.HasPrefix(string(p.Kind), "permission.") && p.Cause.HookRequestID == e.Cause.HookRequestID
	case *feed.StopDecisionData:
		fits = p.Kind == feed.KindStopRequest
	case *feed.TodoAddData, *feed.TodoUpdateData, *feed.TodoDoneData:
		fits = p.Cause.HookRequestID == e.Cause.HookRequestID
	}
	if !fits {
		t.Fatalf("%s %s cannot follow %s %s", e.Kind, e.EventID, p.Kind, p.EventID)
	}
}

// kindOf is the kind that an input must give.
func kindOf(x in) feed.Kind {
	if x.record != nil {
		switch x.record.Step {
		case hook.StepAsked:
			return feed.KindPermissionRequest
		case hook.StepDecided, hook.StepEnded:
			return feed.KindPermissionDecision
		case hook.StepOverruled:
			return feed.KindPermissionOverruled
		}
		return feed.KindPermissionDelivery
	}
	typ := x.event.Type
	if typ == "" {
		typ = x.payload.Type
	}
	rows := feed.Table()
	for _, r := range rows {
		if r.Event == typ && typ != "" {
			return r.Kind
		}
	}
	return rows[len(rows)-1].Kind
}

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func encode(t failer, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeJSON(t failer, b *bytes.Buffer, evs []feed.Event) {
	for _, e := range evs {
		b.Write(encode(t, e))
		b.WriteByte('\n')
	}
}

// reread puts a session away as JSON and takes it out again.
func reread(t failer, s *feed.Session) *feed.Session {
	t.Helper()
	doc := encode(t, s)
	back := new(feed.Session)
	if err := json.Unmarshal(doc, back); err != nil {
		t.Fatal(err)
	}
	if again := encode(t, back); !bytes.Equal(doc, again) {
		t.Fatalf("the state reads back otherwise:\n%s\n%s", doc, again)
	}
	return back
}
