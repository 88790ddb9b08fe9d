package grants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/files"
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

// NewProposer returns a Proposer that tries its rules with those of the book. ended tells of the
// past; nil: nothing is known of it.
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

// candidate is a proposal that nobody has tried yet.
type candidate struct {
	sentence string
	warnings []string
	drafts   []draft
}

// draft is one rule, and the call that it is made for.
type draft struct {
	match match
	test  test
	tests []test // further ones
}

// match and what is in it are the rules file's, as far as proposals need it.
type match struct {
	Command *command `yaml:",omitempty"`
	File    *file    `yaml:",omitempty"`
	URL     *url     `yaml:",omitempty"`
	MCP     *mcp     `yaml:",omitempty"`
	Tool    string   `yaml:",omitempty"`
	Cwd     []string `yaml:",omitempty,flow"`
	Session *session `yaml:",omitempty"`
}

type command struct {
	Program string   `yaml:""`
	Args    []string `yaml:",flow"`
	Flags   *flags   `yaml:",omitempty"`
	Paths   []string `yaml:",omitempty,flow"`
	Stdin   []string `yaml:",flow"`
}

type flags struct {
	Only []string `yaml:",flow"`
}

type file struct {
	Op   []string `yaml:",flow"`
	Path []string `yaml:",flow"`
	Not  []string `yaml:",omitempty,flow"`
}

type url struct {
	Scheme string
	Host   string
	Path   []string `yaml:",omitempty,flow"`
}

type mcp struct {
	Server string
	Tool   string
	Input  map[string]string `yaml:",omitempty,flow"`
}

type session struct {
	Repo string
}

type test struct {
	Cmd    string         `yaml:",omitempty"`
	Tool   string         `yaml:",omitempty"`
	Input  map[string]any `yaml:",omitempty,flow"`
	Cwd    string         `yaml:",omitempty"`
	Repo   string         `yaml:",omitempty"`
	Expect string
	Rule   string `yaml:",omitempty"`
}

// text writes the rules and their tests with id in place of the rules' ids; without one the
// rules have none.
func (c *candidate) text(id string) (ruleText, testText string, err error) {
	var rs, ts strings.Builder
	for i, d := range c.drafts {
		body, err := yaml.Marshal(struct {
			Action string
			Match  match
		}{"allow", d.match})
		if err != nil {
			return "", "", fmt.Errorf("write the rule: %w", err)
		}
		name := id
		if i > 0 {
			name = fmt.Sprintf("%s/%d", id, i+1)
		}
		if id == "" {
			rs.WriteString(item(string(body)))
			continue
		}
		rs.WriteString(item("id: " + name + "\n" + string(body)))
		d.test.Expect, d.test.Rule = "allow", name
		for _, t := range append([]test{d.test}, d.tests...) {
			if t.Rule != "" {
				t.Rule = "\uE000" // YAML would quote the place
			}
			body, err := yaml.Marshal(t)
			if err != nil {
				return "", "", fmt.Errorf("write a test of the rule: %w", err)
			}
			ts.WriteString(item(strings.Replace(string(body), "rule: \uE000", "rule: "+name, 1)))
		}
	}
	return rs.String(), ts.String(), nil
}

// item makes a mapping an element of a list.
func item(body string) string {
	lines := strings.SplitAfter(strings.TrimRight(body, "\n"), "\n")
	return "  - " + strings.Join(lines, "    ") + "\n"
}

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
	ruleText, testText, err := c.text(place)
	if err != nil {
		return x, false
	}
	x.Sentence, x.Warnings, x.Rule = show.Line(c.sentence), c.warnings, shown
	x.Digest = digest(req, ruleText)
	if m := c.drafts[0].match.Command; m != nil {
		x.program = m.Program
	}
	x.saved = hook.Saved{Sentence: x.Sentence, Rule: ruleText, Tests: testText, RequestID: req.ID, InputSHA256: req.InputSHA256, Digest: x.Digest}
	s := x.saved
	s.ID, s.Rule, s.Tests = tried, named(ruleText, tried), named(testText, tried)
	if _, err := load([]hook.Saved{s}, tried); err != nil {
		return x, false
	}
	x.trial, err = p.book.Try(req, policy.Source{Name: tried, Layer: policy.Assent, Data: []byte(document([]hook.Saved{s}))})
	if err != nil {
		return x, false
	}
	return x, allowedBy(x.trial.Explain(req))
}

// allowedBy says whether the proposal was needed to allow, and sufficed.
func allowedBy(v policy.Verdict) bool {
	return v.Action == policy.Allow && slices.ContainsFunc(v.Saved, func(id string) bool {
		id, _, _ = strings.Cut(id, "/")
		return id == tried
	})
}

func digest(req *hook.Request, ruleText string) string {
	h := sha256.Sum256([]byte("assent proposal v1\n" + req.ID + "\n" + req.InputSHA256 + "\n" + ruleText))
	return hex.EncodeToString(h[:])
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
func (p *Proposer) Find(ctx context.Context, req *hook.Request, digest string) (hook.Saved, bool) {
	done, err := p.wait(ctx)
	if err != nil {
		return hook.Saved{}, false
	}
	defer done()
	list, _ := p.prepare(req)
	for _, x := range list {
		if x.Digest == digest {
			return x.saved, true
		}
	}
	return hook.Saved{}, false
}

// lookBack fills in the past of proposals.
func (p *Proposer) lookBack(ctx context.Context, list []prepared) error {
	now := time.Now()
	since := now.Add(-pastDays * 24 * time.Hour)
	denied, others := make([][]hook.PastRequest, len(list)), make([][]hook.PastRequest, len(list))
	looked, all := 0, true
	if p.ended != nil {
		reached := false
		var err error
		all, err = p.ended(ctx, func(req *hook.Request, outcome hook.Outcome) bool {
			if req.CreatedAt.Before(since) {
				reached = true
				return false
			}
			if looked == maxPast || time.Since(now) > pastTime {
				return false
			}
			looked++
			for i := range list {
				if !list[i].near(req) || !allowedBy(list[i].trial.Eval(req)) {
					continue
				}
				past := &list[i].Past
				past.Matched++
				into := &others[i]
				if outcome == hook.Denied {
					past.Denied++
					into = &denied[i]
				}
				if len(*into) < shownPast {
					*into = append(*into, pastRequest(req, outcome))
				}
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("look at past requests: %w", err)
		}
		all = all || reached
	}
	for i := range list {
		past := &list[i].Past
		past.Since, past.Examined, past.Complete = since.UTC(), looked, all
		past.Requests = append([]hook.PastRequest{}, denied[i]...)
		past.Requests = append(past.Requests, others[i]...)
		past.Requests = past.Requests[:min(len(past.Requests), shownPast)]
	}
	return nil
}

// near is a quick look that spares most requests the whole one: the same tool, and for a command
// a word that the rule is about.
func (x *prepared) near(req *hook.Request) bool {
	if req.ToolName == "Bash" && x.program != "" {
		return strings.Contains(string(req.ToolInput), x.program)
	}
	return req.ToolName == "Bash" || x.program == ""
}

func pastRequest(req *hook.Request, outcome hook.Outcome) hook.PastRequest {
	text := ""
	_, fields := show.Request(req.ToolName, req.ToolInput)
	for _, f := range fields {
		if f.Kind != "words" {
			text = strings.NewReplacer("\n", "⏎", "\t", " ").Replace(f.Text)
			break
		}
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:140]) + "…" + string(r[len(r)-59:])
	}
	return hook.PastRequest{ID: req.ID, SessionID: req.SessionID, CreatedAt: req.CreatedAt, ToolName: show.Line(req.ToolName), Text: text, Outcome: outcome}
}
