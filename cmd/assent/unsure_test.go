package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/setup/statedir"
)

// A decision that the broker could not see recorded may stand all the same.
func TestDecisionAfterA503(t *testing.T) {
	posts := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		posts++
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"title":"Service Unavailable","status":503,"detail":"no acknowledgement"}`))
	}))
	defer srv.Close()
	r := &api.Request{}
	r.ID = "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10"
	_, err := newClient(api.ClientConfig{URL: srv.URL}, statedir.Broker{}).decide(t.Context(), r, hook.Decision{Behavior: hook.BehaviorAllow})
	if err == nil || !strings.Contains(err.Error(), "not known") || !strings.Contains(err.Error(), "trace "+r.ID) || posts != 1 {
		t.Errorf("%v after %d posts", err, posts)
	}
}
