package feed

import (
	"strconv"

	"assent/internal/hook"
)

// Lost adds a warning to a session that has a feed: between its last event and the next, n events
// of this and other sessions left the stream before they were read.
func (s *Session) Lost(n uint64) []Event {
	if s.s.Run == nil {
		return nil
	}
	f := recording{s: &s.s, r: &hook.Record{}} // of no request; its time is that of the last event
	what := strconv.FormatUint(n, 10) + " events were"
	if n == 1 {
		what = "1 event was"
	}
	f.add(KindEventsLost, LevelWarn, "", content{
		data:  &EventsLostData{Count: n},
		title: "⚠ " + what + " lost here, of this session or others",
		body:  "They were too old for the event stream before they could be read.",
		ui:    UI{Badge: "LOST"},
	})
	return f.out
}
