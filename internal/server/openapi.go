package server

import (
	"net/http"

	"assent/schemas"
)

// getOpenAPI is GET /openapi.json.
func (s *Server) getOpenAPI(w http.ResponseWriter, r *http.Request) {
	a, err := s.description()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.sendAsset(w, r, a)
}

// getMismatches is GET /v1/schema-mismatches.
func (s *Server) getMismatches(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Mismatches())
}

// newDescription is the description of the API with all its schemas in it.
func newDescription() (asset, error) {
	doc, err := schemas.Bundle()
	if err != nil {
		return asset{}, err
	}
	return newAsset(doc, "application/json"), nil
}
