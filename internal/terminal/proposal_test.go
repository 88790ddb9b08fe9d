package terminal

import (
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

func TestInForce(t *testing.T) {
	until := time.Date(2026, 11, 29, 10, 0, 0, 0, time.Local)
	for _, c := range []struct {
		saved api.Saved
		want  string
	}{
		{api.Saved{}, "until revoked"},
		{saved(until, 0, 0), "until 2026-11-29 10:00:00"},
		{saved(time.Time{}, 3, 1), "2 of 3 left"},
		{saved(until, 3, 4), "until 2026-11-29 10:00:00, 0 of 3 left"},
	} {
		if got := InForce(&c.saved); got != c.want {
			t.Errorf("%+v: %q, want %q", c.saved, got, c.want)
		}
	}
}

func saved(until time.Time, count, spent int) (s api.Saved) {
	s.ExpiresAt, s.Count, s.Spent = until, count, spent
	return s
}

func TestProposalText(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.Local)
	p := hook.Proposal{
		Sentence: "Run make", Warnings: []string{"it runs anything"}, Rule: "allow:\n  - Bash(make)\n",
		Past: hook.Past{Since: at, Examined: 1, Complete: true, Matched: 1, Denied: 1, Requests: []hook.PastRequest{{CreatedAt: at, Text: "make\ntest", Outcome: hook.Denied}}},
	}
	const want = `2. Run make
   Warning: it runs anything
     allow:
       - Bash(make)
   Of the 1 request since 2026-11-29 it would have allowed 1, 1 of which was DENIED.
     denied    2026-11-29 10:00  make⟦U+000A⟧test
`
	if got := ProposalText(2, &p); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	one := p.Past.Requests[0]
	p.Past = hook.Past{Examined: 500, Matched: 9, Denied: 2, Requests: []hook.PastRequest{one, one, one, one, one, one, one}}
	p.Warnings, p.Rule = nil, ""
	const long = `1. Run make
   Of the last 500 requests it would have allowed 9, 2 of which were DENIED.
     denied    2026-11-29 10:00  make⟦U+000A⟧test
     denied    2026-11-29 10:00  make⟦U+000A⟧test
     denied    2026-11-29 10:00  make⟦U+000A⟧test
     denied    2026-11-29 10:00  make⟦U+000A⟧test
     denied    2026-11-29 10:00  make⟦U+000A⟧test
     and 4 more
`
	if got := ProposalText(1, &p); got != long {
		t.Errorf("%s\nwant %s", got, long)
	}
}
