// Package suggest turns a request into the narrowest rules that would allow the next one like it,
// so that an approver can have assent remember one of them (package grants).
//
// A suggestion is offered only if it works: with it, and without a person, this request would have
// been allowed, and it would not have been without it. Programs that run whatever they are given
// (shells, interpreters, wrappers) get none. In the API a suggestion is a proposal.
//
// # Concurrency
//
// A Proposer may be used from any goroutine and works on one request at a time. It starts no
// goroutine, and reads symbolic links of the paths that a request names.
package suggest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/files"
	"assent/internal/policy/grants"
	"assent/internal/policy/shell"
	"assent/internal/text/digest"
	"assent/internal/text/show"
)

// Proposer makes rules of requests, of one at a time: it costs some milliseconds, which hooks
// that wait for rules should not have to share. Make it with NewProposer.
type Proposer struct {
	book  *files.Book
	ended Ended
	turn  chan struct{}
}

// Ended calls visit with requests that are over, the newest first, until it returns false, and
// reports whether there were no more.
type Ended func(ctx context.Context, visit func(req *hook.Request, outcome hook.Outcome) bool) (all bool, err error)

// NewProposer returns a Proposer that tries its rules with those of the book. ended lists past
// requests; nil: none are known.
func NewProposer(book *files.Book, ended Ended) *Proposer {
	return &Proposer{book: book, ended: ended, turn: make(chan struct{}, 1)}
}

// wait returns when it is the caller's turn, who then calls done.
func (p *Proposer) wait(ctx context.Context) (done func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to make proposals: %w", context.Cause(ctx))
	}
}

// Propose returns the rules that a request could become, the narrowest first, with what they
// would have allowed before.
func (p *Proposer) Propose(ctx context.Context, req *hook.Request) (hook.Proposals, error) {
	done, err := p.wait(ctx)
	if err != nil {
		return hook.Proposals{}, err
	}
	defer done()
	list, why := p.prepare(req)
	out := hook.Proposals{RequestID: req.ID, Reason: why, Proposals: []hook.Proposal{}}
	if len(list) == 0 {
		out.Reason = show.Line(why)
		return out, nil
	}
	out.Reason = ""
	if err := p.lookBack(ctx, list); err != nil {
		return out, err
	}
	for _, x := range list {
		out.Proposals = append(out.Proposals, x.Proposal)
	}
	return out, nil
}

// Find returns what is to be saved of the proposal with this digest; false if the request has
// none like it now.
func (p *Proposer) Find(ctx context.Context, req *hook.Request, proposal string) (hook.Saved, bool) {
	done, err := p.wait(ctx)
	if err != nil {
		return hook.Saved{}, false
	}
	defer done()
	x, ok := p.find(req, proposal)
	return x.saved, ok
}

func (p *Proposer) find(req *hook.Request, proposal string) (prepared, bool) {
	list, _ := p.prepare(req)
	for _, x := range list {
		if x.Digest == proposal {
			return x, true
		}
	}
	return prepared{}, false
}

const (
	// maxRule is how long the text of a proposal may be, in bytes: a person is to read it.
	maxRule = 4 << 10
	// maxParts is how many rules a proposal may have, one for each part of a command that no rule
	// covers.
	maxParts = 3
	// What is looked at of the past.
	pastDays  = 30
	maxPast   = 1000
	pastTime  = 2 * time.Second
	shownPast = 100
)

// prepared is a proposal with what is saved of it.
type prepared struct {
	hook.Proposal
	saved hook.Saved // without who and until when
	// program is that of a command's first rule; empty for other tools.
	program string
	trial   *files.Trial
}

// tried is the id of a proposal while it is tried.
const tried = "proposal"

// prepare returns the proposals for a request that do what they say: with each of them, and
// without a person, it would have been allowed.
func (p *Proposer) prepare(req *hook.Request) ([]prepared, string) {
	list, why := p.candidates(req)
	var all []prepared
	for _, c := range list {
		if x, ok := p.try(req, &c); ok && !slices.ContainsFunc(all, func(y prepared) bool { return y.Rule == x.Rule }) {
			all = append(all, x)
		}
	}
	if len(all) == 0 && why == "" {
		why = "no rule that is narrow enough would allow it for certain"
	}
	return all, why
}

func (p *Proposer) try(req *hook.Request, c *candidate) (x prepared, ok bool) {
	shown, _, err := c.text("")
	if err != nil || len(shown) > maxRule || show.Text(shown) != shown {
		return x, false
	}
	ruleText, testText, err := c.text(grants.Placeholder)
	if err != nil {
		return x, false
	}
	x.Sentence, x.Warnings, x.Rule = show.Line(c.sentence), c.warnings, shown
	x.Digest = digestOf(req, ruleText)
	if m := c.drafts[0].match.Command; m != nil {
		x.program = m.Program
	}
	x.saved = hook.Saved{Sentence: x.Sentence, Rule: ruleText, Tests: testText, RequestID: req.ID, InputSHA256: req.InputSHA256, Digest: x.Digest}
	s := x.saved
	s.ID, s.Rule, s.Tests = tried, grants.WithID(ruleText, tried), grants.WithID(testText, tried)
	if err := grants.Check([]hook.Saved{s}, tried); err != nil {
		return x, false
	}
	x.trial, err = p.book.Try(req, policy.Source{Name: tried, Layer: policy.Assent, Data: []byte(grants.Document([]hook.Saved{s}))})
	if err != nil {
		return x, false
	}
	return x, allowedBy(x.trial.Explain(req).Verdict)
}

// allowedBy says whether the proposal was needed to allow, and sufficed.
func allowedBy(v hook.Verdict) bool {
	return v.Action == hook.ActionAllow && slices.ContainsFunc(v.Saved, func(id string) bool {
		id, _, _ = strings.Cut(id, "/")
		return id == tried
	})
}

func digestOf(req *hook.Request, ruleText string) string {
	return digest.Of([]byte("assent proposal v1\n" + req.ID + "\n" + req.InputSHA256 + "\n" + ruleText))
}

// candidates returns what could be proposed for a request, the narrowest first, or why nothing.
func (p *Proposer) candidates(req *hook.Request) ([]candidate, string) {
	if req.Sample() {
		return nil, "it is a sample, and an answer to a sample allows nothing else"
	}
	if req.Uninspectable != "" {
		return nil, "the request can be read in two ways, and no rule allows such a request"
	}
	trial, err := p.book.Try(req)
	if err != nil {
		return nil, err.Error()
	}
	v := trial.Explain(req)
	switch {
	case v.Action == hook.ActionDeny:
		return nil, "a rule denies it, which no other rule undoes"
	case v.Action == hook.ActionAllow:
		return nil, "the rule " + v.Rule + " allows it already"
	case v.Rule != "":
		return nil, "the rule " + v.Rule + " wants a person to decide each time"
	case len(v.Refused) > 0:
		return nil, v.Refused[0].Why
	}
	c := p.book.Call(req)
	ec, ok := newExecContext(&c)
	if !ok {
		return nil, "it is not certain which files it is about: the agent runs elsewhere, or its directory cannot be named in a rule"
	}
	if tools.Of(c.Tool).Kind != tool.Command {
		return ec.tool()
	}
	var in struct{ Command string }
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Input, &members) != nil || json.Unmarshal(members["command"], &in.Command) != nil {
		return nil, "it is no command"
	}
	script := shell.Read(in.Command, shell.Options{Dir: ec.cwd, Home: c.Home, Project: ec.project, Zsh: c.Shell != "bash"})
	if len(script.Doubts) > 0 || len(script.Units) != len(v.Units) {
		return nil, "the command cannot be read with certainty"
	}
	return ec.command(&script, v.Units)
}
