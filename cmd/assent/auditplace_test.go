package main

import (
	"bytes"
	"slices"
	"strings"
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

// TestVerifiedWords: of a proof it is not said that nothing is left out, for it may leave out what it likes.
func TestVerifiedWords(t *testing.T) {
	for proof, want := range map[bool]string{false: "Verified: nothing was changed, left out or put in.\n", true: "only an export proves.\n"} {
		var out bytes.Buffer
		a := app{out: &out, err: &out}
		a.printVerified(&audit.Report{Proof: proof, Leaves: 3})
		if !strings.HasSuffix(out.String(), want) || proof == strings.Contains(out.String(), "nothing was changed, left out") {
			t.Errorf("proof %v: %q", proof, out.String())
		}
	}
}
