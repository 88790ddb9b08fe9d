package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// An agent that asks for much does not make the summary so large that nothing of it is shown.
func TestMarkdownOfMany(t *testing.T) {
	run := sample()
	one := run.Requests[3]
	run.Requests = nil
	for i := range 10_000 {
		r := one
		if r.ID, r.Text, r.Summary = fmt.Sprint(i), strings.Repeat("x`\n", 2000), strings.Repeat("y", 160); i < 9_990 {
			r.Verdict, r.By = Allowed, By{Kind: Rule, Name: "r"}
		}
		run.Requests = append(run.Requests, r)
	}
	md := Markdown(run)
	if len(md) > 1<<20 {
		t.Errorf("%d bytes", len(md))
	}
	if n := bytes.Count(md, []byte("\n- denied ")); n != 10 || !bytes.Contains(md, []byte("more are not listed")) {
		t.Errorf("%d of 10 denied ones are listed", n)
	}
	if n := bytes.Count(md, []byte("\n## Denied")); n != 10 {
		t.Errorf("%d of 10 denied ones are described", n)
	}
	for i := range run.Requests {
		run.Requests[i].Verdict = Denied
	}
	md = Markdown(run)
	if len(md) > 1<<20 || !bytes.Contains(md, []byte("more were denied")) {
		t.Errorf("%d bytes", len(md))
	}
	// A block of code that is cut would take in what follows.
	if left := outside(t, string(md)); strings.Contains(left, "x`") {
		t.Errorf("%.300s", left)
	}
}
