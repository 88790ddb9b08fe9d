package feed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/schemas"
)

// TestTable: every hook event has a row and every kind a schema, and nothing has two.
func TestTable(t *testing.T) {
	rows := feed.Table()
	events, kinds := map[string]bool{}, map[feed.Kind]bool{}
	for _, r := range rows {
		if events[r.Event] || kinds[r.Kind] {
			t.Errorf("%s or %s stands twice", r.Event, r.Kind)
		}
		events[r.Event], kinds[r.Kind] = true, true
		for _, k := range append(r.Also, r.Kind) {
			kinds[k] = true
		}
	}
	for _, name := range schemas.Names() {
		if e, ok := strings.CutPrefix(name, "hooks/"); ok && e != "Base" && !events[e] {
			t.Errorf("no row for %s", e)
		}
		if k, ok := strings.CutPrefix(name, "feed/"); ok && k != "Base" && k != "Event" {
			if !kinds[feed.Kind(k)] && !slices.Contains([]string{"permission.decision", "permission.delivery", "permission.overruled", "events.lost"}, k) {
				t.Errorf("nothing makes a %s", k)
			}
		}
	}
	if last := len(rows) - 1; last != 34 || rows[last].Kind != feed.KindUnknownHook || rows[last].Event != "" {
		t.Errorf("%d rows, want those of 33 events of Claude Code, of Codex's Interrupt and of unknown events", len(rows))
	}
}

// TestDocumentedTable: the table that readers see is the table.
func TestDocumentedTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| hook event | kind | actor | level | shown | begins a run | the agent's state | may be followed by |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range feed.Table() {
		name := "`" + r.Event + "`"
		if r.Event == "" {
			name = "any other"
		}
		shown := "yes"
		if r.UI.CollapsedDefault {
			shown = "folded"
		}
		if r.UI.Hidden {
			shown = "no"
		}
		if r.UI.Badge != "" {
			shown += ", " + r.UI.Badge
		}
		opens, also := "", []string{}
		if r.Opens {
			opens = "yes"
		}
		for _, k := range r.Also {
			also = append(also, "`"+string(k)+"`")
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s | %s |\n", name, r.Kind, r.Actor, r.Level, shown, opens, r.Effect, strings.Join(also, " "))
	}
	const path, begin, end = "../../docs/feed.md", "<!-- table -->\n", "<!-- end of the table -->"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(doc, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", path)
	}
	want := slices.Concat(head, []byte(begin), []byte(b.String()), []byte(end), tail)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(doc, want) {
		t.Errorf("%s does not hold the table; go test -update writes it", path)
	}
}

// TestEventReadsBack: what a program reads from the API is what the fold made, byte for byte,
// also where the payload is no UTF-8 or a kind is not known.
func TestEventReadsBack(t *testing.T) {
	s := feed.New("s")
	evs := event(hook.Event{ID: "1", Type: "PreToolUse", Seq: 1, Time: start, Raw: []byte("{\"session_id\":\"s\",\"tool_name\":\"\xff<&\"}")}).fold(s)
	for _, x := range day(t) {
		evs = append(evs, x.fold(s)...)
	}
	for _, ev := range evs {
		doc := encode(t, ev)
		var back feed.Event
		if err := json.Unmarshal(doc, &back); err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if !bytes.Equal(back.Raw, ev.Raw) {
			t.Errorf("raw %q came back as %q", ev.Raw, back.Raw)
		}
		if again := encode(t, back); !bytes.Equal(doc, again) {
			t.Errorf("%s\ncame back as\n%s", doc, again)
		}
	}
	if !bytes.Contains(encode(t, evs[1]), []byte(`"raw_base64"`)) || !slices.Contains(evs[1].Marks, feed.MarkAmbiguous) {
		t.Errorf("a payload that is no UTF-8: %s", encode(t, evs[1]))
	}
	var later feed.Event
	if err := json.Unmarshal([]byte(`{"event_id":"e","kind":"tea.ready","data":{"cups":2}}`), &later); err != nil || string(later.Data.(hook.JSON)) != `{"cups":2}` {
		t.Errorf("a kind of a later version: %+v, %v", later, err)
	}
}

// TestBoundedData: what is too long or nests too deep for data is cut and named, and stands
// whole in raw.
func TestBoundedData(t *testing.T) {
	long, deep := strings.Repeat("é", 40<<10), strings.Repeat("[", 5000)+strings.Repeat("]", 5000)
	for name, raw := range map[string]string{
		"prompt":        `{"session_id":"s","prompt":"` + long + `"}`,
		"tool_input":    `{"session_id":"s","tool_name":"Bash","tool_input":{"command":"` + long + `"}}`,
		"tool_response": `{"session_id":"s","tool_name":"Bash","tool_input":{},"tool_response":` + deep + `}`,
	} {
		typ := map[string]string{"prompt": "UserPromptSubmit", "tool_input": "PreToolUse", "tool_response": "PostToolUse"}[name]
		evs := event(hook.Event{ID: "1", Type: typ, Seq: 1, Time: start, Raw: []byte(raw)}).fold(feed.New("s"))
		ev := evs[len(evs)-1]
		valid(t, ev)
		if !slices.Equal(ev.Cut, []string{name}) || string(ev.Raw) != raw {
			t.Errorf("%s: cut %v, %d bytes of raw", name, ev.Cut, len(ev.Raw))
		}
		if doc := encode(t, ev.Data); len(doc) > 80<<10 || !utf8.Valid(doc) {
			t.Errorf("%s: %d bytes of data", name, len(doc))
		}
		if n := utf8.RuneCountInString(ev.Title); n > 300 || len(ev.Body) > 8<<10 {
			t.Errorf("%s: a title of %d characters, a body of %d bytes", name, n, len(ev.Body))
		}
	}
}

// TestAnswers: who reads the feed learns what was answered, not only that it was.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ asked, input, body string }{
		{`{"question":"Which?"}`, `{"questions":[{"question":"Which?"}],"answers":{"Which?":"Blue"}}`, "Blue"},
		{`{"question":"B?"},{"question":"A?"}`, `{"answers":{"A?":["x","y"],"B?":"no"},"questions":[{"question":"B?"},{"question":"A?"}]}`, "B? → no\nA? → [\"x\",\"y\"]"},
		{`{"question":"B?"},{"question":"A?"}`, `{"answers":{"A?":"\u001b[2J"},"questions":[{"question":"B?"},{"question":"A?"}]}`, "A? → ⟦U+001B⟧[2J"},
		{`{"question":"Which?"}`, `{"questions":7,"answers":{"Which?":"Blue"}}`,
			"questions (changed)\n- [\n-   {\n-     \"question\": \"Which?\"\n-   }\n- ]\n+ 7\nWhich? → Blue"},
		{`{"question":"Which?"}`, ``, ""},
	} {
		s := feed.New("s")
		raw := `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"AskUserQuestion","tool_input":{"questions":[` + c.asked + `]}}`
		e := event(hook.Event{ID: "q", Agent: "claude", Type: "PermissionRequest", Raw: []byte(raw)})
		e.fold(s)
		r := hook.Record{RequestID: "q", Step: hook.StepDecided, Outcome: hook.Allowed}
		r.Decision = &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(c.input)}
		out := s.Record(r)
		if len(out) != 1 || out[0].Body != c.body || !strings.HasPrefix(out[0].Title, "✓ Answered: ") {
			t.Errorf("%s: %+v", c.input, out)
		}
	}
}

// TestRequestNamesItsCall: of what a request says itself nothing else is guessed.
func TestRequestNamesItsCall(t *testing.T) {
	for id, want := range map[string]string{"": "t1", "t1": "t1", "t2": "t2"} {
		s := feed.New("s")
		for i, raw := range []string{
			`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"}`,
			`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"` + id + `"}`,
		} {
			out := event(hook.Event{ID: fmt.Sprint(i), Agent: "claude", Raw: []byte(raw), Time: time.Unix(1795183200, 0)}).fold(s)
			if i == 0 {
				continue
			}
			c := out[0].Cause
			if linked := c.ParentEventID != ""; c.ToolUseID != want || linked != (id != "t2") {
				t.Errorf("tool_use_id %q: %+v", id, c)
			}
		}
	}
}

// TestPlanInATitle: a plan is named by its first line, the whole is the body.
func TestPlanInATitle(t *testing.T) {
	for plan, want := range map[string]string{
		`# Notes\n1. collect\n`: "Notes …", `\n \n## \nGo`: "Go", `One line`: "One line", `###`: "###",
	} {
		raw := `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"ExitPlanMode","tool_input":{"plan":"` + plan + `"}}`
		in := event(hook.Event{ID: "q", Agent: "claude", Type: "PermissionRequest", Raw: []byte(raw)})
		out := in.fold(feed.New("s"))
		if got := out[len(out)-1].Title; got != "⚠ Plan: "+want {
			t.Errorf("%q: %s", plan, got)
		}
	}
}

// TestStateOfAnotherVersion is not taken for ours.
func TestStateOfAnotherVersion(t *testing.T) {
	for _, doc := range []string{`{"v":0,"entity":{"session_id":"s","started_at":0},"pos":1}`, fmt.Sprintf(`{"v":%d}`, feed.Version+1), `{}`, `null`, `[]`, fmt.Sprintf(`{"v":%d,"surprise":1}`, feed.Version)} {
		if err := json.Unmarshal([]byte(doc), feed.New("s")); err == nil {
			t.Errorf("%s was taken", doc)
		}
	}
}

// TestInvalidUTF8: whatever bytes an agent sends, an event is a text. A browser closes a WebSocket
// that brings anything else, so one such event would keep everybody from the session's feed.
func TestInvalidUTF8(t *testing.T) {
	bad := "{\"a\":\"\xff\"}"
	for typ, members := range map[string]string{
		"PreToolUse": `"tool_name":"Bash","tool_input":` + bad, "PermissionRequest": `"tool_name":"Bash","tool_input":` + bad + `,"permission_suggestions":[` + bad + `]`,
		"PostToolUse": `"tool_name":"Bash","tool_response":` + bad, "Elicitation": `"requested_schema":` + bad, "ElicitationResult": `"content":` + bad, "NewKind": `"x":` + bad,
	} {
		raw := []byte(`{"session_id":"s",` + members + `}`)
		s := feed.New("s")
		evs := event(hook.Event{ID: "id", Type: typ, Seq: 1, Time: start, Raw: raw}).fold(s)
		evs = append(evs, s.Record(hook.Record{RequestID: "other", Step: hook.StepAsked, Time: start, Request: &hook.Request{ToolName: "Bash", ToolInput: hook.JSON(bad), Raw: raw}})...)
		evs = append(evs, s.Record(hook.Record{RequestID: "other", Step: hook.StepDecided, Outcome: hook.Allowed, Time: start,
			Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(bad), UpdatedPermissions: hook.JSON("[" + bad + "]")}})...)
		cut := false
		for _, ev := range evs {
			valid(t, ev)
			if len(ev.Cut) > 0 && len(ev.Raw) > 0 {
				cut = true
				if !bytes.Equal(ev.Raw, raw) {
					t.Errorf("%s: raw is %q", typ, ev.Raw)
				}
			}
		}
		if !cut {
			t.Errorf("%s: nothing says that a member was left out", typ)
		}
	}
}

// TestLongSession folds a long session in which everything is always new. What is kept of it
// does not grow.
func TestLongSession(t *testing.T) {
	n := 1_000_000
	if raceEnabled || testing.Short() {
		n = 50_000
	}
	s := feed.New("s")
	types := []string{"PreToolUse", "PermissionRequest", "SubagentStart", "PostToolUse", "UserPromptSubmit", "TaskCreated", "SomethingNew"}
	pad := strings.Repeat("x", 100)
	var m runtime.MemStats
	var early uint64
	for i := range n {
		typ := types[i%len(types)]
		id := fmt.Sprintf("%d-%s", i, pad)
		p := hook.Payload{SessionID: "s", AgentID: "a" + id, AgentType: "Explore", ToolName: "Bash", CallKey: "Bash " + id}
		d := hook.Detail{ToolUseID: "t" + id, ToolArg: id, Prompt: id}
		if typ == "TaskCreated" {
			d.Todos = &hook.Todos{Items: []hook.Todo{{ID: id, New: true, Text: id}}}
		}
		s.Event(hook.Event{ID: id, Type: typ, Seq: uint64(i + 1), Time: start.Add(time.Duration(i) * time.Second)}, p, d)
		if typ == "PermissionRequest" {
			s.Record(hook.Record{RequestID: id, Step: hook.StepAsked, Time: start})
			if i%10 > 0 {
				s.Record(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.Withdrawn, Reason: hook.ReasonToolRan, Time: start})
			}
		}
		if i == n/5 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			early = m.HeapAlloc
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > early+512<<10 {
		t.Errorf("the heap grew from %d to %d bytes", early, m.HeapAlloc)
	}
	if size := len(encode(t, s)); size > 2<<20 {
		t.Errorf("%d bytes of state", size)
	}
}

// TestOrdinaryStateIsSmall: it is written after every batch.
func TestOrdinaryStateIsSmall(t *testing.T) {
	sessions := map[string]*feed.Session{}
	for _, x := range day(t) {
		if sessions[x.session] == nil {
			sessions[x.session] = feed.New(x.session)
		}
		x.fold(sessions[x.session])
	}
	for id, s := range sessions {
		if size := len(encode(t, s)); size > 8<<10 {
			t.Errorf("%d bytes of state of %s", size, id)
		}
	}
}

// FuzzFold folds any bytes as any event. Nothing panics; what comes out is JSON by its schema
// and safe to show; the state reads back.
func FuzzFold(f *testing.F) {
	for _, pattern := range []string{"../../schemas/examples/hooks/*.json", "../../schemas/testdata/payloads/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no payloads in %s: %v", pattern, err)
		}
		for _, path := range files {
			raw, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".json"), "-")
			f.Add(name, raw, int64(1_800_000_000_000), false, "id")
		}
	}
	f.Add("PreToolUse", []byte(`{"tool_name":"Bash","tool_input":{"command":"\ud800\u202e"},"tool_use_id":"\ud800"}`), int64(-1), true, "\xff")
	f.Add("PreToolUse", []byte("{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}}"), int64(0), false, "id")
	f.Add("TaskCreated", []byte(`{"task_id":"\ud800","task_subject":"\u0000"}`), int64(1<<62), false, "")
	f.Fuzz(func(t *testing.T, typ string, raw []byte, ms int64, spooled bool, id string) {
		s := feed.New("s\xff")
		fold := func(x in) {
			for _, ev := range x.fold(s) {
				valid(t, ev)
				var back feed.Event
				if err := json.Unmarshal(encode(t, ev), &back); err != nil {
					t.Fatal(err)
				}
			}
			s = reread(t, s)
		}
		fold(event(hook.Event{ID: "first", Type: "UserPromptSubmit", Seq: 1, Time: start, Raw: []byte(`{"session_id":"s","prompt":"go"}`)}))
		fold(event(hook.Event{ID: id, Type: typ, Agent: "claude", Seq: 2, Time: time.UnixMilli(ms), Spooled: spooled, Raw: raw}))
		fold(in{record: &hook.Record{RequestID: id, Step: hook.StepAsked, Time: time.UnixMilli(ms)}})
		fold(event(hook.Event{Type: typ, Agent: id, Seq: 3, Time: start, Raw: raw, Origin: hook.Origin{Host: id}}))
		s.Info(start)
	})
}

// TestEmitted: a session whose agent has hooks of its own is told by them alone; without any, what
// hookd-emit tells is better than nothing.
func TestEmitted(t *testing.T) {
	s := feed.New("s")
	tell := func(id string, emitted bool) int {
		p := hook.Payload{SessionID: "s", ToolName: "Write", CallKey: "Write x"}
		return len(s.Event(hook.Event{ID: id, Type: "PostToolUse", Seq: 1, Time: start, Emitted: emitted}, p, hook.Detail{ToolUseID: id}))
	}
	if tell("a", true) == 0 {
		t.Error("what alone tells is left out")
	}
	if tell("b", false) == 0 {
		t.Error("a hook is left out")
	}
	saved := encode(t, s)
	s = new(feed.Session)
	if err := json.Unmarshal(saved, s); err != nil {
		t.Fatal(err)
	}
	if tell("c", true) != 0 {
		t.Error("told twice")
	}
}

// TestForm: an MCP server's form that was held is one story, and one that was not ends nowhere.
func TestForm(t *testing.T) {
	s := feed.New("s")
	at := time.Unix(1795183200, 0)
	raw := []byte(`{"session_id":"s","hook_event_name":"Elicitation","mcp_server_name":"lab","message":"Who\u202e?","mode":"form","requested_schema":{"type":"object","properties":{}}}`)
	asked := event(hook.Event{ID: "q", Agent: "claude", Type: hook.EventElicitation, Raw: raw, Seq: 1, Time: at}).fold(s)
	form := asked[len(asked)-1]
	by := &hook.Approver{Kind: "device", Name: "phone"}
	r := hook.Request{ID: "q", SessionID: "s", Event: hook.EventElicitation, ToolName: hook.EventElicitation, Raw: raw, EventSeq: 1}
	out := s.Record(hook.Record{ID: "1", RequestID: "q", Step: hook.StepAsked, Time: at, Request: &r})
	if len(out) != 0 {
		t.Errorf("the wait shows the form again: %+v", out)
	}
	if permissions, questions := s.Info(at).PermissionQueueCount, s.Info(at).QuestionQueueCount; permissions != 0 || questions != 1 {
		t.Errorf("%d permissions and %d questions wait", permissions, questions)
	}
	out = s.Record(hook.Record{
		ID: "2", RequestID: "q", Step: hook.StepDecided, Time: at, Outcome: hook.Allowed, By: &hook.Approver{Kind: "device", Name: "phone", Verified: true},
		Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(`{}`)},
	})
	if len(out) != 1 || out[0].Title != "✓ Answered: Who⟦U+202E⟧? · phone, verified" || out[0].Cause.ParentEventID != form.EventID || len(out[0].Marks) != 0 {
		t.Errorf("the answer is %+v", out)
	}

	r.ID = "q2"
	event(hook.Event{ID: "q2", Agent: "claude", Type: hook.EventElicitation, Raw: raw, Seq: 2, Time: at}).fold(s)
	s.Record(hook.Record{ID: "3", RequestID: "q2", Step: hook.StepAsked, Time: at, Request: &r})
	out = s.Record(hook.Record{
		ID: "4", RequestID: "q2", Step: hook.StepDecided, Time: at, Outcome: hook.Denied, By: by,
		Decision: &hook.Decision{Behavior: hook.BehaviorDeny, Interrupt: true},
	})
	if len(out) != 1 || out[0].Title != "✗ Dismissed: Who⟦U+202E⟧? · phone" || s.Info(at).State != feed.StateWorking {
		t.Errorf("dismissed: %+v, and the agent is %s", out, s.Info(at).State)
	}
}
