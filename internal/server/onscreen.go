package server

import (
	"encoding/json"
	"net/http"

	"assent/internal/hook"
)

// onScreen is POST /v1/shown: requests are on the screen of whoever calls, and may be answered there. Nobody waits for the record
// because of it. Programs look at nothing, so of the holder of a token nothing is kept; nor of requests that do not wait.
func (s *Server) onScreen(w http.ResponseWriter, r *http.Request) {
	var list hook.JSON
	if !s.readObject(w, r, "OnScreen", map[string]any{"requests": &list}, nil) {
		return
	}
	var ids []string
	if err := json.Unmarshal(list, &ids); err != nil {
		s.fail(w, r, err) // the schema says that they are texts
		return
	}
	by := principal(r)
	if kind := by.Approver.Kind; s.cfg.Saw != nil && (kind == hook.KindDevice || kind == hook.KindOwner) {
		for _, id := range ids {
			if id = knownID(id); s.cfg.Broker.Waits(id) {
				s.cfg.Saw(id, by.Approver, by.Key())
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
