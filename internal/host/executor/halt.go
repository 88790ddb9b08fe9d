package executor

import "time"

// haltedWhy says why nothing runs while everything is stopped.
const haltedWhy = "everything is stopped"

// Halt says whether everything is stopped. From then on no turn begins here, and those that run end with
// their processes; sessions can be resumed once it is over. Sessions that are idle stay.
func (h *Host) Halt(stopped bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted == stopped {
		return
	}
	h.halted = stopped
	if !stopped {
		h.cfg.Logf("what was stopped may go on")
		return
	}
	h.cfg.Logf("everything is stopped: the turns that run here end")
	now := time.Now()
	for _, s := range h.sessions {
		if m := s.outstanding(); s.runs && m != nil && (m.state == written || m.state == started || m.state == lost) { // a lost one may begin yet
			s.stop(now, "CANCELLED", haltedWhy, 2)
		}
	}
	h.wakeUp()
}
