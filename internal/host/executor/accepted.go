package executor

import (
	"slices"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// accepted is the file of agents as it is now. why says that it does not accept who gave the order: it may have
// waited here for long, and accept have been changed meanwhile.
func (h *Host) accepted(o Order) (file optin.File, why string) {
	file, err := h.cfg.File()
	accept := file.Accept
	switch {
	case err == nil:
		h.accept = append([]string{}, accept...)
	case o.Kind == hook.MessageCancel:
		accept = h.stoppers(o.Session)
	default:
		return file, "agents.yaml: " + err.Error()
	}
	if !slices.Contains(accept, o.By) {
		return file, "the device's key is not accepted here any more: " + o.By
	}
	return file, ""
}

// Stoppers are the thumbprints of the keys that may cancel what a session does while agents.yaml cannot be used: a mistake in it
// must not keep a person from stopping what works.
func (h *Host) Stoppers(session string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stoppers(session)
}

// stoppers are those that the file named last; where this host never could read it, those that the session obeyed before.
func (h *Host) stoppers(session string) []string {
	if h.accept != nil {
		return slices.Clone(h.accept)
	}
	var keys []string
	if s := h.sessions[session]; s != nil {
		for _, m := range s.messages {
			if !slices.Contains(keys, m.By) {
				keys = append(keys, m.By)
			}
		}
	}
	return keys
}
