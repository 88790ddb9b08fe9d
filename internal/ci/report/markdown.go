package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// GitHub shows nothing at all of a job's summary that is larger than 1 MiB, other steps' part
// included. Of what does not fit, only the number stands there; the other forms have all.
const (
	maxList     = 200 << 10
	maxMarkdown = 900 << 10
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
		fmt.Fprintf(&b, "- %s: %s\n", cmp.Or(run.Agent, "Claude Code"), code(run.ClientVersion))
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
	// What was denied comes first where not all can be listed.
	listed := run.Requests
	if listSize(listed) > maxList {
		listed = slices.Clone(listed)
		slices.SortStableFunc(listed, func(x, y Request) int { return cmp.Compare(rank(x), rank(y)) })
	}
	// A list and no table: in a table a | would end even a code span.
	b.WriteString("\n")
	more, end := run.Omitted, b.Len()+maxList
	for i, r := range listed {
		line := listLine(r)
		if b.Len()+len(line) > end {
			more += len(listed) - i
			break
		}
		b.WriteString(line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d more are not listed.\n", more)
	}
	brief := 0
	for _, r := range run.Requests {
		if r.Verdict != Denied {
			continue
		}
		var one strings.Builder
		if denied(&one, r); brief > 0 || b.Len()+one.Len() > maxMarkdown {
			brief++
			continue
		}
		b.WriteString(one.String())
	}
	if brief > 0 {
		fmt.Fprintf(&b, "\n%d more were denied; the JSON file beside this one says more about them.\n", brief)
	}
	return []byte(b.String())
}

func listLine(r Request) string {
	return fmt.Sprintf("- %s %s: %s, after %s\n", r.Verdict, code(r.Tool+": "+r.Summary), settledBy(r), took(r.LatencyMS))
}

func listSize(list []Request) (n int) {
	for _, r := range list {
		n += len(listLine(r))
	}
	return n
}

// rank orders by what a reader must not miss.
func rank(r Request) int { return slices.Index([]Verdict{Denied, Withdrawn, Allowed}, r.Verdict) }

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
			b.WriteString("\nThis rule would have allowed it. Put it below the line `rules:` of your rules file; where there is no such line, add it at the end. A path in it is of this machine: where the checkout may lie elsewhere, write `${project}` for it in `cwd` and `paths`.\n\n")
		} else {
			b.WriteString("\nOr this one:\n\n")
		}
		fenced(b, "yaml", "# "+p.Sentence+"\n"+p.Rule)
		if len(p.Warnings) > 0 {
			b.WriteString("\n")
		}
		for _, w := range p.Warnings {
			fmt.Fprintf(b, "- Warning: %s\n", code(w))
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
