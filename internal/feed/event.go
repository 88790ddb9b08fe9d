package feed

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"assent/internal/hook"
)

// Event is one line of a session's feed. It never changes once it was made: a decision is an
// event of its own.
type Event struct {
	// EventID is <run_id>:E<seq>.
	EventID string `json:"event_id"`
	// Pos counts the session's events from 1: where a reader goes on.
	Pos uint64 `json:"pos"`
	// Seq counts the run's events from 1.
	Seq uint64 `json:"seq"`
	// TS is when it happened, in milliseconds since 1970 by the clock of the host it happened on.
	TS int64 `json:"ts"`

	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`

	Kind    Kind   `json:"kind"`
	Level   Level  `json:"level"`
	ActorID string `json:"actor_id"`

	Cause Cause `json:"cause,omitzero"`

	// Title is one line, Body a few; both went through package show and are shortened.
	Title string `json:"title"`
	Body  string `json:"body,omitempty"`
	UI    UI     `json:"ui,omitzero"`

	// Marks say what is odd about the event. A mark never keeps an event from being shown.
	Marks []Mark `json:"marks,omitempty"`

	// Data is one of the *Data types, by Kind.
	Data any `json:"data"`
	// Cut names members of Data that were too long, or JSON but no UTF-8: of a text its beginning
	// is left, of other values nothing. The whole stands in Raw.
	Cut []string `json:"cut,omitempty"`

	// Raw is the hook's payload, byte for byte. It is in JSON a text, raw, or raw_base64 where
	// it is no UTF-8. Only the first event that a payload gives has it; events about a run, a
	// decision or a task have none.
	Raw []byte `json:"-"`
}

// Cause is what an event came from. What is not known for certain is left out.
type Cause struct {
	// ParentEventID is the event this one answers or follows: of a result the call, of a
	// decision the request.
	ParentEventID string `json:"parent_event_id,omitempty"`
	// HookRequestID is the id of the hook event, and of the permission request it raised.
	HookRequestID  string `json:"hook_request_id,omitempty"`
	ToolUseID      string `json:"tool_use_id,omitempty"`
	TranscriptPath string `json:"transcript_path,omitempty"`
}

// UI is how an event is shown unless a reader chose otherwise.
type UI struct {
	CollapsedDefault bool   `json:"collapsed_default,omitempty"`
	Pin              bool   `json:"pin,omitempty"`
	Badge            string `json:"badge,omitempty"`
	// Hidden says that a feed for people leaves the event out: it only repeats, or only counts.
	Hidden bool `json:"hidden,omitempty"`
}

// Level is how loud an event is.
type Level string

// The levels.
const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Mark says what is odd about an event.
type Mark string

// The marks.
const (
	MarkNoSession    Mark = "no_session"    // the payload names no session
	MarkUnreadable   Mark = "unreadable"    // the payload is no JSON, or a member has the wrong type
	MarkAmbiguous    Mark = "ambiguous"     // the payload can be read in more than one way
	MarkClock        Mark = "clock"         // the time is far off, or missing
	MarkSpooled      Mark = "spooled"       // it waited in a spool file while the broker was away
	MarkLate         Mark = "late"          // it is older than what came before it, and changes no state
	MarkNoPre        Mark = "no_pre"        // a tool's end without its beginning
	MarkNoRequest    Mark = "no_request"    // a record about a request that is not known here
	MarkNoEvent      Mark = "no_event"      // a request whose hook event is not in the stream; shown from the record
	MarkUnknownAgent Mark = "unknown_agent" // a subagent that was not seen to start
	MarkRestarted    Mark = "restarted"     // the session began although it had not ended
)

// plainEvent is Event without its methods.
type plainEvent Event

// MarshalJSON writes e with its data and raw.
func (e Event) MarshalJSON() ([]byte, error) {
	out := struct {
		plainEvent
		Raw       *string `json:"raw,omitempty"`
		RawBase64 []byte  `json:"raw_base64,omitempty"`
	}{plainEvent: plainEvent(e)}
	if len(e.Raw) > 0 {
		if utf8.Valid(e.Raw) {
			s := string(e.Raw)
			out.Raw = &s
		} else {
			out.RawBase64 = e.Raw
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote; Data becomes a pointer to the kind's type. The
// data of a kind that is not known here stays a hook.JSON.
func (e *Event) UnmarshalJSON(b []byte) error {
	var in struct {
		plainEvent
		Data      hook.JSON `json:"data"`
		Raw       *string   `json:"raw"`
		RawBase64 []byte    `json:"raw_base64"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*e = Event(in.plainEvent)
	e.Raw = in.RawBase64
	if in.Raw != nil {
		e.Raw = []byte(*in.Raw)
	}
	e.Data = newData(e.Kind)
	if e.Data == nil {
		e.Data = in.Data
		return nil
	}
	if err := json.Unmarshal(in.Data, e.Data); err != nil {
		return fmt.Errorf("read data of %s: %w", e.Kind, err)
	}
	return nil
}
