package broker

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/hook"
)

// TestAuditFindsMessages: what a phone did is what it decided and what it sent; search and report have both, by device, session and
// time, without a word of the text; the trace of the message has a leaf for each step.
func TestAuditFindsMessages(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	phone := d.PairBare("admin")
	other := phone.LetInBare("operate")
	for _, session := range []string{"first", "second"} {
		d.Hook(rig.Object(t, map[string]any{"session_id": session, "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": "Look"})).Wait()
	}
	say := func(by *rig.BareDevice, session, text string) (m hook.Message) {
		t.Helper()
		d.Must("POST", "/v1/sessions/"+session+"/messages", by.Bearer(), by.Message(session, text), http.StatusAccepted, &m)
		return m
	}
	m := say(phone, "first", "correct-horse-battery")
	say(other, "second", "another")
	if out := d.Hook(rig.Object(t, map[string]any{"session_id": "first", "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": "Stop", "stop_hook_active": false})).Wait(); !strings.Contains(out, "correct-horse-battery") {
		t.Fatalf("the Stop hook prints %q", out)
	}
	h := d.Hook(rig.Bash("first", "make"))
	d.Deny(d.WaitPending(1)[0], "no")
	h.Wait()

	search := func(args ...string) (rows []audit.Row) {
		t.Helper()
		for line := range strings.Lines(d.Command(append([]string{"audit", "search", "--json"}, args...)...)) {
			var r audit.Row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			rows = append(rows, r)
		}
		return rows
	}
	id := hook.MessageRecord(m.ID)
	var rows []audit.Row
	rig.Eventually(t, rig.Soon, "it is recorded that the message was handed over", func() bool {
		rows = search("--device", phone.Thumbprint())
		return len(rows) == 1 && rows[0].Message != nil && rows[0].Message.State == hook.MessageTaken
	})
	if r := rows[0]; r.Kind != audit.MessageRow || r.Request != id || r.Session != "first" || r.Signature != audit.Good || r.Key != phone.Thumbprint() || r.Message.To != hook.TerminalAgent("here") || r.Asked.IsZero() || r.Delivered.IsZero() {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]int{
		"": 3, "--session first": 2, "--session sec": 1, "--kind message": 2, "--kind request": 1, "--outcome denied": 1,
		"--kind message --session first": 1, "--since 1s --kind message --device nobody": 0,
	} {
		if got := search(strings.Fields(args)...); len(got) != want {
			t.Errorf("search %s finds %d, want %d: %+v", args, len(got), want, got)
		}
	}
	if out := d.Command("audit", "search", "--kind", "message", "--session", "first"); !strings.Contains(out, "prompt sent by") || !strings.Contains(out, "signature good") || !strings.Contains(strings.Join(strings.Fields(out), " "), "in session first taken "+id) || strings.Contains(out, "correct-horse") {
		t.Errorf("search says\n%s", out)
	}

	report := d.Command("audit", "report", "--since", "1h")
	table, err := csv.NewReader(strings.NewReader(report)).ReadAll()
	if err != nil || len(table) != 4 || strings.Contains(report, "correct-horse") {
		t.Fatalf("%v: %s", err, report)
	}
	kinds := map[string]int{}
	for _, row := range table[1:] {
		kinds[row[23]]++
	}
	if kinds["request"] != 1 || kinds["message"] != 2 {
		t.Errorf("the report has %v", kinds)
	}
	if out := d.Command("audit", "report", "--format", "json", "--kind", "message"); strings.Count(out, `"kind":"message"`) != 2 {
		t.Errorf("as JSON: %s", out)
	}

	var trace api.AuditTrace
	d.Get("/v1/requests/"+id+"/audit", &trace)
	if len(trace.Steps) != 2 || trace.Steps[0].Signature != string(audit.Good) || trace.Steps[0].Leaf == nil || trace.Steps[1].Leaf == nil {
		t.Errorf("the trace is %+v", trace)
	}
	raw, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	rig.Valid(t, "AuditTrace", raw)
}
