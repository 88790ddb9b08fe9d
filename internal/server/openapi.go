package server

import (
	_ "embed"
	"net/http"
)

// openAPI is the description of the API with all its schemas, as schemas.Bundle makes it. It is
// kept here as a file so that the broker need not link and start what checks documents against
// schemas. After a change in schemas/: go test ./internal/server -run OpenAPI -update
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
