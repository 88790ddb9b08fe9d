package hook

import (
	"strconv"
	"time"
)

// Headers calls put with the name and value of every header that describes e, in a fixed order.
// Values are as they are, not percent-encoded; empty ones are left out. Seq, Stored, Missed and
// Raw have no header.
func (e *Event) Headers(put func(name, value string)) { e.eachHeader(headerWriter(put)) }

// EventFromHeaders reads what Headers wrote; get returns the value of a header, percent-encoded as
// it came, or "" where there is none. What is missing, unreadable or out of range is the zero value.
//
// All of it is the sender's word, Submitter too: who takes an event from a hook has to clear that.
func EventFromHeaders(get func(name string) string) Event {
	var e Event
	e.eachHeader(headerReader(get))
	if e.Source != SourceMCP && e.Source != SourceACP {
		e.Source = ""
	}
	if a := e.Origin.Attended; a != AttendedYes && a != AttendedNo {
		e.Origin.Attended = ""
	}
	return e
}

// eachHeader is the one list of the headers of an event, for writing as for reading.
func (e *Event) eachHeader(h headerVisitor) {
	h.text(HeaderRequestID, &e.ID)
	h.text(HeaderAgent, &e.Agent)
	h.text(HeaderEvent, &e.Type)
	h.time(HeaderEventTime, &e.Time)
	h.flag(HeaderEmitted, &e.Emitted)
	h.text(HeaderTool, &e.Tool)
	h.text(HeaderSource, &e.Source)
	h.text(HeaderSubmitter, &e.Submitter)
	o := &e.Origin
	h.text(HeaderHost, &o.Host)
	h.number(HeaderPID, &o.PID)
	h.text(HeaderProcess, &o.Process)
	h.text(HeaderAttended, &o.Attended)
	h.text(HeaderHosted, &o.Hosted)
	h.text(HeaderAgentLabel, &o.AgentLabel)
	h.text(HeaderProjectDir, &o.ProjectDir)
	h.text(HeaderRepoRoot, &o.Repo.Root)
	h.text(HeaderRepoBranch, &o.Repo.Branch)
	h.text(HeaderRepoHead, &o.Repo.Head)
	h.text(HeaderRepoRemote, &o.Repo.Remote)
	h.number(HeaderAttempt, &e.Attempt)
	h.flag(HeaderSpooled, &e.Spooled)
	h.number(HeaderContain, &e.Contain)
	h.word(HeaderRequire, RequireSigned, &e.Signed)
	h.text(HeaderRulesKeys, &e.RulesKeys)
}

// headerVisitor writes fields into headers, or headers into fields.
type headerVisitor interface {
	text(name string, field *string)
	number(name string, field *int) // positive, and within 32 bits
	flag(name string, field *bool)
	word(name, word string, field *bool) // a flag that is set by this word
	time(name string, field *time.Time)  // of the years 1 to 9999, which JSON can write
}

type headerWriter func(name, value string)

func (put headerWriter) text(name string, field *string) {
	if *field != "" {
		put(name, *field)
	}
}

func (put headerWriter) number(name string, field *int) {
	if *field > 0 {
		put(name, strconv.Itoa(*field))
	}
}

func (put headerWriter) flag(name string, field *bool) {
	if *field {
		put(name, "1")
	}
}

func (put headerWriter) word(name, word string, field *bool) {
	if *field {
		put(name, word)
	}
}

func (put headerWriter) time(name string, field *time.Time) {
	if !field.IsZero() {
		put(name, field.Format(time.RFC3339Nano))
	}
}

type headerReader func(name string) string

func (get headerReader) text(name string, field *string) { *field = UnescapeHeader(get(name)) }

func (get headerReader) number(name string, field *int) {
	if n, err := strconv.ParseInt(UnescapeHeader(get(name)), 10, 32); err == nil && n > 0 {
		*field = int(n)
	}
}

func (get headerReader) flag(name string, field *bool) { *field = get(name) != "" }

func (get headerReader) word(name, word string, field *bool) { *field = get(name) == word }

func (get headerReader) time(name string, field *time.Time) {
	value := get(name)
	if value == "" { // an error would cost more than all the others
		return
	}
	t, err := time.Parse(time.RFC3339Nano, UnescapeHeader(value))
	if err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
		*field = t
	}
}
