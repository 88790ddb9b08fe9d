// Package report says what became of the permission requests of one run of an agent without a
// person: as Markdown for people, as JUnit XML for the service that ran it, as JSON for programs.
//
// The functions here are pure, but for Write. Texts of the agent are made safe to look at where a
// Request is made (package show); here they are kept from being taken for Markdown or XML.
package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"assent/internal/host/wholefile"
)

// Run is one run (schema CIReport).
type Run struct {
	// Version is that of assent, ClientVersion the agent's; empty where it did not say. Agent is its name.
	Version       string `json:"version"`
	Agent         string `json:"agent,omitempty"`
	ClientVersion string `json:"clientVersion,omitempty"`
	// Command is what was run, each word cut where it is long.
	Command []string `json:"command"`
	// Broker is "private", or the URL of the broker that was asked.
	Broker    string    `json:"broker"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	// Timeout is how long a request waited for an answer at most, in seconds.
	Timeout float64 `json:"timeoutSeconds"`
	// Exit is the exit code of the run, AgentExit that of the agent; nil if it did not start.
	Exit      int  `json:"exit"`
	AgentExit *int `json:"agentExit,omitempty"`
	// Problems are about the run as a whole.
	Problems []Problem `json:"problems"`
	// Requests stand in the order in which they ended; Omitted is how many more there were.
	Requests []Request `json:"requests"`
	Omitted  int       `json:"omitted,omitempty"`
	Allowed  int       `json:"allowed"`
	Denied   int       `json:"denied"`
}

// Problem is something a person should know about the run.
type Problem struct {
	Key  string `json:"key"` // for programs; a plain word
	Text string `json:"text"`
	// Error says that requests may have gone unseen, or were denied without asking anybody.
	Error bool `json:"error,omitempty"`
}

// Verdict is what the agent was told.
type Verdict string

// The verdicts.
const (
	Allowed   Verdict = "allowed"
	Denied    Verdict = "denied"
	Withdrawn Verdict = "withdrawn" // the agent went away, or went on, before there was one
)

// Kinds of By.
const (
	Rule    = "rule"
	Person  = "person"  // a device, a token, or a command on the broker's machine
	Timeout = "timeout" // nobody answered in time
	Failure = "failure" // nobody could be asked
	Agent   = "agent"   // withdrawn
)

// By is who or what settled a request.
type By struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"` // of a rule, its id
	File string `json:"file,omitempty"` // of a rule, where it stands
}

// Request is one permission request. Its texts are safe to look at.
type Request struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionId,omitempty"`
	Tool      string `json:"tool"`
	// Summary is one line of what was asked for, Text the most telling part of it, cut where it
	// is long.
	Summary   string    `json:"summary"`
	Text      string    `json:"text,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	LatencyMS int64     `json:"latencyMs"`
	Verdict   Verdict   `json:"verdict"`
	By        By        `json:"by"`
	// Message is what the agent was told with a denial, Reason why nobody answered or could be
	// asked.
	Message string `json:"message,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Proposals are rules of which each would have allowed it, the narrowest first. Where there is
	// none for a denied one, NoProposal says why.
	Proposals  []Proposal `json:"proposals,omitempty"`
	NoProposal string     `json:"noProposal,omitempty"`
}

// Proposal is a rule that would have allowed a request.
type Proposal struct {
	Sentence string   `json:"sentence"`
	Warnings []string `json:"warnings,omitempty"`
	Rule     string   `json:"rule"` // YAML, an element of rules: in a rules file
}

// who says who or what settled it.
func (r *Request) who() string {
	switch r.By.Kind {
	case Rule:
		if r.By.File != "" {
			return fmt.Sprintf("rule %q in %s", r.By.Name, r.By.File)
		}
		return fmt.Sprintf("rule %q", r.By.Name)
	case Person:
		if r.By.Name != "" {
			return r.By.Name
		}
		return "a person"
	case Timeout:
		return "nobody answered in time"
	case Failure:
		return "nobody could be asked"
	}
	return "the agent did not wait"
}

// Line is one line about a settled request.
func (r *Request) Line() string {
	s := fmt.Sprintf("%s %s: %s (%s, after %s)", r.Verdict, r.Tool, r.Summary, r.who(), took(r.LatencyMS))
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

// took is a latency as a person reads it.
func took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < 10*time.Second {
		return d.String()
	}
	return d.Round(time.Second).String()
}

// complete returns the run with what is counted, and lists that JSON shows as [].
func (run Run) complete() Run {
	run.Allowed, run.Denied = 0, 0
	for _, r := range run.Requests {
		switch r.Verdict {
		case Allowed:
			run.Allowed++
		case Denied:
			run.Denied++
		}
	}
	run.Command = append([]string{}, run.Command...)
	run.Problems = append([]Problem{}, run.Problems...)
	run.Requests = append([]Request{}, run.Requests...)
	return run
}

// Failed reports whether --fail-on-deny should fail the run: something was denied, or may have been
// without being seen.
func (run Run) Failed() bool {
	return run.Omitted > 0 || slices.ContainsFunc(run.Requests, func(r Request) bool { return r.Verdict == Denied }) ||
		slices.ContainsFunc(run.Problems, func(p Problem) bool { return p.Error })
}

// JSON is the report for programs.
func JSON(run Run) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(run.complete()); err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return b.Bytes(), nil
}

// Extensions are what Write puts behind its path.
var extensions = []string{".md", ".xml", ".json"}

// Write writes path.md, path.xml and path.json, for nobody else to read: commands stand in them.
// What can be written is, if another one cannot.
func Write(path string, run Run) error {
	xml, err := JUnit(run)
	if err != nil {
		return err
	}
	js, err := JSON(run)
	if err != nil {
		return err
	}
	var failed []error
	for i, b := range [][]byte{Markdown(run), xml, js} {
		if err := wholefile.Write(path+extensions[i], b, 0o600); err != nil {
			failed = append(failed, fmt.Errorf("write the report: %w", err))
		}
	}
	return errors.Join(failed...)
}

// Writable says now why Write could not write later, and leaves empty files of the report's names:
// what an earlier run left must not be taken for this one's.
func Writable(path string) error {
	for _, ext := range extensions {
		if err := wholefile.Write(path+ext, nil, 0o600); err != nil {
			return fmt.Errorf("the report cannot be written: %w", err)
		}
	}
	return nil
}
