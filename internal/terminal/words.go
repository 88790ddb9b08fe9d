package terminal

import (
	"fmt"
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// firstAgent is the agent that is not named while no other is about.
const firstAgent = "claude"

// OtherAgents says whether another agent than Claude Code asks for one of these.
func OtherAgents(rs []*api.Request) bool {
	return slices.ContainsFunc(rs, func(r *api.Request) bool { return IsOtherAgent(r.Agent) })
}

// IsOtherAgent says whether the name is that of another agent than Claude Code.
func IsOtherAgent(name string) bool { return name != "" && name != firstAgent }

// Project is what a person calls the place of a request: its directory, with the subagent's type, and before
// it the machine that joined, by the name that its token has. Another agent than Claude Code is named.
func Project(r *api.Request) string { return ProjectOf(r, IsOtherAgent(r.Agent)) }

// ProjectOf is Project, with the agent's name or without.
func ProjectOf(r *api.Request, named bool) string {
	name := r.SessionID
	if project := hook.ProjectName(r.CWD); project != "" {
		name = project
	}
	if r.AgentID != "" {
		name += " › " + r.AgentType
	}
	if r.Machine != "" {
		name = r.Machine + ": " + name
	}
	if named && r.AgentTitle != "" {
		name = r.AgentTitle + " · " + name
	}
	return show.Line(name)
}

// Marked is Sentence, and says of a sample that it is one: nothing runs, whatever is answered.
func Marked(r *api.Request) string {
	if r.Sample() {
		return "Sample: " + Sentence(r)
	}
	return Sentence(r)
}

// Sentence says in one line what a request would do, in assent's words.
func Sentence(r *api.Request) string {
	text := r.Verb()
	if r.Effects != nil && r.Sentence != "" {
		text = r.Sentence
	}
	if text == "" {
		text = "Use " + r.ToolName
	}
	return show.OneRow(show.Readable(text))
}

// RiskOf is the risk of a request. What nobody told the risk of is as bad as can be.
func RiskOf(r *api.Request) hook.Risk {
	if r.Effects == nil || r.Risk == "" {
		return hook.Danger
	}
	if r.Risk.Level() == hook.Danger.Level() {
		return hook.Danger
	}
	return r.Risk
}

// RiskRole is the role of text that tells of a risk.
func RiskRole(risk hook.Risk) Role {
	switch risk {
	case hook.Calm:
		return Calm
	case hook.Normal:
		return Strong
	case hook.Attention:
		return Attention
	}
	return Danger
}

// RiskSign is a risk in two columns, told apart without colour, too.
func RiskSign(risk hook.Risk) string {
	sign := "!!"
	switch risk {
	case hook.Calm:
		sign = "· "
	case hook.Normal:
		sign = "• "
	case hook.Attention:
		sign = "! "
	}
	return RiskRole(risk).On(sign)
}

// riskLine is the risk with its reason; empty where neither needs saying.
func riskLine(r *api.Request) string {
	risk := RiskOf(r)
	switch {
	case r.Effects == nil:
		return Danger.On("!! Danger: the broker does not say what this does.")
	case risk.Level() < hook.Attention.Level():
		return ""
	}
	word := map[hook.Risk]string{hook.Attention: "! Attention", hook.Danger: "!! Danger"}[risk]
	if reason := show.OneRow(show.Readable(r.RiskReason)); reason != "" {
		word += ": " + reason
	}
	return RiskRole(risk).On(word)
}

// Ago is how long ago t was, roughly: 12s, 3min, 2h, 5d.
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dmin", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Clock is a time as a person at the terminal needs it: without the date only where that is today's.
func Clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if y, m, d := t.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// OverwriteWords says what becomes of the file that is there.
func OverwriteWords(o *hook.Overwrites) string {
	switch {
	case o == nil:
		return "Replaces the file, if there is one: assent cannot see it from here."
	case !o.Exists:
		return "A new file."
	case o.Lines == nil:
		return fmt.Sprintf("Replaces the file, %d bytes before.", o.Bytes)
	case *o.Lines == 1:
		return "Replaces the file, 1 line before."
	}
	return fmt.Sprintf("Replaces the file, %d lines before.", *o.Lines)
}
