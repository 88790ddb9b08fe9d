package audit_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
)

// rowOf is the row of a message with these entries.
func rowOf(t *testing.T, records []hook.Record) audit.Row {
	t.Helper()
	var of []api.Record
	for _, r := range records {
		of = append(of, api.Record{Record: r})
	}
	r, ok := audit.MessageRowOf("msg-m", of)
	if !ok {
		t.Fatal("there is no row")
	}
	return r
}

// TestMessageRow: a row says who sent a message with which key, whether that fits, and how far it came. Whoever asks for what only a
// request has means no messages.
func TestMessageRow(t *testing.T) {
	key := authtest.NewKey()
	records := message(key, "d", "m")
	for i := range records {
		records[i].Message.At = messageTime.Add(time.Duration(i) * time.Second)
	}
	print := auth.Thumbprint(key.JWK())
	r := rowOf(t, records)
	if r.Kind != audit.MessageRow || r.Request != "msg-m" || r.Session != "s" || r.ByName != "phone" || r.Key != print || r.Signature != audit.Good {
		t.Errorf("%+v", r)
	}
	if m := r.Message; m.Kind != hook.MessagePrompt || m.To != "terminal@here" || m.State != hook.MessageEnded || m.PromptSHA256 != records[0].Message.Sent.PromptSHA256 {
		t.Errorf("%+v", m)
	}
	if r.Asked != messageTime || r.Delivered != messageTime.Add(time.Second) || r.Settled != messageTime.Add(3*time.Second) {
		t.Errorf("at %v, %v, %v", r.Asked, r.Delivered, r.Settled)
	}
	for q, want := range map[audit.Query]bool{
		{}: true, {Kind: audit.MessageRow}: true, {Kind: audit.RequestRow}: false, {Session: "s"}: true, {Session: "t"}: false,
		{Device: "phone"}: true, {Device: "d"}: true, {Device: print}: true, {Device: "device:" + print}: true, {Device: "laptop"}: false,
		{Rule: "phone"}: false, {Outcome: hook.Allowed}: false, {Risk: hook.Danger}: false, {ShownTo: "phone"}: false,
	} {
		if q.Meant(&r) != want {
			t.Errorf("%+v: want %v", q, want)
		}
		if want && !q.Messages() {
			t.Errorf("%+v: no messages are looked for", q)
		}
	}

	lost := append(records[:2:2], stepOf("m", 2, hook.MessageLost))
	if r := rowOf(t, lost); r.Message.State != hook.MessageLost || r.Settled.IsZero() {
		t.Errorf("lost: %+v", r)
	}
	if r := rowOf(t, append(lost, stepOf("m", 3, hook.MessageStarted))); r.Message.State != hook.MessageStarted || !r.Settled.IsZero() {
		t.Errorf("lost, and it came late: %+v", r)
	}
	again := sentBy(key, "d", "m")
	again.Message.Sent.SessionID = "t"
	if r := rowOf(t, append(records, again)); r.Signature != audit.Bad {
		t.Errorf("sent again, to another session: %+v", r)
	}
	records[0].Message.Sent.SessionID = "t"
	if r := rowOf(t, records); r.Signature != audit.Bad {
		t.Errorf("to another session: %+v", r)
	}
	if r, ok := audit.MessageRowOf("msg-m", nil); ok {
		t.Errorf("a row of nothing: %+v", r)
	}
}

// TestReportKeepsItsColumns: what reads the report by its columns goes on doing so; those of messages come behind them.
func TestReportKeepsItsColumns(t *testing.T) {
	q, records := signed(t)
	request, sent := audit.RowOf(&q, records), rowOf(t, message(authtest.NewKey(), "d", "m"))
	var b strings.Builder
	c, err := audit.NewCSV(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*audit.Row{&request, &sent} {
		if err := c.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(table) != 3 {
		t.Fatalf("%v: %q", err, b.String())
	}
	was := strings.Split("request,asked,settled,delivered,outcome,reason,agent,session,directory,tool,inputSha256,risk,edited,contained,byKind,byId,byName,key,verified,signature,delivery,codeOrigin,shownTo", ",")
	if head := table[0]; !slices.Equal(head[:len(was)], was) || !slices.Equal(head[len(was):], []string{"kind", "messageKind", "to", "promptSha256", "state", "result"}) {
		t.Errorf("columns %v", head)
	}
	if got := table[1][len(was):]; !slices.Equal(got, []string{"request", "", "", "", "", ""}) {
		t.Errorf("a request: %v", got)
	}
	if got := table[2]; got[0] != "msg-m" || got[4] != "" || got[16] != "phone" || got[len(was)] != "message" || got[len(was)+2] != "terminal@here" || got[len(was)+4] != "ended" {
		t.Errorf("a message: %v", got)
	}
}
