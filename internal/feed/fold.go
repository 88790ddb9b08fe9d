package feed

import (
	"strconv"
	"unicode/utf8"

	"assent/internal/hook"
)

// folding is the fold of one hook event. It lives as long as the call of Session.Event.
type folding struct {
	s   *state
	e   *hook.Event
	p   *hook.Payload
	d   *hook.Detail
	row *Row
	out []Event

	shown  int64 // the time to show
	at     int64 // the time to reckon with
	drives bool  // a late event changes no state
	marks  []Mark
	cut    []string // members of data that were too long
	hidden bool     // hide it although its row does not
	parent string
	tool   string // tool_use_id, where the payload has none
}

func (f *folding) fold() {
	s, e, p := f.s, f.e, f.p
	var odd Mark
	f.shown, f.at, f.drives, odd = s.Clock.read(e.Time, e.Spooled)
	f.mark(odd)
	if e.Spooled {
		f.mark(MarkSpooled)
	}
	if p.SessionID == "" {
		f.mark(MarkNoSession)
	}
	if f.d.NotJSON || f.d.Problem != "" && f.row.Kind != KindUnknownHook {
		f.mark(MarkUnreadable)
	}
	if p.Uninspectable != "" {
		f.mark(MarkAmbiguous)
	}
	if s.Entity.StartedAt == 0 {
		s.Entity.StartedAt = f.at
	}
	if f.drives {
		s.facts(e, p, eventType(*e, *p), f.at)
		f.before()
	}
	if s.Run == nil || f.drives && f.opens() && !s.Run.Open {
		f.openRun(Trigger{Type: TriggerOther})
	}
	actor := f.actor()
	c := f.content()
	primary := f.add(f.row.Kind, f.row.Level, actor, c)
	f.todos(actor, primary)
	if f.row.Kind == KindStopRequest {
		f.parent = f.out[primary].EventID
		f.add(KindStopDecision, LevelDebug, ActorIDSystem, content{
			data: &StopDecisionData{DecisionType: DecideNoOpinion}, title: "The agent may stop", ui: UI{Hidden: true},
		})
	}
	if f.drives {
		f.after()
		s.Activity.event(f)
	}
}

// opens reports whether the event begins a run when none is open. A compaction is no work.
func (f *folding) opens() bool {
	return f.row.Opens && (f.row.Kind != KindSessionStart || f.d.Source != "compact")
}

// before does what an event does to the run before it is shown.
func (f *folding) before() {
	s := f.s
	switch f.row.Kind {
	case KindUserPrompt:
		if f.p.Continues {
			return
		}
		f.closeRun(s.endStatus(false))
		trigger := Trigger{Type: TriggerPrompt, RequestID: key(f.e.ID), PromptPreview: preview(f.promptText())}
		f.openRun(trigger)
		// The title follows what a person asked for last. An empty prompt and the notices of programs
		// ask for nothing.
		if f.d.Notice.Kind == "" && trigger.PromptPreview != "" {
			s.Title = trigger.PromptPreview
		}
	case KindSessionStart:
		f.sessionStarts()
	}
}

// sessionStarts is for a new process of the agent, or the same one after a compaction.
func (f *folding) sessionStarts() {
	s, source := f.s, f.d.Source
	if source == "compact" {
		return
	}
	ent := &s.Entity
	if ent.Source != "" && ent.EndedAt == 0 && source != "resume" {
		f.mark(MarkRestarted)
	}
	if source == "resume" || s.unfinished() {
		f.closeRun(s.endStatus(true))
	}
	s.endCalls("", true)
	for i := range s.Actors {
		s.Actors[i].Running = false
	}
	if source == "resume" {
		f.openRun(Trigger{Type: TriggerResume, RequestID: key(f.e.ID)})
	}
	ent.EndedAt = 0
	ent.Source = clean(source, maxIDLen)
	if ent.Source == "" {
		ent.Source = "startup"
	}
	set(&ent.Model, f.d.Model, maxIDLen)
	set(&ent.AgentType, f.p.AgentType, maxIDLen)
}

// after does what an event does once it is shown: it ends calls and runs.
func (f *folding) after() {
	s := f.s
	switch f.row.Kind {
	case KindToolBatch:
		s.endCalls(f.p.AgentID, false)
	case KindSubagentStop:
		s.endCalls(f.p.AgentID, false)
		if s.Run.Trigger.Type == TriggerOther && !s.unfinished() && !s.anyPending() && !s.subagentsRun() {
			f.closeRun(RunCompleted) // what went on in the background is over
		}
	case KindStopRequest:
		s.endCalls(f.p.AgentID, false)
		if f.p.AgentID == "" {
			f.closeRun(RunCompleted)
		}
	case KindStopFailure:
		s.endCalls(f.p.AgentID, false)
		if f.p.AgentID == "" {
			f.closeRun(RunFailed)
		}
	case KindStopInterrupt:
		s.endCalls(f.p.AgentID, false)
		if f.p.AgentID == "" {
			f.closeRun(RunAborted)
		}
	case KindSessionEnd:
		f.closeRun(s.endStatus(true))
		s.endCalls("", true)
		for i := range s.Actors {
			s.Actors[i].Running = false
		}
		s.Entity.EndedAt = f.at
	case KindModelSwitch:
		set(&s.Entity.Model, f.d.Model, maxIDLen)
	case KindCwdChanged:
		set(&s.CWD, f.d.Path, maxPathLen)
	}
}

// content is what one feed event says.
type content struct {
	data        any
	title, body string
	ui          UI // added to the row's
}

// add appends an event and returns its index in f.out. The first event of a payload carries
// its bytes and its marks.
func (f *folding) add(kind Kind, level Level, actor string, c content) int {
	s := f.s
	s.Pos++
	r := s.Run
	r.Seq++
	ev := Event{
		EventID: r.RunID + ":E" + strconv.FormatUint(r.Seq, 10), Pos: s.Pos, Seq: r.Seq, TS: f.shown,
		SessionID: s.Entity.SessionID, RunID: r.RunID, Kind: kind, Level: level, ActorID: actor,
		Cause: Cause{ParentEventID: f.parent, HookRequestID: key(f.e.ID)},
		Title: c.title, Body: c.body, UI: c.ui, Data: c.data,
	}
	if kind == f.row.Kind {
		ev.Cause.ToolUseID = f.toolUseID()
		ev.Marks, ev.Cut, ev.Raw = f.marks, f.cut, f.e.Raw
		ev.UI.CollapsedDefault = ev.UI.CollapsedDefault || f.row.UI.CollapsedDefault
		ev.UI.Hidden = ev.UI.Hidden || f.row.UI.Hidden || f.hidden
		if ev.UI.Badge == "" {
			ev.UI.Badge = f.row.UI.Badge
		}
		if len(ev.Marks) > 0 {
			ev.Level, ev.UI = loud(ev.Level, ev.UI, ev.Marks)
		}
		switch kind {
		case KindSessionStart, KindUserPrompt:
			ev.Cause.TranscriptPath = bounded(f.d.TranscriptPath)
		case KindSubagentStop:
			ev.Cause.TranscriptPath = bounded(f.d.AgentTranscriptPath)
		}
	}
	if f.out == nil {
		n := 1
		if f.row.Kind == KindUserPrompt || f.row.Kind == KindStopRequest {
			n = 3 // with the run's end and start, or the decision
		}
		f.out = make([]Event, 0, n)
	}
	f.out = append(f.out, ev)
	return len(f.out) - 1
}

// loud makes what is odd visible: a badge, and except for what only came later, a warning that
// nothing hides.
func loud(level Level, ui UI, marks []Mark) (Level, UI) {
	for _, m := range marks {
		switch m {
		case MarkSpooled, MarkLate:
			ui.Badge = "LATE"
		default:
			if ui.Badge != "LATE" && level != LevelError {
				ui.Badge = "ODD"
			}
		}
		if m != MarkSpooled {
			ui.Hidden = false
			if level != LevelError {
				level = LevelWarn
			}
		}
	}
	return level, ui
}

// nextID is the id the next event will have.
func (f *folding) nextID() string {
	return f.s.Run.RunID + ":E" + strconv.FormatUint(f.s.Run.Seq+1, 10)
}

func (f *folding) mark(m Mark) {
	if m != "" {
		f.marks = append(f.marks, m)
	}
}

func (f *folding) toolUseID() string {
	if f.d.ToolUseID != "" {
		return key(f.d.ToolUseID)
	}
	return f.tool
}

// Members of data that are longer are cut, as is JSON that is no UTF-8; the whole stands in
// Event.Raw.
const (
	maxDataText = 32 << 10
	maxDataJSON = 64 << 10
)

// text is a text for data.
func (f *folding) text(member, s string) string {
	if len(s) <= maxDataText {
		return s
	}
	f.cut = append(f.cut, member)
	return clean(s, maxDataText)
}

// json is a JSON value for data.
func (f *folding) json(member string, j hook.JSON) hook.JSON {
	if !fits(j) {
		f.cut = append(f.cut, member)
		return nil
	}
	return j
}

// fits reports whether a JSON value can stand in data. It has to be small and flat enough: a
// reader of JSON gives up at some depth, and the value stands deeper in an event than it stood in
// the payload. And it has to be UTF-8: a browser closes a WebSocket that brings anything else.
func fits(j hook.JSON) bool {
	if len(j) > maxDataJSON || !utf8.Valid(j) {
		return false
	}
	if len(j) < 1000 {
		return true
	}
	depth, deepest := 0, 0
	for i := 0; i < len(j); i++ {
		switch j[i] {
		case '"':
			for i++; i < len(j) && j[i] != '"'; i++ {
				if j[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest < 1000
}

// bounded is a text that is left out when it is too long for a path.
func bounded(s string) string {
	if len(s) > maxPathLen || !utf8.ValidString(s) {
		return ""
	}
	return s
}
