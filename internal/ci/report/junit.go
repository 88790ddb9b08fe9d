package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The elements of JUnit's XML that GitHub's, GitLab's and Jenkins's readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    string     `xml:"time,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
		Output  string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is the report for a service that shows tests: each request is one, and a denied one has
// failed.
func JUnit(run Run) ([]byte, error) {
	run = run.complete()
	s := junitSuite{Name: "assent", Time: xmlSeconds(run.EndedAt.Sub(run.StartedAt)), Stamp: run.StartedAt.UTC().Format("2006-01-02T15:04:05")}
	for _, p := range run.Problems {
		c := junitCase{Class: "assent", Name: p.Key, Time: "0.000"}
		if p.Error {
			c.Error = &junitText{Message: p.Text, Type: p.Key}
			s.Errors++
		} else {
			c.Output = p.Text
		}
		s.Cases = append(s.Cases, c)
	}
	for _, r := range run.Requests {
		c := junitCase{Class: "assent." + r.Tool, Name: r.Summary, Time: xmlSeconds(time.Duration(r.LatencyMS) * time.Millisecond)}
		switch r.Verdict {
		case Denied:
			c.Failure = &junitText{Message: "denied: " + r.who(), Type: r.By.Kind, Text: r.details()}
			s.Failures++
		case Withdrawn:
			c.Skipped = &junitText{Message: r.who()}
			s.Skipped++
		default:
			c.Output = "allowed by " + r.who()
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	out := junitSuites{Name: s.Name, Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Skipped: s.Skipped, Time: s.Time, Suite: s}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// details is what a reader of tests shows of a failed one.
func (r *Request) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Text)
	for _, line := range []struct{ name, text string }{{"why", r.Reason}, {"the agent was told", r.Message}, {"no rule is proposed", r.NoProposal}, {"request", r.ID}} {
		if line.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.text)
		}
	}
	for i, p := range r.Proposals {
		if i == 0 {
			b.WriteString("\nThis rule would have allowed it. Put it below the line rules: of your rules file; where there is no such line, add it at the end.\nA path in it is of this machine: where the checkout may lie elsewhere, write ${project} for it in cwd and paths.\n")
		} else {
			b.WriteString("\nOr this one:\n")
		}
		fmt.Fprintf(&b, "# %s\n%s", p.Sentence, p.Rule)
		for _, w := range p.Warnings {
			fmt.Fprintf(&b, "# Warning: %s\n", w)
		}
	}
	return b.String()
}

func xmlSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
