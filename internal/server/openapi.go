package server

import (
	_ "embed"
	"net/http"
)

// openAPI is the description of the API with all its schemas, as schemas.Bundle makes it: what a
// reader of this repository sees is what is served. After a change in schemas/: go test ./internal/server -run OpenAPI -update
//
//go:embed openapi.json
var openAPI []byte

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
