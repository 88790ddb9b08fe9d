// Package eventlines prints the events of the stream for assent events: for people, or for programs.
package eventlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/store/reader"
	"assent/internal/terminal"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// Printer writes events and the notes between them, each on a line of its own.
type Printer struct {
	Out   io.Writer
	JSON  bool
	Width func() int // columns of the terminal now; 0: it is none

	day string // of the last event; for readable lines
}

// eventMargin is behind the time of an event.
const eventMargin = 10

// markerMember is in every line of JSON that is no payload, and in no line that is one.
const markerMember = "assent_marker"

// Event writes an event.
func (p *Printer) Event(e hook.Event) error {
	if p.JSON {
		_, err := fmt.Fprintf(p.Out, "%s\n", oneLine(e.Raw))
		return err
	}
	if day := e.Time.Local().Format("Monday, 2 January 2006"); day != p.day {
		p.day = day
		if _, err := fmt.Fprintf(p.Out, "— %s\n", day); err != nil {
			return err
		}
	}
	_, err := io.WriteString(p.Out, layout.Hang(eventLine(e)+"\n", eventMargin, p.Width()))
	return err
}

// Marker writes what the reader says of its reading.
func (p *Printer) Marker(m reader.Marker) error {
	if !p.JSON {
		_, err := fmt.Fprintf(p.Out, "*** %s\n", m.Message)
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a marker: %w", err)
	}
	_, err = fmt.Fprintf(p.Out, "%s\n", b)
	return err
}

// oneLine keeps a payload that is JSON on one line. Any other, and one that could be taken for
// a marker, becomes a marker with its text.
func oneLine(raw []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, raw) == nil && !claimsMarker(raw) {
		return show.JSON(line.Bytes())
	}
	b, _ := json.Marshal(struct { // two texts always encode
		Kind    string `json:"assent_marker"`
		Payload string `json:"payload"`
	}{"payload", show.Text(string(raw))})
	return show.JSON(b)
}

// claimsMarker reports whether raw is an object with the member that only markers have.
func claimsMarker(raw []byte) bool {
	if !bytes.Contains(raw, []byte(markerMember)) && !bytes.Contains(raw, []byte(`\u`)) {
		return false // however it is spelled, one of these is needed
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // what is no object has none
	_, ok := members[markerMember]
	return ok
}

// eventLine is one event for a person: when, what, where, and what it was about.
func eventLine(e hook.Event) string {
	p, err := agents.Reader(e.Agent).Decode(e.Type, e.Raw) // what cannot be read stays empty
	about := aboutEvent(e.Agent, p, e.Raw)
	if err != nil && about == "" {
		about = "(unreadable) " + show.Elide(show.Line(string(e.Raw[:min(len(e.Raw), 300)])), 80)
	}
	where := whereLine(p)
	if terminal.IsOtherAgent(e.Agent) {
		where = agents.Title(e.Agent) + " · " + where
	}
	line := fmt.Sprintf("%s  %-19s  %-20s  %s", e.Time.Local().Format("15:04:05"), show.Elide(show.Line(orDash(e.Type)), 40), where, about)
	if e.Spooled {
		line = strings.TrimRight(line, " ") + "  (came late)"
	}
	return strings.TrimRight(line, " ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// whereLine is the project's name, the beginning of the session's id, and the subagent.
func whereLine(p hook.Payload) string {
	session := p.SessionID
	if len(session) > 12 {
		session = strings.ToValidUTF8(session[:8], "")
	}
	where := orDash(session)
	if p.CWD != "" {
		where = path.Base(hook.ProjectDir(p.CWD)) + " " + where
	}
	if p.AgentID != "" && p.AgentType != "" {
		where += " › " + p.AgentType
	}
	return show.Elide(show.Line(where), 40)
}

// telling are members that say what an event was about, the most telling first.
var telling = []string{
	"error", "reason", "prompt", "message", "task_subject", "last_assistant_message", "compact_summary", "delta",
	"file_path", "new_cwd", "directory", "to_model", "worktree_path", "name", "action", "teammate_name", "source", "trigger",
}

// aboutEvent is what an event was about, on one row.
func aboutEvent(agent string, p hook.Payload, raw []byte) string {
	const width = 100
	var parts []string
	if p.ToolName != "" {
		text := show.Line(p.ToolName)
		_, fields := agents.Describe(agent, p.ToolName, p.ToolInput)
		for _, f := range fields {
			if f.Kind != show.KindWords {
				text += ": " + show.OneRow(f.Text)
				break
			}
		}
		parts = append(parts, show.Elide(text, width))
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	keys := telling
	if p.ToolName != "" {
		keys = telling[:2]
	}
	for _, key := range keys {
		var text string
		if json.Unmarshal(members[key], &text) != nil || text == "" {
			continue
		}
		first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
		if first = show.Elide(show.Line(first), width); more {
			first += " …"
		}
		parts = append(parts, first)
		break
	}
	return strings.Join(parts, "  — ")
}
