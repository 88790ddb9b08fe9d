package feed

import (
	"strconv"
	"strings"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Titles are one line each and safe to look at anywhere: foreign text in them went through
// package show, and of long text head and tail are left. Every title begins with a sign or words
// of our own, so that nothing an agent says can pass for a decision.
const (
	maxTitleText = 120  // characters of foreign text in a title
	maxTitleName = 60   // of a name
	maxBody      = 4096 // bytes of foreign text in a body
)

func line(s string) string { return show.Short(s, maxTitleText) }
func name(s string) string { return show.Short(s, maxTitleName) }

// body is a text of several lines for Event.Body.
func body(s string) string { return show.Excerpt(s, maxBody) }

// more is the body of an event whose title is this text: empty where the title says it all.
func more(s string) string {
	if len(s) <= maxTitleText && strings.IndexByte(s, '\n') < 0 {
		return ""
	}
	return body(s)
}

// long is more for what a title says well enough when it is short, of several lines or not.
func long(s string) string {
	if len(s) <= maxTitleText {
		return ""
	}
	return body(s)
}

// PlanTitle is what a plan is called: its first line that says something, without the sign of a
// heading. The whole plan is the body of its request; in one line it cannot be read.
func PlanTitle(plan string) string {
	rest := plan
	for rest != "" {
		var l string
		l, rest, _ = strings.Cut(rest, "\n")
		l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#"))
		if l == "" {
			continue
		}
		if strings.TrimSpace(rest) != "" {
			l += " …"
		}
		return l
	}
	return plan
}

// reasonUnreadable is the broker's word for a settling record that contradicts itself.
const reasonUnreadable = "unreadable_record"

// preview is a text as it is kept: shown, one line, short.
func preview(s string) string { return clean(show.Start(s, 80), 3*maxPreview) }

// callTitle is a tool call: Bash(make test).
func callTitle(tool, arg string) string {
	if tool == "" {
		tool = "a tool without a name"
	}
	if WaitingFor(tool) == StatePlan {
		arg = PlanTitle(arg)
	}
	tool = name(tool)
	if arg == "" || arg == "{}" {
		return tool
	}
	return tool + "(" + line(arg) + ")"
}

// askTitle is what a request is about: of a question or a plan what it says, else the call.
func askTitle(waits AgentState, tool, arg string) string {
	if waits == StateBlocked || arg == "" {
		return callTitle(tool, arg)
	}
	if waits == StatePlan {
		arg = PlanTitle(arg)
	}
	return line(arg)
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
	what, about := "", ""
	if q.What != "" {
		what, about = " "+q.What, ": "+q.What
	}
	by := ""
	if d.By != nil {
		by = " · " + name(d.By.Who())
		if d.By.Verified {
			by += ", verified"
		}
		if d.By.Kind == hook.KindRule { // with its file
			by = " · " + line(d.By.Who())
		}
	}
	switch {
	case d.DecisionType == DecideAllow && q.Waits == StateAskUser:
		return "✓ Answered" + about + by
	case d.DecisionType == DecideAllow && q.Waits == StatePlan:
		if d.Edited {
			return "✓ Approved as edited" + about + by
		}
		return "✓ Approved" + about + by
	case d.DecisionType == DecideAllow && d.Edited:
		return "✓ Allowed as edited" + about + by
	case d.DecisionType == DecideAllow && len(d.UpdatedPermissions) > 0:
		return "✓ Allowed, with a rule for later," + what + by
	case d.DecisionType == DecideAllow && d.Contained != "":
		return "✓ Allowed, contained:" + what + by
	case d.DecisionType == DecideAllow:
		return "✓ Allowed" + what + by
	case d.DecisionType == DecideDeny && d.Outcome == hook.Expired:
		return "✗ Denied" + what + ": nobody answered in time"
	case d.DecisionType == DecideDeny && q.Tool == hook.EventElicitation && d.Interrupt:
		return "✗ Dismissed" + about + by
	case d.DecisionType == DecideDeny && q.Tool == hook.EventElicitation:
		return "✗ Declined" + about + by
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
		title := "↩ Handed back to the agent's own prompt"
		switch d.Reason {
		case hook.ReasonTooLarge:
			title += ", too large"
		case hook.ReasonPaused:
			title += ", everything was paused"
		case hook.ReasonPerson:
			return "↩ Left to the agent's own prompt" + about + by
		case reasonUnreadable:
			title += ", the record of the decision is unreadable"
		}
		return title + about
	}
	if d.Unattended {
		switch d.Reason {
		case hook.ReasonToolRan:
			return "– It ran without an answer from here" + about
		case hook.ReasonHangup:
			return "– Withdrawn, the agent went away" + about
		case hook.ReasonTurnEnded:
			return "– Withdrawn, the turn went on" + about
		}
	}
	switch d.Reason {
	case hook.ReasonDeadline:
		return "– No answer in time, the agent's own prompt decides" + about
	case hook.ReasonToolRan:
		return "– Answered in the terminal, it ran" + about
	case hook.ReasonHangup:
		return "– Turned down in the terminal, or the agent went away" + about
	case hook.ReasonDetached:
		return "– Withdrawn, its hook did not come back" + about
	case hook.ReasonTurnEnded:
		return "– Answered in the terminal, the turn went on" + about
	case hook.ReasonSession:
		return "– Withdrawn, the session ended" + about
	}
	return "– No opinion" + about
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
