package suggest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// lookBack fills in the past of proposals.
func (p *Proposer) lookBack(ctx context.Context, list []prepared) error {
	now := time.Now()
	since := now.Add(-pastDays * 24 * time.Hour)
	denied, others := make([][]hook.PastRequest, len(list)), make([][]hook.PastRequest, len(list))
	examined, all := 0, true
	if p.ended != nil {
		reached := false
		var err error
		all, err = p.ended(ctx, func(req *hook.Request, outcome hook.Outcome) bool {
			if req.CreatedAt.Before(since) {
				reached = true
				return false
			}
			if examined == maxPast || time.Since(now) > pastTime {
				return false
			}
			examined++
			for i := range list {
				if !list[i].allows(req) {
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
		past.Since, past.Examined, past.Complete = since.UTC(), examined, all
		past.Requests = append([]hook.PastRequest{}, denied[i]...)
		past.Requests = append(past.Requests, others[i]...)
		past.Requests = past.Requests[:min(len(past.Requests), shownPast)]
	}
	return nil
}

// near is a quick look that spares most requests the whole one: the same tool, and for a command
// a word that the rule is about.
func (x *prepared) near(req *hook.Request) bool {
	command := tools.Of(req.ToolName).Kind == tool.Command
	if command && x.program != "" {
		return strings.Contains(string(req.ToolInput), x.program)
	}
	return command || x.program == ""
}

// allows says whether the rule would have allowed req.
func (x *prepared) allows(req *hook.Request) bool {
	return x.near(req) && allowedBy(x.trial.Eval(req))
}

func pastRequest(req *hook.Request, outcome hook.Outcome) hook.PastRequest {
	text := ""
	_, fields := agents.Describe(req.Agent, req.ToolName, req.ToolInput)
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
