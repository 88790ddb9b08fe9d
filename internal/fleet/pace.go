package fleet

import (
	"slices"
	"time"

	"assent/internal/hook"
)

// How much a session's inbox takes of whatever does not come from another session, whoever sends it: the client drops
// more than that without a word (2.1.329: 30 at once, then one in two seconds; measured, see docs/messages.md). Two are
// left to the difference between when a text is handed over and when a client that is busy reads it.
const (
	inboxBurst = 28
	inboxEvery = 2 * time.Second
)

// inboxRoom is when a session's inbox has room for one more message, by what the record says that it was handed: so a
// broker that begins knows it, too. Others write to the same inbox, so it proves nothing; but a message that was handed
// over in vain says that there was no room then. Store.mu is held.
func (s *Store) inboxRoom(session string, now time.Time) time.Time {
	type handed struct {
		at   time.Time
		vain bool
	}
	var all []handed
	for _, e := range s.messages {
		if e.m.SessionID != session || e.m.Way != hook.WayInbox {
			continue
		}
		for i, step := range e.m.Steps {
			if step.State != hook.MessageTaken {
				continue
			}
			h := handed{at: step.At}
			if i+1 < len(e.m.Steps) {
				next := e.m.Steps[i+1]
				h.vain = next.State == hook.MessageTaken
				if next.State == hook.MessageStarted {
					h.at = next.At // it had been read by then at the latest
				}
			}
			if h.at.After(now) {
				h.at = now // by another broker's clock
			}
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b handed) int { return a.at.Compare(b.at) })
	var full time.Time // when it takes inboxBurst at once again
	for _, h := range all {
		empty := h.at.Add(inboxBurst * inboxEvery)
		if full.Before(h.at) {
			full = h.at
		}
		if full = full.Add(inboxEvery); h.vain || full.After(empty) {
			full = empty
		}
	}
	return full.Add(-(inboxBurst - 1) * inboxEvery)
}
