package terminal

import (
	"regexp"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Transcript folds the events of a feed as the page does: prompts, the agent's words, and one row for each
// call, whose mark moves from waiting over allowed to ran. The events of a call are put together by the
// ids in their causes; what belongs to nothing stays a row. It is for one goroutine.
type Transcript struct {
	pending []*Row // that Rows has not given out, and calls that may still change
	calls   []*Row // those that events can still belong to, oldest first
	byEvent map[string]*Row
	byUse   map[string]*Row // by tool_use_id
	pieces  map[string]*Row // messages, by their ids
	said    map[string]bool // the agent's messages since the last prompt
	last    map[string]bool // what the ends of turns repeated of them
	busy    map[string]bool // runs with anything in them
}

// A Transcript remembers so many calls, messages and runs, the newest.
const (
	maxCalls  = 2048
	maxPieces = 1024
)

// Mark is how a call stands.
type Mark string

// The marks. Over: it ended, and nothing says that it ran.
const (
	MarkRunning   Mark = "running"
	MarkWaiting   Mark = "waiting"
	MarkAllowed   Mark = "allowed"
	MarkRan       Mark = "ran"
	MarkFailed    Mark = "failed"
	MarkDenied    Mark = "denied"
	MarkOver      Mark = "over"
	MarkOverruled Mark = "overruled"
)

// open reports whether a call with this mark may still run.
func (m Mark) open() bool { return m == MarkRunning || m == MarkWaiting || m == MarkAllowed }

// RowKind says what a Row is.
type RowKind string

// The kinds of rows. RowPlain is any other event.
const (
	RowCall   RowKind = "call"
	RowPrompt RowKind = "prompt"
	RowWords  RowKind = "words"
	RowEnd    RowKind = "end" // of a run
	RowPlain  RowKind = "plain"
)

// Row is a row of a Transcript. All texts are safe to show.
type Row struct {
	Kind RowKind
	TS   int64 // of its first event, in milliseconds since 1970
	Sub  bool  // a subagent's
	Text string
	From string // the other session that a prompt came from
	Bad  bool   // an end, or an event, of a failure

	// Of a call.
	Tool, What string // What is one line
	Whole      string // all of it, where that is more
	Mark       Mark
	Answer     string // who answered, and how: "Allowed as edited by iPhone"
	Why        string // why it failed or was denied, or how it ended
	Difference string // how what was allowed differs from what was asked for
	Answers    []show.Answer
	MS         int64 // how long it ran; 0: not known
	Odd        []string

	name     string // the tool's
	run      string
	asks     bool
	input    hook.JSON
	asked    string // What before an edit
	startTS  int64  // when it could run
	ids      []string
	use      string
	given    Mark // as Rows gave it out; empty: not yet
	listed   bool // it is pending
	byResult bool // a result without a call
}

// NewTranscript returns an empty one.
func NewTranscript() *Transcript {
	return &Transcript{
		byEvent: map[string]*Row{}, byUse: map[string]*Row{}, pieces: map[string]*Row{},
		said: map[string]bool{}, last: map[string]bool{}, busy: map[string]bool{},
	}
}

// Rows gives out what is new since it was called last, in order: calls that are over, or are over otherwise
// than was said, once those that wait for an answer, and all that is no call. With all it gives out calls
// that still run, too.
func (t *Transcript) Rows(all bool) []Row {
	var rows []Row
	kept := t.pending[:0]
	for _, r := range t.pending {
		ready := r.Kind != RowCall || all || !r.Mark.open() || r.Mark == MarkWaiting
		if ready && (r.Kind != RowCall || r.Mark != r.given) {
			r.given = r.Mark
			rows = append(rows, *r)
		}
		if r.listed = r.Kind == RowCall && r.Mark.open(); r.listed {
			kept = append(kept, r)
		}
	}
	clear(t.pending[len(kept):])
	t.pending = kept
	return rows
}

// Waits is how many rows Rows would look at: what a reader of a long feed keeps in memory.
func (t *Transcript) Waits() int { return len(t.pending) }

// repeats are notices that say what the call that waits says, or the state of the session.
var repeats = regexp.MustCompile(`^(permission_prompt|worker_permission_prompt|agent_needs_input|elicitation_dialog|elicitation_url_dialog|idle_prompt)$`)

// Take takes the next event of the feed.
func (t *Transcript) Take(e *feed.Event) {
	switch d := e.Data.(type) {
	case *feed.UserPromptData:
		if !e.UI.Hidden {
			t.prompt(e, d)
		}
	case *feed.MessageData:
		t.message(e, d)
	case *feed.StopRequestData:
		t.stop(e, d)
	case *feed.ToolPreData:
		if !e.UI.Hidden {
			t.begin(e, d.ToolName, d.ToolInput, MarkRunning)
		}
	case *feed.PermissionRequestData:
		t.request(e, d)
	case *feed.ElicitationData:
		t.begin(e, hook.EventElicitation, nil, MarkRunning)
	case *feed.ElicitationResultData:
		t.formOver(e, d)
	case *feed.PermissionDecisionData:
		t.decided(e, d)
	case *feed.PermissionDeliveryData:
		if r := t.parent(e); r != nil {
			if d.Delivery == "refused" {
				r.Why = "refused by the hook: " + show.Line(d.Failure) + "; the agent's own prompt decided"
			}
			if t.link(e, r); d.Delivery == "confirmed" && r.Mark == MarkAllowed {
				r.Why = show.Text(d.Failure)
				t.mark(r, MarkRan)
				if d.Failure != "" {
					t.mark(r, MarkFailed)
				}
			}
		}
	case *feed.PermissionOverruledData:
		t.overruled(e, d)
	case *feed.PermissionDeniedData:
		r := t.byUse[e.Cause.ToolUseID]
		if r == nil {
			r = t.begin(e, d.ToolName, d.ToolInput, MarkDenied)
		}
		r.Answer, r.Why = "Denied by the agent itself", show.Text(d.Reason)
		t.mark(r, MarkDenied)
	case *feed.ToolPostData:
		t.result(e, d.ToolName, d.ToolInput, d.DurationMS, nil)
	case *feed.ToolFailureData:
		t.result(e, d.ToolName, d.ToolInput, d.DurationMS, d)
	case *feed.RunEndData:
		t.end(e, d)
	case *feed.NotificationData:
		if !repeats.MatchString(d.NotificationType) {
			t.plain(e)
		}
	default:
		if !e.UI.Hidden {
			t.plain(e)
		}
	}
}

func (t *Transcript) add(e *feed.Event, r *Row) *Row {
	r.TS, r.run, r.listed = e.TS, e.RunID, true
	t.pending = append(t.pending, r)
	return r
}

func (t *Transcript) plain(e *feed.Event) {
	t.add(e, &Row{Kind: RowPlain, Sub: ofSubagent(e), Text: e.Title, Bad: e.Level == feed.LevelError})
}

func (t *Transcript) prompt(e *feed.Event, d *feed.UserPromptData) {
	clear(t.said)
	clear(t.last)
	if d.Source != "" && d.Source != "session_message" {
		t.plain(e)
		return
	}
	remember(t.busy, e.RunID)
	r := &Row{Kind: RowPrompt, Text: show.Text(d.Prompt)}
	if d.Source != "" {
		r.Text, r.From = show.Text(d.Summary), show.Line(d.From)
		if r.From == "" {
			r.From = "another session"
		}
	}
	t.add(e, r)
}

// remember puts text into a set of at most maxPieces.
func remember(set map[string]bool, text string) {
	if len(set) >= maxPieces {
		clear(set)
	}
	set[text] = true
}

// message takes a piece of one; the last may come behind the end of the turn.
func (t *Transcript) message(e *feed.Event, d *feed.MessageData) {
	text := show.Text(d.Delta)
	if r := t.pieces[d.MessageID]; r != nil && d.MessageID != "" && r.listed {
		r.Text += text
		remember(t.said, r.Text)
		return
	}
	if t.last[text] {
		return
	}
	r := t.words(e, text, ofSubagent(e), true)
	remember(t.said, text)
	if r != nil && d.MessageID != "" {
		if len(t.pieces) >= maxPieces {
			clear(t.pieces)
		}
		t.pieces[d.MessageID] = r
	}
}

// stop takes the end of a turn, which repeats the last message.
func (t *Transcript) stop(e *feed.Event, d *feed.StopRequestData) {
	text := show.Text(d.LastMessage)
	if !t.said[text] {
		t.words(e, text, d.Scope == feed.ScopeSubagent, false)
	}
	remember(t.last, text)
}

// words adds what the agent says. It speaks before it calls its tools, and says nothing until they are
// done: what it says while calls are open belongs before them (first). The hooks are not in that order.
func (t *Transcript) words(e *feed.Event, text string, sub, first bool) *Row {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	r := t.add(e, &Row{Kind: RowWords, Sub: sub, Text: text})
	at := len(t.pending) - 1
	for first && at > 0 {
		before := t.pending[at-1]
		if before.Kind != RowCall || before.Sub != sub || before.run != e.RunID || !before.Mark.open() || before.given != "" {
			break
		}
		t.pending[at], t.pending[at-1] = before, r
		at--
	}
	return r
}

func (t *Transcript) begin(e *feed.Event, name string, input hook.JSON, mark Mark) *Row {
	label, what := titleOf(e, name, input)
	kind := tools.Of(name).Kind
	r := t.add(e, &Row{
		Kind: RowCall, Sub: ofSubagent(e), Tool: label, What: what, Whole: e.Body, Mark: mark,
		name: name, asks: name == hook.EventElicitation || kind == tool.Question || kind == tool.Plan, input: input, startTS: e.TS,
	})
	r.addOdd(e)
	remember(t.busy, e.RunID)
	if len(t.calls) == maxCalls {
		t.forget(t.calls[0])
		t.calls = slices.Delete(t.calls, 0, 1)
	}
	t.calls = append(t.calls, r)
	t.link(e, r)
	return r
}

// forget has no later event find a call.
func (t *Transcript) forget(r *Row) {
	for _, id := range r.ids {
		delete(t.byEvent, id)
	}
	if t.byUse[r.use] == r {
		delete(t.byUse, r.use)
	}
}

func (t *Transcript) link(e *feed.Event, r *Row) {
	t.byEvent[e.EventID] = r
	r.ids = append(r.ids, e.EventID)
	if use := e.Cause.ToolUseID; use != "" {
		t.byUse[use], r.use = r, use
	}
}

func (t *Transcript) parent(e *feed.Event) *Row { return t.byEvent[e.Cause.ParentEventID] }

// mark moves the mark of a call. One that was given out already stands once more if that was not its end.
func (t *Transcript) mark(r *Row, m Mark) {
	if r.Mark = m; !r.listed {
		r.listed = true
		t.pending = append(t.pending, r)
	}
}

func (r *Row) addOdd(e *feed.Event) {
	for _, m := range e.Marks {
		if word := strings.ReplaceAll(show.Line(string(m)), "_", " "); !slices.Contains(r.Odd, word) {
			r.Odd = append(r.Odd, word)
		}
	}
}

func (t *Transcript) formOver(e *feed.Event, d *feed.ElicitationResultData) {
	for _, r := range slices.Backward(t.calls) {
		if r.name != hook.EventElicitation || !r.Mark.open() && r.Mark != MarkDenied {
			continue
		}
		if r.Mark != MarkDenied {
			t.mark(r, map[bool]Mark{true: MarkRan, false: MarkDenied}[d.Action == "accept"])
		}
		return
	}
	t.plain(e)
}

func (t *Transcript) end(e *feed.Event, d *feed.RunEndData) {
	for _, r := range t.calls {
		if r.run != e.RunID || r.Sub || r.Mark != MarkRunning && r.Mark != MarkAllowed {
			continue
		}
		if r.Why == "" {
			if r.Why = "no result"; d.Status == feed.RunAborted {
				r.Why = "interrupted"
			}
		}
		t.mark(r, MarkOver)
	}
	if t.busy[e.RunID] {
		t.add(e, &Row{Kind: RowEnd, Text: strings.TrimPrefix(e.Title, "■ "), Bad: d.Status == feed.RunFailed})
	}
}

func ofSubagent(e *feed.Event) bool {
	d, ok := e.Data.(*feed.PermissionRequestData)
	return strings.HasPrefix(e.ActorID, "subagent:") || ok && d.AgentID != ""
}

var (
	// titleStart is what the feed's titles of calls and requests begin with.
	titleStart = regexp.MustCompile(`^\S (Permission: |Question: |Plan: |Denied by the agent itself )?`)
	// argument is what stands in Bash(…).
	argument = regexp.MustCompile(`(?s)^[^\s()]+\((.*)\)$`)
)
