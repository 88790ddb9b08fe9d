package executor

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"assent/internal/api"
)

const (
	// maxForget bounds the sessions that are still to be forgotten, and those of which it was not told yet.
	maxForget = 10_000
)

// Forget has all removed that is kept of sessions here: their prompts, what their agents said, what the broker
// was told. One in whose turn an agent works is forgotten when that is over; one without a turn is ended. It is no
// order: no program is started by it, and no id can be taken a second time.
func (h *Host) Forget(sessions []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range sessions {
		if len(h.forgetting) >= maxForget {
			return // they come again with the next connection
		}
		if !slices.Contains(h.forgotten, id) {
			h.forgetting[id] = true
		}
	}
	h.wakeUp()
}

// Forgotten are the sessions that were forgotten since the last call.
func (h *Host) Forgotten() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := h.forgotten
	h.forgotten = nil
	return done
}

// forgetAll forgets what can be forgotten now.
func (h *Host) forgetAll(now time.Time) {
	for id := range h.forgetting {
		if len(h.forgotten) >= maxForget || !h.forget(now, id) {
			continue
		}
		delete(h.forgetting, id)
		h.forgotten = append(h.forgotten, id)
		h.changed()
	}
}

// forget removes one session, and says whether nothing of it is left.
func (h *Host) forget(now time.Time, id string) bool {
	s := h.sessions[id]
	if s == nil {
		if !isUUID(id) {
			return true // no session of that name was ever here
		}
		_, err := os.Lstat(filepath.Join(h.cfg.Dir, id))
		return os.IsNotExist(err) // else it is one that is damaged, and whose ids are not known
	}
	switch {
	case s.outstanding() != nil, s.handover() != nil, s.broken != nil:
		return false
	case s.runs && s.stopping == "":
		s.stop(now, "EXIT", "its session was forgotten", 1)
		return false
	case s.runs:
		return false
	}
	if err := h.keepIDs(now, s.messages...); err != nil {
		h.cfg.Logf("session %s cannot be forgotten yet: %v", id, err)
		return false
	}
	_ = s.journal.close()
	if err := os.RemoveAll(s.dir); err != nil {
		h.cfg.Logf("session %s cannot be forgotten yet: %v", id, err)
		return false
	}
	delete(h.sessions, id)
	delete(h.said, id)
	h.events = slices.DeleteFunc(h.events, func(f api.HostFrame) bool { return f.Event != nil && f.Event.SessionID == id })
	h.cfg.Logf("session %s is forgotten", id)
	return true
}
