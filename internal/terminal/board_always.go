package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Bound is how long a saved rule holds: for a time, or for so many further requests, or with neither until
// it is revoked.
type Bound struct {
	For   time.Duration
	Times int
}

// AlwaysConfig is what the key A needs, which allows a request and saves a rule made of it.
type AlwaysConfig struct {
	// Proposals are the rules that a request could become.
	Proposals func(ctx context.Context, id string) (hook.Proposals, error)
	// Keep saves one, and says until when it holds.
	Keep func(context.Context, *api.Request, *hook.Proposal, Bound) (holds string, err error)
}

type (
	proposalsMsg struct {
		id  string
		all []hook.Proposal
		why string // there is none
		err error
	}
	keptMsg struct {
		r     *api.Request
		words string
		err   error
	}
)

// offer are the rules that can be chosen for the selected request, in place of its detail.
type offer struct {
	id    string
	all   []hook.Proposal
	lines []string
}

// alwaysKey asks which rules r could become. It wants r seen as far as danger does: what is saved answers
// without anybody looking.
func (b *board) alwaysKey(r *api.Request) tea.Cmd {
	unseen := len(b.detail()) - b.seen
	switch {
	case b.cfg.Always.Proposals == nil, r.Event != "", tools.Of(r.ToolName).Kind == tool.Question:
		b.say(Attention.On("No rule can be made of this."))
	case r.Uninspectable != "" || r.Partial:
		b.say(Attention.On("Not all of it can be shown here; use the page."))
	case RiskOf(r) == hook.Danger:
		b.say(Danger.On("What is dangerous is answered once at a time here; use the page."))
	case b.edits[r.ID] != nil:
		b.say(Attention.On("A rule is about what was asked for: esc drops the edit first."))
	case unseen > 0:
		b.say(Attention.On(fmt.Sprintf("%s below: look at all of it first (space).", show.Count(unseen, "row"))))
	default:
		b.say(Dim.On("Asking for rules that fit …"))
		return func() tea.Msg {
			p, err := b.cfg.Always.Proposals(b.ctx, r.ID)
			return proposalsMsg{r.ID, p.Proposals, p.Reason, err}
		}
	}
	return nil
}

// proposed shows the rules that r could become, and asks for one.
func (b *board) proposed(m proposalsMsg) {
	r := b.current()
	switch {
	case r == nil || r.ID != m.id || b.prompt != nil:
		return // it is over, or somebody went on
	case m.err != nil:
		b.say(Danger.On(show.OneRow(show.Readable(m.err.Error()))))
		return
	case len(m.all) == 0:
		b.say(Attention.On("No rule can be made of this: " + show.OneRow(show.Readable(m.why))))
		return
	}
	var lines []string
	for i := range m.all {
		lines = append(lines, strings.Split(strings.TrimRight(ProposalText(i+1, &m.all[i]), "\n"), "\n")...)
	}
	b.offer, b.scroll, b.seen = &offer{m.id, m.all, lines}, 0, 0
	b.askBound(r)
}

// askBound asks for the rule, by its number, and how long it holds.
func (b *board) askBound(r *api.Request) {
	o := b.offer
	b.prompt = &prompt{
		label: b.either("Rule and how long: 1 15m, 1 3x, 1 always. Enter saves it and allows, Esc leaves.", "Rule, how long: 1 15m, 1 3x, 1 always"), id: r.ID,
		done: func(text string) tea.Cmd {
			n, bound, err := parseKeep(text)
			if err == nil && n > len(o.all) {
				err = fmt.Errorf("there are %s", show.Count(len(o.all), "rule"))
			}
			if unseen := len(b.detail()) - b.seen; err == nil && unseen > 0 {
				err = fmt.Errorf("%s below: look at all of them first (pgdown)", show.Count(unseen, "row"))
			}
			if err != nil {
				b.askBound(r)
				b.prompt.label = Attention.On(show.OneRow(err.Error()))
				return nil
			}
			b.offer = nil
			b.comeUp()
			b.sending[r.ID] = true
			return func() tea.Msg {
				holds, err := b.cfg.Always.Keep(b.ctx, r, &o.all[n-1], bound)
				return keptMsg{r, holds, err}
			}
		},
	}
}

// kept allows the request of which a rule was saved.
func (b *board) kept(m keptMsg) tea.Cmd {
	delete(b.sending, m.r.ID)
	if m.err != nil {
		b.say(Danger.On("Nothing was saved or allowed: " + show.OneRow(show.Readable(m.err.Error()))))
		return nil
	}
	b.saved = "Saved, " + show.OneRow(m.words) + "."
	if r := b.current(); r == nil || r.ID != m.r.ID {
		b.say(Calm.On(b.saved))
		return nil
	}
	return b.send(m.r, hook.Decision{Behavior: hook.BehaviorAllow})
}

// parseKeep reads "1 15m", "2 3x" or "1 always".
func parseKeep(text string) (number int, bound Bound, err error) {
	want := errors.New(`want a rule and how long, such as "1 15m", "1 3x" or "1 always"`)
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, Bound{}, want
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 {
		return 0, Bound{}, want
	}
	if words[1] == "always" {
		return n, Bound{}, nil
	}
	if times, ok := strings.CutSuffix(words[1], "x"); ok {
		if k, err := strconv.Atoi(times); err == nil && k > 0 && k <= 100 {
			return n, Bound{Times: k}, nil
		}
		return 0, Bound{}, want
	}
	d, err := time.ParseDuration(words[1])
	if err != nil || d < time.Second || d > 2160*time.Hour {
		return 0, Bound{}, want
	}
	return n, Bound{For: d}, nil
}
