package intake

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/host/ondisk"
	"assent/internal/text/show"
)

// The bounds of what is said beside a request, in characters.
const (
	maxPrompt = 500
	maxSaid   = 600
	// maxShown bounds a file's text once it is safe to look at, in bytes.
	maxShown = 2 * ondisk.MaxText
)

// look is for a request that a person will look at. It returns it with what its file holds now, and what
// that person should know beside it.
func (in *Intake) look(ctx context.Context, a *Arrival, req *hook.Request) (*hook.Request, *hook.Context) {
	seen := *req
	c := in.prompt(ctx, req, a.Event.Attempt > 1)
	c.Said, c.SaidCut, c.SaidBy, c.SaidWhy = said(a, req)
	in.lookAtFile(&seen, &c)
	return &seen, &c
}

// said reads what the agent said last out of the end of its transcript.
func said(a *Arrival, req *hook.Request) (text string, cut bool, by, why string) {
	subagent := req.AgentID != ""
	if req.Sample() {
		return "", false, "", hook.SaidUnknown // no agent is there that could have said anything
	}
	if len(a.Transcript) == 0 {
		switch a.NoTranscript {
		case hook.SaidOff, hook.SaidRefused, hook.SaidLate, hook.SaidBeyond:
			return "", false, "", a.NoTranscript
		}
		return "", false, "", hook.SaidUnknown
	}
	words, why := agents.Reader(req.Agent).Said(a.Transcript, subagent)
	if why != "" {
		return "", false, "", why
	}
	by = hook.SaidByAgent
	if subagent {
		by = hook.SaidBySubagent
	}
	return show.Short(words, maxSaid), longer(words, maxSaid), by, ""
}

// longer reports whether a text that is shown in max characters has more of them.
func longer(text string, max int) bool {
	return utf8.RuneCountInString(show.Line(strings.TrimSpace(text))) > max
}

// lookAtFile says what the file holds that req would change: in req what it would overwrite, in c the
// text and the place.
func (in *Intake) lookAtFile(req *hook.Request, c *hook.Context) {
	t := tools.Of(req.ToolName)
	if t.Kind != tool.Write && t.Kind != tool.Edit || req.Uninspectable != "" {
		return
	}
	path, ok := describe.Member(req.ToolInput, t.Path[0])
	if !ok || path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(req.CWD, path)
	}
	if !here(req) {
		if t.Kind == tool.Write {
			c.Before = &hook.Before{Why: hook.BeforeRemote}
		}
		return
	}
	found := ondisk.Look(path, in.hidden(req))
	if t.Kind == tool.Edit {
		if old, ok := describe.Member(req.ToolInput, replaced(t)); ok && found.Text != nil {
			c.At = editContext(*found.Text, old)
		}
		return
	}
	req.Overwrites = found.Overwrites
	switch {
	case found.Text != nil:
		if text := show.Text(*found.Text); len(text) <= maxShown {
			c.Before = &hook.Before{Text: &text}
		} else {
			c.Before = &hook.Before{Why: hook.BeforeLarge}
		}
	case found.Why != "":
		c.Before = &hook.Before{Why: found.Why}
	}
}

// here reports whether the hook ran on this host: elsewhere its paths mean other files.
func here(r *hook.Request) bool {
	host, err := os.Hostname()
	return err == nil && host != "" && r.Channel == hook.ChannelSocket && r.Origin.Host == host
}

// hidden says which files req must not bring before a person's eyes: those that hold secrets; and all,
// where somebody else asks than the broker's own user, whose files they are: what another user submits
// must not show files that this user cannot read.
func (in *Intake) hidden(req *hook.Request) func(path string) bool {
	if in.cfg.Secret == nil || in.cfg.Self == "" || req.Submitter != in.cfg.Self {
		return nil
	}
	return func(path string) bool { return in.cfg.Secret(req, path) }
}

// replaced names the member of a tool's input with the text that goes.
func replaced(t tool.Tool) string {
	for _, m := range t.Members {
		if m.Kind == show.KindDiffOld {
			return m.Name
		}
	}
	return ""
}
