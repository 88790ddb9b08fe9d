// Package replay says what rules would have made of requests that are over, and where that is
// something else than what happened.
package replay

import (
	"time"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
)

// Past is a request that is over.
type Past struct {
	hook.Request
	Call    policy.Call // the request as the rules see it
	Outcome hook.Outcome
	Reason  string         // of some outcomes
	By      *hook.Approver // who decided; nil: nobody
	Edited  bool           // it was allowed with another input
	Summary string         // one line
}

// Rules are what requests from one repository are judged by.
type Rules struct {
	*policy.Set
	// Broken: the repository's own file is, so Set is without it and nothing is allowed by rule.
	Broken bool
}

// Replay judges past requests one by one, for one goroutine. Set Load before the first.
type Replay struct {
	// Load returns the rules for requests from the repository at root; an empty root is that of
	// requests whose repository cannot be seen. They are remembered for up to maxRules roots.
	Load func(root string) (Rules, error)
	// OwnFiles: the file of a request's repository counts. Without it Load is asked for one root
	// only, the empty one.
	OwnFiles bool

	// What came of it: how many requests were judged, how many would have gone as they went, and
	// those that would have gone otherwise, each kind in the order in which they were judged.
	Judged, Same int
	Changed      [len(Kinds)][]Change

	rules map[string]Rules // by root
}

const maxRules = 100

// Change is a request that would have gone otherwise.
type Change struct {
	Kind    string      `json:"kind"` // the name of one of Kinds
	Request string      `json:"request"`
	Time    time.Time   `json:"time"`
	Tool    string      `json:"tool"`
	What    string      `json:"what"` // one line, shortened
	Was     string      `json:"was"`  // its outcome
	By      string      `json:"by,omitempty"`
	Verdict hook.Action `json:"verdict"`
	Rule    string      `json:"rule,omitempty"`
	File    string      `json:"file,omitempty"`
	Reason  string      `json:"reason"`
}

// Judge asks the rules about a request. The error is that of Load.
func (r *Replay) Judge(p *Past) error {
	if p.Event != "" {
		return nil // an MCP server's form, which no rule is about
	}
	root := ""
	if r.OwnFiles && !p.Call.Elsewhere {
		root = p.Repo.Root
	}
	rules, err := r.rulesFor(root)
	if err != nil {
		return err
	}
	v := rules.Eval(p.Call)
	WithoutPlainYes(&v, p.ToolName)
	if rules.Broken && v.Action == hook.ActionAllow {
		v = hook.Verdict{Action: hook.ActionAsk, Reason: "the repository's rules are broken"}
	}
	r.Judged++
	kind, ok := kindOf(p, v.Action)
	if !ok {
		r.Same++
		return nil
	}
	c := Change{
		Kind: Kinds[kind].Name, Request: p.ID, Time: p.CreatedAt, Tool: p.ToolName, What: p.Summary, Was: string(p.Outcome),
		Verdict: v.Action, Rule: v.Rule, File: v.File, Reason: v.Reason,
	}
	if p.By != nil {
		c.By = p.By.Who()
	}
	r.Changed[kind] = append(r.Changed[kind], c)
	return nil
}

func (r *Replay) rulesFor(root string) (Rules, error) {
	if rules, known := r.rules[root]; known {
		return rules, nil
	}
	rules, err := r.Load(root)
	if err != nil {
		return rules, err
	}
	if r.rules == nil {
		r.rules = map[string]Rules{}
	}
	if len(r.rules) >= maxRules {
		clear(r.rules)
	}
	r.rules[root] = rules
	return rules, nil
}

// WithoutPlainYes makes of a verdict what the broker makes of it: a question of the agent wants an
// answer, and no rule says yes to it. It reports whether that changed the verdict.
func WithoutPlainYes(v *hook.Verdict, tool string) (changed bool) {
	if v.Action != hook.ActionAllow || !tools.Of(tool).NeedsAnswer() {
		return false
	}
	v.Action, v.Rule, v.File, v.Reason = hook.ActionAsk, "", "", "the agent takes no plain yes here"
	return true
}

// Line is requests that look the same and were judged the same.
type Line struct {
	Change     // the first of them
	Times  int // how many they are
}

// Fold puts changes that look the same on one line, where the first of them stood.
func Fold(list []Change) []*Line {
	type key struct{ what, was, by, rule, file string }
	var lines []*Line
	known := map[key]*Line{}
	for _, c := range list {
		k := key{c.What, c.Was, c.By, c.Rule, c.File}
		if l := known[k]; l != nil {
			l.Times++
			continue
		}
		l := &Line{c, 1}
		known[k] = l
		lines = append(lines, l)
	}
	return lines
}
