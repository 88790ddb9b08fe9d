package main

import (
	"context"
	"fmt"
	"time"

	"assent/internal/agent/conformance"
)

// checkSchemas is the doctor's look at events that came in another form than we know.
func (a *app) checkSchemas(ctx context.Context) check {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var r conformance.Report
	b, err := a.broker()
	if err == nil {
		err = b.call(ctx, "GET", "/v1/schema-mismatches", nil, &r)
	}
	if err != nil {
		return check{"schemas", "warn", "not known: " + err.Error(), "set ASSENT_TOKEN to a token of role view"}
	}
	return mismatches(&r)
}

// mismatches says how events differ from their schemas: the three most frequent ways.
func mismatches(r *conformance.Report) check {
	c := check{Name: "schemas", Status: "ok", Detail: "no event has come since the broker started"}
	switch {
	case r.Checked == 1:
		c.Detail = "1 event, as its schema describes it"
	case r.Checked > 1:
		c.Detail = counted(int(r.Checked), "event") + ", all as their schemas describe them"
	}
	if len(r.Mismatches) > 0 {
		var n uint64
		for _, m := range r.Mismatches {
			n += m.Count
		}
		c.Status, c.Detail = "warn", fmt.Sprintf("%d of %d events differ from their schemas", n, r.Checked)
		c.Fix = "nothing was refused for it; is the agent newer than this assent? all of it: GET /v1/schema-mismatches"
	}
	for i, m := range r.Mismatches {
		if i == 3 {
			c.Detail += fmt.Sprintf("; and in %d more ways", len(r.Mismatches)-i)
			break
		}
		at := m.Path
		if at == "" {
			at = "(the event)"
		}
		c.Detail += fmt.Sprintf("; %s %s: %s (%d)", m.Event, at, m.Problem, m.Count)
	}
	if r.Unchecked > 0 {
		c.Detail += fmt.Sprintf("; %d more were not checked", r.Unchecked)
	}
	return c
}
