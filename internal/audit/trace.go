package audit

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/tree"
)

// Place is where the entries of one request are in the tree over the record.
type Place struct {
	Report Report
	Key    string            // that the proof was verified with
	Leaves []Leaf            // that are proved, in the order of the record
	Why    map[uint64]string // tree.WhyBefore and the like, of others
	// Rest is the place of all entries that are in neither; "" is api.PlaceNone.
	Rest string
}

// Leaf is a proved entry of the record and its number in the tree.
type Leaf struct {
	Seq uint64
	N   int64
}

// anyClock has a decision verified whatever its device's clock said: that it is in the tree does not depend on that. Who looks at a
// trace sees both times, and an export is verified with the narrow bound.
const anyClock = 100 * 365 * 24 * time.Hour

// PlaceOf verifies the proof of one request with a key of the broker. An error says that it could not be read; what is
// wrong with it is in the report.
func PlaceOf(proof io.Reader, key string, decode tree.Decode) (Place, error) {
	p := Place{Key: key, Why: map[uint64]string{}}
	v, err := note.NewVerifier(key)
	if err != nil {
		return p, fmt.Errorf("the broker's key cannot be read: %w", err)
	}
	p.Report, err = VerifyLines(proof, VerifyOptions{
		Keys: []note.Verifier{v}, Decode: decode, Skew: anyClock,
		Proved:  func(seq uint64, n int64) { p.Leaves = append(p.Leaves, Leaf{seq, n}) },
		Missing: func(seq uint64) { p.Why[seq] = tree.WhyMissing },
	})
	if err != nil {
		return p, fmt.Errorf("read the proof: %w", err)
	}
	for _, u := range p.Report.Unproved {
		p.Why[u.Seq] = u.Why
	}
	return p, nil
}

// Wrong is the first thing that is wrong with the proof, and what to do about it; "" where nothing is.
func (p *Place) Wrong() string {
	if p.Report.OK() {
		return ""
	}
	return p.Report.Findings[0].What + "; " + p.Report.Findings[0].Do
}

// of says where an entry is.
func (p *Place) of(seq uint64) (place string, leaf *int64) {
	for i := range p.Leaves {
		if p.Leaves[i].Seq == seq {
			return api.InTree, &p.Leaves[i].N
		}
	}
	switch p.Why[seq] {
	case tree.WhyBefore:
		return api.PlaceNever, nil
	case tree.WhyWaits:
		return api.PlaceLater, nil
	case tree.WhyMissing:
		return api.PlaceLost, nil
	}
	if p.Rest != "" {
		return p.Rest, nil
	}
	return api.PlaceNone, nil
}

// TraceOf is the trace of a request by its records: what was asked, shown, decided, delivered and run, with each signature
// verified with the key beside it, and the place of each in the tree.
func TraceOf(id string, records []api.Record, p *Place) api.AuditTrace {
	t := api.AuditTrace{RequestID: id, Steps: make([]api.AuditStep, 0, len(records)+1)}
	for i := range records {
		r, signature := &records[i], Verify(&records[i])
		s := api.AuditStep{Step: r.Step, Time: r.Time.UTC(), Seq: r.Seq, By: r.By, Outcome: r.Outcome, Reason: r.Reason, Failure: r.Failure, EventSeq: r.EventSeq, Signature: string(signature), Key: KeyOf(r, signature)}
		s.Place, s.Leaf = p.of(r.Seq)
		if d := r.Decision; d != nil {
			s.Contained = d.Contain != ""
			s.Edited = !s.Contained && r.Allowed != nil && len(r.Allowed.Changes) > 0
			s.SignedAt = d.SignedAt
			if at, ok := ShownAt(r); ok {
				shown := s
				shown.Step, shown.Time, shown.Shown = hook.StepShown, at, d.Shown
				shown.Outcome, shown.Edited, shown.Contained = "", false, false
				t.Steps = append(t.Steps, shown)
			}
		}
		t.Steps = append(t.Steps, s)
	}
	t.Tree = api.AuditTree{Origin: p.Report.Origin, Size: p.Report.Size, Time: p.Report.Time.UTC(), Key: p.Key, Wrong: p.Wrong()}
	return t
}

// ShownAt is when a device or a program had shown the request that it decided, by its own clock, which it signed; false of a
// decision that does not say so.
func ShownAt(r *api.Record) (time.Time, bool) {
	if r.Decision == nil || r.Decision.Shown == "" || r.By == nil || r.By.Kind == hook.KindRule {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, r.Decision.SignedAt)
	return at.UTC(), err == nil
}

// KeyOf is the thumbprint of the key that signed a step, or the rules that decided, given what verifying it came to; of a device
// that had the request on its screen its own; "" where there is none.
func KeyOf(r *api.Record, s Signature) string {
	switch {
	case r.Step == hook.StepShown:
		return r.Key
	case s == Rules, s == RulesOver:
		return auth.Thumbprint(r.Decision.Rules.PublicKey)
	case r.Decision != nil && r.Decision.PublicKey != nil:
		return auth.Thumbprint(*r.Decision.PublicKey)
	case r.HandBack != nil && r.HandBack.PublicKey != nil:
		return auth.Thumbprint(*r.HandBack.PublicKey)
	case r.Message != nil && r.Message.Sent != nil && r.Message.Sent.PublicKey != nil:
		return auth.Thumbprint(*r.Message.Sent.PublicKey)
	}
	return ""
}
