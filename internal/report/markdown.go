package report

import (
	"fmt"
	"strings"
)

// Markdown is the report for people, as GitHub and GitLab show it. Whatever the agent wrote stands
// in code, where nothing is a link, an image or HTML.
func Markdown(run Run) []byte {
	run = run.complete()
	var b strings.Builder
	withdrawn := len(run.Requests) - run.Allowed - run.Denied
	fmt.Fprintf(&b, "# assent: %d allowed, %d denied", run.Allowed, run.Denied)
	if withdrawn > 0 {
		fmt.Fprintf(&b, ", %d withdrawn", withdrawn)
	}
	b.WriteString("\n\n")
	fmt.Fprintf(&b, "- Command: %s\n", code(strings.Join(run.Command, " ")))
	if run.ClientVersion != "" {
		fmt.Fprintf(&b, "- Claude Code: %s\n", code(run.ClientVersion))
	}
	fmt.Fprintf(&b, "- Broker: %s\n", code(run.Broker))
	fmt.Fprintf(&b, "- A request waited at most %s\n", seconds(run.Timeout))
	fmt.Fprintf(&b, "- Took %s, exit code %d\n", took(run.EndedAt.Sub(run.StartedAt).Milliseconds()), run.Exit)
	for _, p := range run.Problems {
		fmt.Fprintf(&b, "\n> **%s** %s\n", map[bool]string{true: "Problem:", false: "Note:"}[p.Error], code(p.Text))
	}
	if len(run.Requests) == 0 {
		b.WriteString("\nNo permission was asked for.\n")
		return []byte(b.String())
	}
	// A list and no table: in a table a | would end even a code span.
	b.WriteString("\n")
	for _, r := range run.Requests {
		fmt.Fprintf(&b, "- %s %s: %s, after %s\n", r.Verdict, code(r.Tool+": "+r.Summary), settledBy(r), took(r.LatencyMS))
	}
	if run.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d more are not listed.\n", run.Omitted)
	}
	for _, r := range run.Requests {
		if r.Verdict == Denied {
			denied(&b, r)
		}
	}
	return []byte(b.String())
}

// denied says more about a denied request, and what would have allowed it.
func denied(b *strings.Builder, r Request) {
	fmt.Fprintf(b, "\n## Denied: %s\n\n", code(r.Tool+": "+r.Summary))
	if r.Text != "" && r.Text != r.Summary {
		fenced(b, "", r.Text)
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "Settled by: %s\n", settledBy(r))
	if r.Reason != "" {
		fmt.Fprintf(b, "\nWhy: %s\n", code(r.Reason))
	}
	if r.Message != "" {
		fmt.Fprintf(b, "\nThe agent was told: %s\n", code(r.Message))
	}
	if r.NoProposal != "" {
		fmt.Fprintf(b, "\nNo rule is proposed: %s\n", code(r.NoProposal))
	}
	for i, p := range r.Proposals {
		if i == 0 {
			b.WriteString("\nThis rule would have allowed it; to put among `rules:` in a rules file:\n\n")
		} else {
			b.WriteString("\nOr this one:\n\n")
		}
		fenced(b, "yaml", "# "+p.Sentence+"\n"+p.Rule)
		if len(p.Warnings) > 0 {
			b.WriteString("\n")
		}
		for _, w := range p.Warnings {
			fmt.Fprintf(b, "- Mind: %s\n", code(w))
		}
	}
}

// settledBy is who, with names in code.
func settledBy(r Request) string {
	if r.By.Kind == Rule || r.By.Name != "" {
		return code(r.who())
	}
	return r.who()
}

func seconds(s float64) string { return fmt.Sprintf("%g seconds", s) }

// code is text on one line as a code span, whose fence is longer than any row of backticks in it.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "–"
	}
	fence := strings.Repeat("`", longest(text)+1)
	return fence + " " + text + " " + fence
}

// fenced is a block of code.
func fenced(b *strings.Builder, lang, text string) {
	fence := strings.Repeat("`", max(3, longest(text)+1))
	fmt.Fprintf(b, "%s%s\n%s\n%s\n", fence, lang, strings.TrimRight(text, "\n"), fence)
}

// longest is the length of the longest row of backticks.
func longest(text string) int {
	n, most := 0, 0
	for _, c := range text {
		if c != '`' {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}
