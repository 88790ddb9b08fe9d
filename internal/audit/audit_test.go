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
	"assent/internal/text/show"
)

// signed is an allow of a device with a key of its own, as the record has it.
func signed(t *testing.T) (api.Request, []api.Record) {
	t.Helper()
	key := authtest.NewKey()
	jwk := key.JWK()
	by := &hook.Approver{Kind: "device", ID: "d-1", Name: "=phone"}
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: strings.Repeat("ab", 32), SignedAt: "2026-11-28T05:00:00Z", PublicKey: &jwk}
	d.Signature = key.Sign(auth.DecisionText("r-1", d))
	at := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	q := api.Request{Request: hook.Request{ID: "r-1", SessionID: "s", ToolName: "Bash", Agent: "claude", CWD: "/p", CreatedAt: at, InputSHA256: d.InputSHA256},
		Outcome: hook.Allowed, DecidedBy: by, SettledAt: at.Add(time.Second), Delivery: "delivered"}
	return q, []api.Record{
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepAsked, Time: at}},
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepDecided, Time: at, Decision: &d, By: by, Outcome: hook.Allowed}},
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepDelivered, Time: at.Add(2 * time.Second)}},
		{Record: hook.Record{RequestID: hook.ShownEntry("r-1"), Step: hook.StepShown, Time: at.Add(3 * time.Second), By: &hook.Approver{Kind: hook.KindDevice, ID: "d-2", Name: "laptop"}, Key: "thumb"}},
		{Record: hook.Record{RequestID: hook.ShownEntry("r-1"), Step: hook.StepShown, Time: at.Add(4 * time.Second), By: &hook.Approver{Kind: hook.KindOwner}}},
	}
}

// A row says whose key signed, and that it fits; whatever of the decision is changed no longer does.
func TestRow(t *testing.T) {
	q, records := signed(t)
	r := audit.RowOf(&q, records)
	if r.Signature != audit.Good || r.Key != auth.Thumbprint(*records[1].Decision.PublicKey) || r.Delivered != q.CreatedAt.Add(2*time.Second) || r.Risk != "" {
		t.Errorf("%+v", r)
	}
	for _, device := range []string{"=phone", "d-1", r.Key, "device:" + r.Key} {
		if !r.ByDevice(device) {
			t.Errorf("not by %s", device)
		}
	}
	if r.ByDevice("") || r.ByDevice("other") || r.ByRule("d-1") {
		t.Errorf("%+v is another's, too", r)
	}
	if want := []audit.Screen{
		{Kind: hook.KindDevice, ID: "d-2", Name: "laptop", Key: "thumb", Time: q.CreatedAt.Add(3 * time.Second)}, {Kind: hook.KindOwner, Time: q.CreatedAt.Add(4 * time.Second)},
	}; !slices.Equal(r.ShownTo, want) {
		t.Errorf("shown to %+v", r.ShownTo)
	}
	for q, want := range map[audit.Query]bool{
		{ShownTo: "laptop"}: true, {ShownTo: "d-2", Device: "d-1"}: true, {ShownTo: "device:thumb"}: true, {ShownTo: "d-1"}: false, {ShownTo: "device:"}: false,
		{}: true, {Device: "d-1"}: true, {Device: "d-2"}: false, {Rule: "d-1"}: false, {Outcome: hook.Allowed, Device: r.Key}: true, {Outcome: hook.Denied}: false, {Risk: hook.Danger}: false,
	} {
		if q.Meant(&r) != want {
			t.Errorf("%+v: want %v", q, want)
		}
	}
	for name, change := range map[string]func(*api.Record){
		"behavior": func(r *api.Record) { r.Decision.Behavior = hook.BehaviorDeny },
		"message":  func(r *api.Record) { r.Decision.Message = "x" },
		"input":    func(r *api.Record) { r.Decision.InputSHA256 = strings.Repeat("cd", 32) },
		"edit":     func(r *api.Record) { r.Decision.UpdatedInput = hook.JSON(`{"command":"rm"}`) },
		"time":     func(r *api.Record) { r.Decision.SignedAt = "2026-11-28T05:00:01Z" },
		"request":  func(r *api.Record) { r.RequestID = "r-2" },
		"key": func(r *api.Record) {
			other := authtest.NewKey().JWK()
			r.Decision.PublicKey = &other
		},
	} {
		q, records := signed(t)
		change(&records[1])
		if r := audit.RowOf(&q, records); r.Signature != audit.Bad || r.Signature.Fits() {
			t.Errorf("%s changed: %s", name, r.Signature)
		}
	}
	records[1].Decision.PublicKey = nil
	if s := audit.Verify(&records[1]); s != audit.NoKey || !s.Fits() {
		t.Errorf("without a key: %s", s)
	}
}

// What a token that is bound to a key signed is verified as what a device signed; another token signs nothing.
func TestTokenSignature(t *testing.T) {
	q, records := signed(t)
	q.DecidedBy.Kind = hook.KindToken // by of the record, too
	if r := audit.RowOf(&q, records); r.Signature != audit.Good || !r.ByDevice(r.Key) || r.ByDevice("d-1") {
		t.Errorf("%+v", r)
	}
	d := records[1].Decision
	d.Behavior = hook.BehaviorDeny
	if s := audit.Verify(&records[1]); s != audit.Bad {
		t.Errorf("changed: %s", s)
	}
	d.PublicKey = nil
	if s := audit.Verify(&records[1]); s != audit.Bad {
		t.Errorf("a signature whose key is gone: %s", s)
	}
	d.Signature = ""
	if s := audit.Verify(&records[1]); s != audit.Unsigned {
		t.Errorf("bound to no key: %s", s)
	}
}

// What is read back is what was written, and no cell begins as a formula does.
func TestCSV(t *testing.T) {
	q, records := signed(t)
	q.CWD = "/a \"b\",c\x1b[2J\u202e"
	r := audit.RowOf(&q, records)
	var b strings.Builder
	c, err := audit.NewCSV(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(&r); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) != len(rows[1]) {
		t.Fatalf("%v, %v", rows, err)
	}
	cell := map[string]string{}
	for i, name := range rows[0] {
		cell[name] = rows[1][i]
		if strings.ContainsAny(rows[1][i][:min(1, len(rows[1][i]))], "=+-@") {
			t.Errorf("%s begins a formula: %q", name, rows[1][i])
		}
	}
	if cell["byName"] != "'=phone" || cell["directory"] != show.Line(q.CWD) || strings.ContainsAny(b.String(), "\x1b\u202e") || cell["signature"] != "good" || cell["asked"] != "2026-11-28T05:00:00Z" {
		t.Errorf("%v", cell)
	}
}
