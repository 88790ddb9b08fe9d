package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/tree"
	"assent/schemas"
)

// traced is a request that a device allowed, which signed what it showed, by a clock of its own.
func traced(t *testing.T) []api.Record {
	t.Helper()
	key := authtest.NewKey()
	jwk := key.JWK()
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: strings.Repeat("ab", 32), SignedAt: "2026-11-28T05:00:07.5Z", Shown: `{"sentence":"Lists files"}`, PublicKey: &jwk}
	d.Signature = key.Sign(auth.DecisionText("r-1", d))
	at := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	by := &hook.Approver{Kind: "device", ID: "d-1", Name: "phone", CodeOrigin: hook.CodeIndependent}
	return []api.Record{
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepAsked, Time: at, Seq: 7}},
		{Record: hook.Record{RequestID: hook.ShownEntry("r-1"), Step: hook.StepShown, Time: at.Add(2 * time.Second), Seq: 8, By: &hook.Approver{Kind: "device", ID: "d-2", Name: "laptop"}, Key: "thumbprint"}},
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepDecided, Time: at.Add(8 * time.Second), Seq: 9, Decision: &d, By: by, Outcome: hook.Allowed}},
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepDelivered, Time: at.Add(9 * time.Second), Seq: 10}},
		{Record: hook.Record{RequestID: "r-1", Step: hook.StepConfirmed, Time: at.Add(10 * time.Second), Seq: 12}},
	}
}

// A trace has a step for each device that had the request on its screen, and one for what the device showed that decided, and says of each where in the tree it is, or why it is not.
func TestTrace(t *testing.T) {
	records := traced(t)
	place := audit.Place{Leaves: []audit.Leaf{{Seq: 8, N: 3}, {Seq: 9, N: 4}, {Seq: 10, N: 5}}, Why: map[uint64]string{7: tree.WhyBefore, 12: tree.WhyWaits}}
	got := audit.TraceOf("r-1", records, &place)
	var steps []hook.Step
	var places []string
	for _, s := range got.Steps {
		steps, places = append(steps, s.Step), append(places, s.Place)
	}
	if want := []hook.Step{hook.StepAsked, hook.StepShown, hook.StepShown, hook.StepDecided, hook.StepDelivered, hook.StepConfirmed}; !slices.Equal(steps, want) {
		t.Fatalf("steps %v", steps)
	}
	if want := []string{api.PlaceNever, api.InTree, api.InTree, api.InTree, api.InTree, api.PlaceLater}; !slices.Equal(places, want) {
		t.Errorf("places %v", places)
	}
	seen, shown, decided := got.Steps[1], got.Steps[2], got.Steps[3]
	if seen.By.Name != "laptop" || seen.Shown != "" || seen.Signature != "" || seen.Key != "thumbprint" || seen.Seq != 8 || !seen.Time.Equal(records[1].Time) || *seen.Leaf != 3 {
		t.Errorf("on a screen: %+v", seen) // the broker's word, and nobody's signature
	}
	if shown.Time != time.Date(2026, 11, 28, 5, 0, 7, 500_000_000, time.UTC) || shown.Shown != `{"sentence":"Lists files"}` || shown.By.Name != "phone" || *shown.Leaf != 4 || shown.Signature != string(audit.Good) {
		t.Errorf("shown: %+v", shown)
	}
	if decided.Signature != string(audit.Good) || decided.Key != auth.Thumbprint(*records[2].Decision.PublicKey) || decided.By.CodeOrigin != hook.CodeIndependent || decided.Shown != "" || decided.Outcome != hook.Allowed {
		t.Errorf("decided: %+v", decided)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.Validate("AuditTrace", text); err != nil {
		t.Error(err)
	}

	records[2].Decision.Shown = `{"sentence":"Deletes files"}`
	if got := audit.TraceOf("r-1", records, &place); got.Steps[2].Signature != string(audit.Bad) || got.Steps[3].Signature != string(audit.Bad) {
		t.Errorf("what was shown was changed: %+v", got.Steps)
	}
	for _, rest := range []string{"", api.PlaceLater, api.PlaceNever} {
		got := audit.TraceOf("r-1", records, &audit.Place{Rest: rest})
		if want := map[string]string{"": api.PlaceNone}[rest]; got.Steps[0].Place != want+rest || got.Steps[0].Leaf != nil {
			t.Errorf("%q: %+v", rest, got.Steps[0])
		}
	}
	// Nobody was shown what a rule decided, nor is it known of a decision that was not signed with a time.
	records[2].By = &hook.Approver{Kind: hook.KindRule, ID: "x"}
	if _, ok := audit.ShownAt(&records[2]); ok {
		t.Error("a rule was shown something")
	}
}

// of has a shelf say which entries are those of one request.
type of struct {
	*shelf
	seqs []uint64
}

func (o *of) EntriesOf(context.Context, string) ([]uint64, error) { return o.seqs, nil }

// TestPlaceOf verifies the proof of a request with the broker's key. With another one it is wrong, and so it is where the record
// has an entry that the tree has not.
func TestPlaceOf(t *testing.T) {
	key, s := newKey(t), &of{shelf: &shelf{}, seqs: []uint64{1, 2}}
	recs := requests(2)
	for i := range recs {
		s.entries = append(s.entries, entryOf(t, i, &recs[i]))
	}
	l, _ := exportTo(t, key, s, func() io.Writer { return io.Discard })
	prove := func() *bytes.Buffer {
		t.Helper()
		proof := new(bytes.Buffer)
		if err := l.Prove(t.Context(), "r-0", tree.NewLineWriter(proof)); err != nil {
			t.Fatal(err)
		}
		return proof
	}
	public, err := l.Public()
	if err != nil {
		t.Fatal(err)
	}
	p, err := audit.PlaceOf(prove(), public, l.Decode)
	if err != nil || p.Wrong() != "" || !slices.Equal(p.Leaves, []audit.Leaf{{Seq: 1, N: 1}, {Seq: 2, N: 2}}) || p.Key != public || p.Report.Size != 5 || !p.Report.Proof {
		t.Errorf("%+v, %v", p, err)
	}
	other, err := newKey(t).Public(p.Report.Origin)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := audit.PlaceOf(prove(), other, l.Decode); err != nil || p.Wrong() == "" {
		t.Errorf("with another key: %+v, %v", p, err)
	}
	if _, err := audit.PlaceOf(prove(), "x", l.Decode); err == nil {
		t.Error("without a key there is no error")
	}
	if p, err := audit.PlaceOf(bytes.NewReader(prove().Bytes()[:40]), public, l.Decode); err == nil && p.Wrong() == "" {
		t.Errorf("half a proof: %+v", p)
	}
}
