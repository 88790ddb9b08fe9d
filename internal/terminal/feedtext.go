package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assent/internal/feed"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// Subagents knows which events of a feed belong to subagents, if it is asked about one after the other. Its zero
// value is ready.
type Subagents struct {
	seen map[string]bool // their requests and what followed on them, by event id
}

// Have reports whether an event belongs to a subagent. Requests and decisions are the
// system's, but a reader wants to see them where the call stands that they are about.
func (s *Subagents) Have(e *feed.Event) bool {
	sub := strings.HasPrefix(e.ActorID, "subagent:")
	switch e.Kind {
	case feed.KindPermissionRequest:
		d, ok := e.Data.(*feed.PermissionRequestData)
		sub = ok && d.AgentID != ""
	case feed.KindPermissionDecision, feed.KindPermissionDelivery, feed.KindPermissionOverruled:
		sub = s.seen[e.Cause.ParentEventID]
	default:
		return sub
	}
	if sub {
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[e.EventID] = true
	}
	return sub
}

// FeedMargin is where a body begins: behind the time and the sign of its event.
const FeedMargin = 12

// bodyLines is how much of a body is printed without --all.
const bodyLines = 6

// ReadEvent reads an event of a feed. Its title and body are safe to show where a broker of ours made them, and whoever has
// the port of a URL may answer.
func ReadEvent(doc json.RawMessage) (*feed.Event, error) {
	e := new(feed.Event)
	if err := json.Unmarshal(doc, e); err != nil {
		return nil, fmt.Errorf("event of the feed: %w", err)
	}
	e.Title, e.Body = show.OneRow(show.Readable(e.Title)), show.Readable(e.Body)
	return e, nil
}

// FeedText is an event of a feed as a person reads it: its title, and a few lines of its body unless it
// is folded. Both are safe to show, see ReadEvent.
func FeedText(e *feed.Event, at time.Time, sub, all bool) string {
	indent := ""
	if sub {
		indent = "  │ "
	}
	line := at.Format("15:04:05") + "  " + indent + e.Title
	// The badge of an ordinary request or call says what the title begins with.
	if b := e.UI.Badge; b != "" && (e.Level == feed.LevelError || len(e.Marks) > 0 || all) {
		line += "  [" + show.Line(b) + "]"
	}
	for _, m := range e.Marks {
		line += " (" + strings.ReplaceAll(show.Line(string(m)), "_", " ") + ")"
	}
	if all {
		line += "  " + show.Line(string(e.Kind))
		if e.Kind == feed.KindPermissionRequest {
			line += " " + show.Line(e.Cause.HookRequestID) // for assent trace
		}
	}
	line += "\n"
	if e.Body == "" || e.UI.CollapsedDefault && !all {
		return line
	}
	lines := strings.Split(layout.Fold(strings.TrimRight(e.Body, "\n")), "\n")
	more := 0
	if !all && len(lines) > bodyLines {
		more = len(lines) - bodyLines
		lines = lines[:bodyLines]
	}
	for _, l := range lines {
		line += "          " + indent + "  " + l + "\n"
	}
	if more > 0 {
		line += fmt.Sprintf("          %s  … %d more lines; see them with --all\n", indent, more)
	}
	return line
}

// FoundLine is the first line of the body with a word that was looked for and that the title
// does not show; without it a reader could not tell why an event was found.
func FoundLine(e *feed.Event, words []string) string {
	for _, w := range strings.Fields(strings.ToLower(strings.ReplaceAll(strings.Join(words, " "), `"`, " "))) {
		if strings.Contains(strings.ToLower(e.Title), w) {
			continue
		}
		for l := range strings.Lines(e.Body) {
			if strings.Contains(strings.ToLower(l), w) {
				return strings.TrimSpace(l)
			}
		}
	}
	return ""
}
