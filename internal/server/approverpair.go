package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"assent/internal/hook"
)

// maxPairing bounds what a page sends to be paired, which is a key and a name.
const maxPairing = 16 << 10

// pairedHere is POST /v1/pair/start and /v1/pair/redeem: says of a browser that is paired here that its code does not
// come from the broker. The page itself cannot know where it was served.
func pairedHere(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var members map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(body, &members)
		}
		if err != nil || members == nil {
			writeProblem(w, badField("", errNotObject.Error()))
			return
		}
		members["codeOrigin"] = json.RawMessage(`"` + hook.CodeIndependent + `"`)
		if body, err = json.Marshal(members); err != nil {
			writeProblem(w, badField("", errNotObject.Error()))
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		next.ServeHTTP(w, r)
	}
}
