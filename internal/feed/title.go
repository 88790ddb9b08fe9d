package feed

import (
	"strconv"
	"strings"

	"assent/internal/hook"
	"assent/internal/show"
)

// Titles are one line each and safe to look at anywhere: foreign text in them went through
// package show, and of long text head and tail are left.
const (
	maxTitleText = 120  // characters of foreign text in a title
	maxTitleName = 60   // of a name
	maxBody      = 4096 // bytes of foreign text in a body
)

func line(s string) string { return show.Short(s, maxTitleText) }
func name(s string) string { return show.Short(s, maxTitleName) }

// body is a text of several lines for Event.Body.
func body(s string) string { return show.Excerpt(s, maxBody) }

// preview is a text as it is kept: shown, one line, short.
func preview(s string) string { return clean(show.Short(s, 80), 3*maxPreview) }

// callTitle is a tool call: Bash(make test).
func callTitle(tool, arg string) string {
	if tool == "" {
		tool = "a tool without a name"
	}
	tool = name(tool)
	if arg == "" || arg == "{}" {
		return tool
	}
	return tool + "(" + line(arg) + ")"
}

func requestTitle(waits AgentState, what string) string {
	switch waits {
	case StateAskUser:
		return "⚠ Question: " + what
	case StatePlan:
		return "⚠ Plan: " + what
	}
	return "⚠ Permission: " + what
}

// decisionTitle says what was decided, about what, and by whom.
func decisionTitle(d *PermissionDecisionData, q request) string {
	what := ""
	if q.What != "" {
		what = " " + q.What
	}
	by := ""
	if d.By != nil {
		by = d.By.Name
		if by == "" {
			by = d.By.Kind
		}
		by = " · " + name(by)
	}
	switch {
	case d.DecisionType == DecideAllow && q.Waits == StateAskUser:
		return "✓ Answered" + what + by
	case d.DecisionType == DecideAllow && q.Waits == StatePlan:
		return "✓ Approved" + what + by
	case d.DecisionType == DecideAllow && len(d.UpdatedInput) > 0:
		return "✓ Allowed with changes" + what + by
	case d.DecisionType == DecideAllow && len(d.UpdatedPermissions) > 0:
		return "✓ Allowed, with a rule for later," + what + by
	case d.DecisionType == DecideAllow:
		return "✓ Allowed" + what + by
	case d.DecisionType == DecideDeny && d.Outcome == hook.Expired:
		return "✗ Denied" + what + ": nobody answered in time"
	case d.DecisionType == DecideDeny:
		title := "✗ Denied" + what
		if d.Message != "" {
			title += ": " + line(d.Message)
		}
		if d.Interrupt {
			title += " (and stopped)"
		}
		return title + by
	case d.DecisionType == DecideAsk:
		title := "↩ Handed back to the agent's own prompt" + what
		switch d.Reason {
		case hook.ReasonTooLarge:
			title += ": too large"
		case "unreadable_record":
			title += ": the record of the decision is unreadable"
		}
		return title
	}
	switch d.Reason {
	case hook.ReasonDeadline:
		return "– No answer in time" + what + "; the agent's own prompt decides"
	case hook.ReasonToolRan:
		return "– Answered in the terminal" + what + ": it ran"
	case hook.ReasonHangup:
		return "– Turned down or interrupted in the terminal" + what + ", or the agent went away"
	case hook.ReasonDetached:
		return "– Withdrawn" + what + ": its hook did not come back"
	case hook.ReasonTurnEnded:
		return "– Answered in the terminal" + what + ": the turn ended"
	case hook.ReasonSession:
		return "– Withdrawn" + what + ": the session ended"
	}
	return "– No opinion" + what
}

func startTitle(t Trigger) string {
	switch t.Type {
	case TriggerPrompt:
		return "▶ " + t.PromptPreview
	case TriggerResume:
		return "▶ Resumed"
	}
	return "▶ Without a prompt"
}

func endTitle(status RunStatus, c Counters) string {
	title := "■ Done"
	switch status {
	case RunFailed:
		title = "■ Failed"
	case RunAborted:
		title = "■ Interrupted"
	}
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, strconv.Itoa(n)+" "+many)
		}
	}
	count(c.ToolUses, "tool call", "tool calls")
	count(c.ToolFailures, "failure", "failures")
	count(c.PermissionRequests, "request", "requests")
	count(c.Blocks, "denial", "denials")
	if len(parts) == 0 {
		return title
	}
	return title + ": " + strings.Join(parts, ", ")
}
