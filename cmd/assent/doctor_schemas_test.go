package main

import (
	"testing"

	"assent/internal/agent/conformance"
)

func TestDoctorSaysHowEventsDiffer(t *testing.T) {
	m := func(event, path string, n uint64) conformance.Mismatch {
		return conformance.Mismatch{Event: event, Path: path, Problem: "missing", Count: n}
	}
	for _, tt := range []struct {
		report         conformance.Report
		status, detail string
	}{
		{conformance.Report{}, "ok", "no event has come since the broker started"},
		{conformance.Report{Checked: 1}, "ok", "1 event, as its schema describes it"},
		{conformance.Report{Checked: 7, Unchecked: 2}, "ok", "7 events, all as their schemas describe them; 2 more were not checked"},
		{conformance.Report{Checked: 7, Mismatches: []conformance.Mismatch{m("Stop", "/cwd", 3), m("other", "", 1)}}, "warn",
			"4 of 7 events differ from their schemas; Stop /cwd: missing (3); other (the event): missing (1)"},
		{conformance.Report{Checked: 9, Mismatches: []conformance.Mismatch{m("A", "/a", 1), m("B", "/b", 1), m("C", "/c", 1), m("D", "/d", 1), m("E", "/e", 1)}}, "warn",
			"5 of 9 events differ from their schemas; A /a: missing (1); B /b: missing (1); C /c: missing (1); and in 2 more ways"},
	} {
		c := mismatches(&tt.report)
		if c.Name != "schemas" || c.Status != tt.status || c.Detail != tt.detail || (c.Fix == "") != (tt.status == "ok") {
			t.Errorf("%+v: %+v", tt.report, c)
		}
	}
}
