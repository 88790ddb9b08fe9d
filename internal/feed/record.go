package feed

import (
	"strconv"
	"strings"

	"assent/internal/agent/claude/describe"
	"assent/internal/agent/toolset"
	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/text/digest"
)

// recording is the fold of one record. It lives as long as the call of Session.Record.
type recording struct {
	s   *state
	r   *hook.Record
	out []Event
}

func (f *recording) fold() {
	s, r := f.s, f.r
	if s.Run == nil {
		// The session's events are gone, or come later. 0 is the sequence of none of them.
		s.newRun(0, f.at(), Trigger{Type: TriggerOther})
		f.add(KindRunStart, LevelDebug, "", content{data: &RunStartData{Trigger{Type: TriggerOther}}, title: startTitle(s.Run.Trigger), ui: UI{Hidden: true}})
	}
	if s.Entity.StartedAt == 0 {
		s.Entity.StartedAt = f.at()
	}
	i := s.requestIndex(r.RequestID)
	switch r.Step {
	case hook.StepAsked:
		f.asked(i)
	case hook.StepDecided, hook.StepEnded:
		f.settled(i)
	case hook.StepDelivered, hook.StepConfirmed:
		title := "Delivered to the agent"
		if r.Step == hook.StepConfirmed {
			title = "The tool ran as allowed"
		}
		if r.Reason == hook.ReasonFailed {
			title += ", and failed" + because(r.Failure)
		}
		f.follow(i, KindPermissionDelivery, LevelDebug, content{
			data: &PermissionDeliveryData{Delivery: string(r.Step), Failure: clean(r.Failure, hook.MaxFailure)}, title: title, ui: UI{Hidden: true},
		})
	case hook.StepRefused:
		f.follow(i, KindPermissionDelivery, LevelWarn, content{
			data:  &PermissionDeliveryData{Delivery: string(r.Step), Failure: clean(r.Failure, hook.MaxFailure)},
			title: "Refused by the hook" + because(r.Failure) + "; the agent's own prompt decides",
		})
	case hook.StepOverruled:
		what, tool, edited, contain := "a tool", "", false, ""
		if i >= 0 {
			what, tool, edited = s.Requests[i].What, s.Requests[i].Tool, s.Requests[i].Edited
			if s.Requests[i].Ran != "" {
				contain = hook.ContainRead
			}
		}
		title := "‼ Overruled in the terminal: " + what + " ran although it was denied"
		if edited {
			title = "‼ Overruled: " + what + " ran as it was asked for, although it was allowed as edited"
		}
		if contain != "" {
			title = "‼ Overruled in the terminal: " + what + " ran as it was asked for, although it was allowed contained"
		}
		f.follow(i, KindPermissionOverruled, LevelError, content{
			data:  &PermissionOverruledData{ToolName: tool, Edited: edited, Contained: contain},
			title: title,
			ui:    UI{Pin: true, Badge: "OVERRULED"},
		})
	default:
		f.follow(i, KindPermissionDelivery, LevelWarn, content{
			data: &PermissionDeliveryData{Delivery: clean(string(r.Step), maxIDLen)}, title: "? Unknown step " + preview(string(r.Step)),
		})
	}
}

// at is the record's own time.
func (f *recording) at() int64 {
	if f.r.Time.IsZero() {
		return f.s.Clock.Last
	}
	return f.r.Time.UnixMilli()
}

// asked is the beginning of the wait. Where the request's event was not seen, the record shows
// the request.
func (f *recording) asked(i int) {
	s, q := f.s, f.r.Request
	if i >= 0 {
		if s.Requests[i].Stage == stageSeen {
			s.Requests[i].Stage, s.Requests[i].At = stageAsked, f.at()
			s.Requests[i].Deny = q != nil && q.OnTimeout == hook.Deny
		}
		if s.Requests[i].EventID != "" {
			return
		}
	}
	if q == nil {
		q = &hook.Request{}
	}
	s.seenBefore(f.r.RequestID) // should its event come all the same
	arg := string(q.ToolInput)
	r := request{
		ID: key(f.r.RequestID), AgentID: clean(q.AgentID, maxIDLen), Tool: clean(q.ToolName, maxIDLen),
		What: askTitle(WaitingFor(q.ToolName), q.ToolName, arg), Waits: WaitingFor(q.ToolName), Stage: stageAsked, At: f.at(),
		Deny:    q.OnTimeout == hook.Deny,
		Input:   keptInput(q.ToolInput),
		EventID: f.nextID(),
	}
	if i >= 0 { // its end was recorded first
		r.Stage, r.Decision = s.Requests[i].Stage, s.Requests[i].Decision
		s.Requests[i] = r
	} else if r.ID != "" {
		s.addRequest(r)
	}
	s.Run.Counters.PermissionRequests++
	data := &PermissionRequestData{ToolName: clean(q.ToolName, maxDataText), AgentID: clean(q.AgentID, maxIDLen), AgentType: clean(q.AgentType, maxIDLen)}
	var cut []string
	for _, m := range []struct {
		name string
		from hook.JSON
		to   *hook.JSON
	}{{"tool_input", q.ToolInput, &data.ToolInput}, {"permission_suggestions", q.Suggestions, &data.PermissionSuggestions}} {
		if fits(m.from) {
			*m.to = m.from
		} else {
			cut = append(cut, m.name)
		}
	}
	ev := f.add(KindPermissionRequest, LevelWarn, MarkNoEvent, content{
		data: data, title: requestTitle(r.Waits, r.What), body: more(arg), ui: UI{Badge: "PERM"},
	})
	ev.Raw, ev.Cut = q.Raw, cut
}

// settled is the decision, or the end without one. Of several only the first changes anything,
// as in the record itself; the others are shown.
func (f *recording) settled(i int) {
	s, r := f.s, f.r
	var mark Mark
	if i < 0 {
		mark = MarkNoRequest
		i = len(s.Requests)
		s.addRequest(request{ID: key(r.RequestID)})
		i = min(i, len(s.Requests)-1)
	}
	q := s.Requests[i]
	d, level := decisionOf(r, q.Deny)
	d.Unattended = s.Origin.Attended == hook.AttendedNo
	c := content{data: d}
	if d.DecisionType == DecideAllow {
		c.body = f.allowed(d, &q)
	}
	c.title = decisionTitle(d, q)
	ev := f.add(KindPermissionDecision, level, mark, c)
	ev.Cause.ParentEventID, ev.Cause.ToolUseID = q.EventID, q.ToolUse
	if q.Stage == stageSettled {
		return
	}
	if d.DecisionType == DecideDeny {
		s.Run.Counters.Blocks++
	}
	s.Requests[i].Decision, s.Requests[i].Edited, s.Requests[i].Ran = ev.EventID, d.Edited, q.Ran
	s.settle(i)
	if mark == "" {
		answer := *d
		answer.Interrupt = d.Interrupt && q.Tool != hook.EventElicitation // a form that is dismissed stops no turn
		s.Activity.settled(s, r, &answer, q.AgentID == "", f.at())
	}
}

// allowed says what input was allowed, where it is not the one that was asked for, and returns that
// for a reader. q then is known by what was allowed.
func (f *recording) allowed(d *PermissionDecisionData, q *request) (body string) {
	if d.Contained = f.r.Decision.Contain; d.Contained != "" {
		if _, line, ok := contained.Unwrap(f.r.Decision.UpdatedInput); ok {
			q.Ran = digest.Of([]byte(line))
		}
		return "" // the call is what was asked for
	}
	input := f.r.Decision.UpdatedInput
	asked := []byte(q.Input)
	if q.Input == "" { // nothing to compare with
		asked = []byte("{}")
		if q.Waits == StateAskUser {
			asked = input // the questions stand beside their answers
		}
	}
	a := describe.Edited(q.Tool, asked, input)
	if a == nil {
		return ""
	}
	d.Answers = a.Answers
	d.Edited = len(a.Changes) > 0
	if len(a.Answers) == 1 && !d.Edited && line(a.Answers[0].Question) == q.What {
		return clip([]string{a.Answers[0].Answer}) // the title has the question
	}
	if d.Edited && q.Waits != StateAskUser {
		d.Tool, d.Summary = q.Tool, describe.Summary(q.Tool, input)
		q.What = askTitle(q.Waits, q.Tool, d.Summary)
	}
	return clip(a.Summary())
}

// clip makes a body of lines that are safe to look at.
func clip(lines []string) string {
	n := 0
	for i, l := range lines {
		if n += len(l) + 1; n > maxBody {
			if i == 0 {
				lines, i = []string{strings.ToValidUTF8(l[:maxBody], "")}, 1
			}
			return strings.Join(lines[:i], "\n") + "\n… the rest is left out here; the request has it"
		}
	}
	return strings.Join(lines, "\n")
}

// follow adds what comes after a decision.
func (f *recording) follow(i int, k Kind, level Level, c content) {
	var mark Mark
	if i < 0 {
		mark = MarkNoRequest
	}
	ev := f.add(k, level, mark, c)
	if i < 0 {
		return
	}
	q := f.s.Requests[i]
	ev.Cause.ToolUseID = q.ToolUse
	ev.Cause.ParentEventID = q.Decision
	if q.Decision == "" {
		ev.Cause.ParentEventID = q.EventID
	}
}

// decisionOf reads what a settling record says in the feed's words. denies: the hook was told
// to deny when nobody answers. A record that contradicts itself is no decision: the broker
// hands such a request back.
func decisionOf(r *hook.Record, denies bool) (*PermissionDecisionData, Level) {
	d := &PermissionDecisionData{Outcome: r.Outcome, By: r.By, Reason: clean(r.Reason, maxIDLen)}
	says := func(b hook.Behavior) bool {
		return r.Step == hook.StepDecided && r.Decision != nil && r.Decision.Behavior == b
	}
	switch r.Outcome {
	case hook.Allowed:
		if says(hook.BehaviorAllow) {
			d.DecisionType = DecideAllow
			if fits(r.Decision.UpdatedInput) {
				d.UpdatedInput = r.Decision.UpdatedInput
			}
			if fits(r.Decision.UpdatedPermissions) {
				d.UpdatedPermissions = r.Decision.UpdatedPermissions
			}
			return d, LevelInfo
		}
	case hook.Denied:
		if says(hook.BehaviorDeny) {
			d.DecisionType, d.Interrupt = DecideDeny, r.Decision.Interrupt
			d.Message = clean(r.Decision.Message, maxDataText)
			return d, LevelWarn
		}
	case hook.Expired:
		d.DecisionType = DecideNoOpinion
		if denies {
			d.DecisionType = DecideDeny
		}
		return d, LevelWarn
	case hook.Withdrawn:
		d.DecisionType = DecideNoOpinion
		return d, LevelInfo
	case hook.HandedBack:
		d.DecisionType = DecideAsk
		return d, LevelWarn
	}
	return &PermissionDecisionData{DecisionType: DecideAsk, Outcome: hook.HandedBack, Reason: reasonUnreadable}, LevelWarn
}

// settled follows the end of a request that waited.
func (a *activity) settled(s *state, r *hook.Record, d *PermissionDecisionData, main bool, at int64) {
	if a.State == StateExited {
		return
	}
	hangup := r.Outcome == hook.Withdrawn && r.Reason == hook.ReasonHangup
	switch {
	case hangup && toolset.AnsweredThere(s.Agent):
		a.now(StateWorking, at)
	case d.Interrupt, hangup:
		if main {
			a.interrupted(s, at)
		} else {
			a.idle(at)
		}
	case d.DecisionType == DecideAllow, d.DecisionType == DecideDeny:
		a.now(StateWorking, at)
	}
	// Otherwise the agent's own prompt waits on, or the event that proved the end has spoken.
}

func (f *recording) nextID() string {
	return f.s.Run.RunID + ":E" + strconv.FormatUint(f.s.Run.Seq+1, 10)
}

// add appends an event of the broker's. Records belong to the open run, else to the last one.
func (f *recording) add(kind Kind, level Level, mark Mark, c content) *Event {
	s, r := f.s, f.s.Run
	s.Pos++
	r.Seq++
	ev := Event{
		EventID: r.RunID + ":E" + strconv.FormatUint(r.Seq, 10), Pos: s.Pos, Seq: r.Seq, TS: f.at(),
		SessionID: s.Entity.SessionID, RunID: r.RunID, Kind: kind, Level: level, ActorID: ActorIDSystem,
		Cause: Cause{HookRequestID: key(f.r.RequestID)}, Title: c.title, Body: c.body, UI: c.ui, Data: c.data,
	}
	if mark != "" {
		ev.Marks = []Mark{mark}
		ev.Level, ev.UI = loud(ev.Level, ev.UI, ev.Marks)
	}
	f.out = append(f.out, ev)
	return &f.out[len(f.out)-1]
}
