package main

import (
	"slices"
	"testing"
	"time"

	"assent/internal/audit"
	"assent/internal/store/tree"
)

// TestPlaceLines: a trace says of each entry of the request whether it is in the tree.
func TestPlaceLines(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.Local)
	rep := audit.Report{Size: 9, Time: at, Unproved: []audit.Unproved{{Seq: 1, Why: tree.WhyBefore}, {Seq: 12, Why: tree.WhyWaits}}}
	want := []string{
		"in the tree over the record: leaves 4, 5 of 9, proved by the checkpoint of 2026-11-29 10:00:00",
		"seq 1 is not in the tree over the record: it was recorded before that began",
		"seq 12 is not in the tree over the record: it has no checkpoint yet; look again in a minute, and if that does not help, see assent doctor",
	}
	if got := placeLines([]string{"4", "5"}, &rep); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := placeLines(nil, &audit.Report{Unproved: rep.Unproved[:1]}); !slices.Equal(got, want[1:2]) {
		t.Errorf("got %q", got)
	}
}
