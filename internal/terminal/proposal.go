package terminal

import (
	"fmt"
	"strings"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// InForce says until when a saved rule or grant is in force.
func InForce(s *api.Saved) string {
	var bounds []string
	if !s.ExpiresAt.IsZero() {
		bounds = append(bounds, "until "+s.ExpiresAt.Local().Format("2006-01-02 15:04:05"))
	}
	if s.Count > 0 {
		bounds = append(bounds, fmt.Sprintf("%d of %d left", max(0, s.Count-s.Spent), s.Count))
	}
	if len(bounds) == 0 {
		return "until revoked"
	}
	return strings.Join(bounds, ", ")
}

// ProposalText is a proposal as a person reads it.
func ProposalText(n int, p *hook.Proposal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s\n", n, show.Readable(p.Sentence))
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "   Warning: %s\n", show.Readable(w))
	}
	for line := range strings.Lines(show.Readable(p.Rule)) {
		b.WriteString("     " + line)
	}
	span := "the last " + show.Count(p.Past.Examined, "request")
	if p.Past.Complete {
		span = fmt.Sprintf("the %s since %s", show.Count(p.Past.Examined, "request"), p.Past.Since.Local().Format("2006-01-02"))
	}
	fmt.Fprintf(&b, "   Of %s it would have allowed %d", span, p.Past.Matched)
	switch {
	case p.Past.Denied == 1:
		b.WriteString(", 1 of which was DENIED")
	case p.Past.Denied > 0:
		fmt.Fprintf(&b, ", %d of which were DENIED", p.Past.Denied)
	}
	b.WriteString(".\n")
	const most = 5
	for i, r := range p.Past.Requests {
		if i == most {
			fmt.Fprintf(&b, "     and %d more\n", p.Past.Matched-most)
			break
		}
		fmt.Fprintf(&b, "     %-8s  %s  %s\n", show.Line(string(r.Outcome)), r.CreatedAt.Local().Format("2006-01-02 15:04"), show.OneRow(show.Readable(r.Text)))
	}
	return b.String()
}
