package terminal

// What becomes of a call: asked, settled, run.

import (
	"bytes"
	"encoding/json"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func (t *Transcript) request(e *feed.Event, d *feed.PermissionRequestData) {
	r := t.parent(e)
	if r == nil {
		r = t.begin(e, d.ToolName, d.ToolInput, MarkWaiting)
	}
	t.link(e, r)
	t.mark(r, MarkWaiting)
	r.Sub = r.Sub || d.AgentID != ""
	if r.Whole == "" {
		r.Whole = e.Body
	}
	r.addOdd(e)
}

// endings say how a request ended that nobody answered here.
var endings = map[string]string{
	hook.ReasonDeadline:  "Nobody answered in time",
	hook.ReasonToolRan:   "Answered in the terminal",
	hook.ReasonTurnEnded: "Answered in the terminal",
	hook.ReasonHangup:    "Answered in the terminal, or stopped",
	hook.ReasonSession:   "The session ended",
	hook.ReasonDetached:  "The agent did not come back",
}

func (t *Transcript) decided(e *feed.Event, d *feed.PermissionDecisionData) {
	r := t.parent(e)
	if r == nil {
		t.plain(e)
		return
	}
	t.link(e, r)
	if r.Answer != "" || r.Mark == MarkOverruled { // the first one counts
		return
	}
	by := func(word string) string {
		if d.By == nil {
			return word
		}
		return settledBy(word, d.By)
	}
	r.startTS = e.TS
	switch d.DecisionType {
	case feed.DecideAllow:
		r.Answers = d.Answers
		switch {
		case d.Contained != "":
			r.Answer = by("Allowed contained")
		case d.Edited:
			r.Answer, r.Difference = by("Allowed as edited"), e.Body
			if len(d.UpdatedInput) > 0 {
				r.input, r.asked = d.UpdatedInput, r.What
				r.What, r.Whole = gist(d.UpdatedInput), ""
			}
		case r.asks && tools.Of(r.name).Kind != tool.Plan:
			r.Answer = by("Answered")
		default:
			r.Answer = by("Allowed")
		}
		t.mark(r, MarkAllowed)
	case feed.DecideDeny:
		r.Answer, r.Why = by("Denied"), show.Text(d.Message)
		if d.Outcome == hook.Expired {
			r.Answer, r.Why = "Denied", "nobody answered in time"
		}
		t.mark(r, MarkDenied)
	case feed.DecideAsk:
		r.Answer = "Handed back to the agent's own prompt"
		if d.Reason == hook.ReasonPerson {
			r.Answer = by("Left to the terminal")
		}
		t.mark(r, MarkRunning)
	default:
		// It was answered in the terminal, or will be: what follows says whether it ran.
		if r.Answer = endings[d.Reason]; r.Answer == "" || d.Unattended {
			r.Answer = "Not answered here"
		}
		if d.Reason == hook.ReasonToolRan || d.Reason == hook.ReasonDeadline {
			t.mark(r, MarkRunning)
		} else {
			t.mark(r, MarkOver)
		}
	}
}

func (t *Transcript) overruled(e *feed.Event, d *feed.PermissionOverruledData) {
	r := t.parent(e)
	if r == nil {
		t.plain(e)
		return
	}
	t.link(e, r)
	r.Why = "overruled in the terminal"
	switch {
	case d.Contained != "":
		r.Why = "overruled in the terminal: it was allowed to run contained"
	case d.Edited:
		r.Why = "ran as it was asked for"
		if r.asked != "" {
			r.What = r.asked
		}
	}
	t.mark(r, MarkOverruled)
}

// result takes the end of a call; failure is nil where it did what it should.
func (t *Transcript) result(e *feed.Event, name string, input hook.JSON, ms int64, failure *feed.ToolFailureData) {
	r := t.parent(e)
	if r == nil {
		r = t.only(e, name, input)
	}
	if r == nil && e.UI.Hidden {
		return
	}
	if r == nil {
		r = t.begin(e, name, input, MarkRunning)
		r.Whole, r.byResult = "", true
	}
	if ms == 0 && !r.byResult {
		ms = max(0, e.TS-r.startTS)
	}
	if ms > 0 {
		r.MS = ms
	}
	if len(input) > 0 {
		r.input = input
	}
	switch {
	case failure != nil:
		if r.Why = show.Text(failure.Error); failure.IsInterrupt {
			r.Why = "interrupted"
		}
		if r.Mark != MarkOverruled {
			t.mark(r, MarkFailed)
		}
	case r.Mark == MarkDenied:
		r.Why = "overruled in the terminal"
		t.mark(r, MarkOverruled)
	case r.Mark != MarkOverruled:
		t.mark(r, MarkRan)
	}
}

// only is the one open call that a result without a cause can be meant for, by its tool and input.
func (t *Transcript) only(e *feed.Event, name string, input hook.JSON) (found *Row) {
	if e.Cause.ParentEventID != "" || len(input) == 0 {
		return nil
	}
	want := compact(input)
	for _, r := range t.calls {
		if !r.Mark.open() || r.name != name || compact(r.input) != want {
			continue
		}
		if found != nil {
			return nil
		}
		found = r
	}
	return found
}

func compact(j hook.JSON) string {
	var b bytes.Buffer
	if json.Compact(&b, j) != nil {
		return string(j)
	}
	return b.String()
}
