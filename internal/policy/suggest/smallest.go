package suggest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/grants"
	"assent/internal/text/show"
)

// Bounds of Smallest.
const (
	maxSettled    = 2000 // requests that are looked at, the newest
	maxAsked      = 200  // different calls that rules are made of
	maxCandidates = 300  // rules that are tried on all
)

// Chosen is one suggestion for what is allowed again and again: one rule, or the rules for the parts
// of one command.
type Chosen struct {
	Sentence string             `json:"sentence"`
	Warnings []string           `json:"warnings,omitempty"`
	Rule     string             `json:"rule"` // items of the key rules
	Tests    string             `json:"-"`    // items of the key tests
	Answers  int                `json:"answers"`
	Requests []hook.PastRequest `json:"requests"` // those that it would have answered, each call once
	Newest   hook.PastRequest   `json:"newest"`   // of all of these

	// What saves it: the request that it is made from, and its digest among the proposals of that one.
	RequestID   string `json:"requestId"`
	InputSHA256 string `json:"inputSha256"`
	Proposal    string `json:"proposal"`
	Shown       string `json:"-"` // Rule without the id, as a proposal shows it
}

// Set is the smallest set of narrow rules that was found for the past.
type Set struct {
	Examined int      `json:"examined"` // requests looked at
	Allowed  int      `json:"allowed"`  // by a person, as they stood
	Already  int      `json:"already"`  // of these, what the rules in force would allow now
	Answered int      `json:"answered"` // of these, what the suggestions would have answered
	Rules    []Chosen `json:"rules"`    // the one that answers most in front
}

// asked is one call that a person allowed, perhaps several times.
type asked struct {
	req   *hook.Request
	times int
}

// option is a rule that may be chosen.
type option struct {
	prepared
	covers []int // indexes of asked
	gain   int   // requests
	order  int   // the narrower of two stands in front
}

// Smallest looks for few narrow rules that would have answered the most of what people allowed, and
// none of what was denied or changed. A rule is chosen if it answers at least least requests that no
// other one does. It takes seconds for a long past, and ends with an error when ctx is over.
func (p *Proposer) Smallest(ctx context.Context, past []Settled, least int) (Set, error) {
	done, err := p.wait(ctx)
	if err != nil {
		return Set{}, err
	}
	defer done()
	return p.smallest(ctx, past, least)
}

// smallest is Smallest, for who has the turn.
func (p *Proposer) smallest(ctx context.Context, past []Settled, least int) (Set, error) {
	past = past[:min(len(past), maxSettled)]
	set := Set{Examined: len(past), Rules: []Chosen{}}
	var calls []*asked
	var refused []*hook.Request
	known, never := map[string]*asked{}, map[string]bool{}
	for i := range past {
		s := &past[i]
		key := s.ToolName + "\x00" + s.InputSHA256 + "\x00" + string(s.ToolInput) + "\x00" + s.CWD + "\x00" + s.Origin.ProjectDir + "\x00" + s.Origin.Host
		switch {
		case s.Refused:
			if !never[key] {
				never[key] = true
				refused = append(refused, s.Request)
			}
		case s.Allowed:
			set.Allowed++
			if a := known[key]; a != nil {
				a.times++
				continue
			}
			a := &asked{s.Request, 1}
			known[key] = a
			calls = append(calls, a)
		}
	}
	slices.SortStableFunc(calls, func(a, b *asked) int { return b.times - a.times })
	calls = calls[:min(len(calls), maxAsked)]
	options, already, err := p.options(ctx, calls)
	if err != nil {
		return set, err
	}
	set.Already = already
	if options, err = measured(ctx, options, calls, refused); err != nil {
		return set, err
	}
	answered := make([]bool, len(calls))
	for _, o := range smallest(options, calls, least) {
		c := Chosen{
			Sentence: o.Sentence, Warnings: o.Warnings, Requests: []hook.PastRequest{},
			RequestID: o.saved.RequestID, InputSHA256: o.saved.InputSHA256, Proposal: o.Digest, Shown: o.Rule,
		}
		id := fmt.Sprintf("suggested-%d", len(set.Rules)+1)
		c.Rule, c.Tests = grants.WithID(o.saved.Rule, id), grants.WithID(o.saved.Tests, id)
		for _, i := range o.covers {
			c.Answers += calls[i].times
			if !answered[i] {
				answered[i] = true
				set.Answered += calls[i].times
			}
			if len(c.Requests) < shownPast {
				c.Requests = append(c.Requests, pastRequest(calls[i].req, hook.Allowed))
			}
			if c.Newest.ID == "" || calls[i].req.CreatedAt.After(c.Newest.CreatedAt) {
				c.Newest = pastRequest(calls[i].req, hook.Allowed)
			}
		}
		set.Rules = append(set.Rules, c)
	}
	return set, nil
}

// options makes rules of the calls, and counts the requests that need none.
func (p *Proposer) options(ctx context.Context, calls []*asked) (all []option, already int, err error) {
	known := map[string]bool{}
	for _, a := range calls {
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("suggest rules: %w", context.Cause(ctx))
		}
		if trial, err := p.book.Try(a.req); err == nil && trial.Eval(a.req).Action == hook.ActionAllow {
			already += a.times
			continue
		}
		list, _ := p.prepare(a.req)
		for i, x := range list {
			if !known[x.saved.Rule] && len(all) < maxCandidates {
				known[x.saved.Rule] = true
				all = append(all, option{prepared: x, order: i})
			}
		}
	}
	return all, already, nil
}

// measured says which calls each rule would have answered, without those that would have allowed
// what was refused.
func measured(ctx context.Context, options []option, calls []*asked, refused []*hook.Request) ([]option, error) {
	var good []option
	for _, o := range options {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("suggest rules: %w", context.Cause(ctx))
		}
		if slices.ContainsFunc(refused, o.allows) {
			continue
		}
		for i, a := range calls {
			if o.allows(a.req) {
				o.covers = append(o.covers, i)
			}
		}
		good = append(good, o)
	}
	return good, nil
}

// smallest takes the rule that answers most of what none answers yet, again and again, and leaves
// out in the end what the others answer without it.
func smallest(options []option, calls []*asked, least int) []option {
	by := make([]int, len(calls)) // how many of the chosen answer it
	var chosen []option
	for {
		best := -1
		for i := range options {
			o := &options[i]
			o.gain = 0
			for _, k := range o.covers {
				if by[k] == 0 {
					o.gain += calls[k].times
				}
			}
			if best < 0 || o.gain > options[best].gain || o.gain == options[best].gain && o.order < options[best].order {
				best = i
			}
		}
		if best < 0 || options[best].gain < max(least, 1) {
			break
		}
		for _, k := range options[best].covers {
			by[k]++
		}
		chosen = append(chosen, options[best])
	}
	return slices.DeleteFunc(chosen, func(o option) bool {
		if slices.ContainsFunc(o.covers, func(k int) bool { return by[k] == 1 }) {
			return false
		}
		for _, k := range o.covers {
			by[k]--
		}
		return true
	})
}

// File is a file of rules with the suggestions, as text to add to one's own. It has been loaded, and
// its tests were run; the error says what is wrong.
func (s *Set) File() (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for _, c := range s.Rules {
		fmt.Fprintf(&b, "# %s\n# allowed %d times\n%s", show.Line(c.Sentence), c.Answers, c.Rule)
	}
	b.WriteString("tests:\n")
	for _, c := range s.Rules {
		b.WriteString(c.Tests)
	}
	if len(s.Rules) == 0 {
		return "", nil
	}
	if _, err := policy.Load([]policy.Source{{Name: "suggested", Layer: policy.User, Data: []byte(b.String())}}, policy.LoadOptions{}); err != nil {
		return "", fmt.Errorf("the suggested rules cannot be read back: %w", err)
	}
	return b.String(), nil
}
