package audit

import (
	"fmt"
	"time"

	"assent/internal/text/show"
)

// Skew is by how much the clocks of brokers, devices and whoever verifies may differ, unless VerifyOptions says otherwise. It is that
// of assent-hook-strict.
const Skew = 5 * time.Minute

const doClock = "if one of the clocks is known to have been wrong then, say by how much with --skew; else " + doCompare

// clock follows the times of the entries. They are claims of the broker: one that says that an entry is old says that it may be
// missing, see Kept.
func (v *verifier) clock(l *line) {
	at := l.leaf.Time
	if at.IsZero() {
		return
	}
	if at.Before(v.time.Add(-v.Skew)) {
		v.findIn(l.n, &l.leaf, fmt.Sprintf("the time runs back here by %s: the entry before is of %s, this one of %s", v.time.Sub(at).Round(time.Second), stamp(v.time.UTC()), stamp(at)), doClock)
	}
	v.time = at
}

// signedThen looks whether a decision was signed while its request waited. A signature of another time is an old one, or the
// times in the record are not true.
func (v *verifier) signedThen(l *line, asked time.Time) {
	d := l.rec.Decision
	if d == nil || d.SignedAt == "" {
		return
	}
	at, err := time.Parse(time.RFC3339, d.SignedAt)
	if err != nil {
		v.findIn(l.n, &l.leaf, "it was signed at no time: "+show.Short(show.Line(d.SignedAt), 40), doApprover)
		return
	}
	if !asked.IsZero() && at.Before(asked.Add(-v.Skew)) {
		v.findIn(l.n, &l.leaf, fmt.Sprintf("it was signed %s before the request was asked, by the device's clock: at %s, and asked at %s", asked.Sub(at).Round(time.Second), stamp(at.UTC()), stamp(asked.UTC())), doClock)
	}
	if settled := l.leaf.Time; !settled.IsZero() && at.After(settled.Add(v.Skew)) {
		v.findIn(l.n, &l.leaf, fmt.Sprintf("it was signed %s after it was recorded, by the device's clock: at %s, and recorded at %s", at.Sub(settled).Round(time.Second), stamp(at.UTC()), stamp(settled.UTC())), doClock)
	}
}

// settleAged counts entries that are missing and that no later leaf has to explain. Not at every checkpoint: it looks at all.
func (v *verifier) settleAged() {
	if len(v.missing) < v.agedAt {
		return
	}
	horizon := v.horizon()
	for seq, m := range v.missing {
		if m.time.Before(horizon) {
			v.rep.Aged++
			delete(v.missing, seq)
		}
	}
	v.agedAt = 2*len(v.missing) + 4096
}

// horizon is the time before which an entry may be missing.
func (v *verifier) horizon() time.Time {
	at := v.last.Time
	if v.Read.After(at) {
		at = v.Read
	}
	return at.Add(time.Hour - Kept)
}
