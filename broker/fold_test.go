package broker

import (
	"testing"

	"assent/internal/hook"
)

// Folding is the same however often and from wherever a record comes: the tail repeats what a
// start has read already.
func TestFoldTakesEachRecordOnce(t *testing.T) {
	d := hook.Decision{Behavior: hook.BehaviorDeny}
	recs := []hook.Record{
		{Seq: 3, Step: hook.StepAsked, Request: &hook.Request{ID: "r"}},
		{Seq: 5, ID: "first", Step: hook.StepDecided, Outcome: hook.Denied, Decision: &d},
		{Seq: 6, ID: "second", Step: hook.StepEnded, Outcome: hook.Withdrawn}, // no log lets this happen
		{Seq: 7, Step: hook.StepDelivered},
		{Seq: 9, Step: hook.StepOverruled},
		{Seq: 11, Step: hook.StepDelivered},
	}
	var f folded
	for i, rec := range recs {
		if got, want := f.fold(rec), rec.ID != "second"; got != want {
			t.Errorf("record %d: fold says %v, want %v", i, got, want)
		}
		for _, old := range recs[:i+1] {
			before := f
			if f.fold(old) {
				t.Errorf("record %d changed something again after record %d", old.Seq, rec.Seq)
			}
			if f.Delivery != before.Delivery || f.Outcome != before.Outcome || f.LastSeq != before.LastSeq {
				t.Errorf("record %d again: %+v", old.Seq, f)
			}
		}
	}
	if f.Outcome != hook.Denied || f.settledBy != "first" || f.SettledSeq != 5 || f.Delivery != Overruled || f.LastSeq != 11 {
		t.Errorf("folded %+v", f)
	}
	for _, rec := range recs[1:] {
		var f folded
		if f.fold(rec) {
			t.Errorf("%s before asked changed something", rec.Step)
		}
	}
}
