package sample

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/hookclient"
	"assent/internal/hook"
)

// broker answers what hooks post to a socket, and says of which kind that was.
func broker(t *testing.T, answer string) (socket string, kinds func() []string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			Kind    string `json:"hook_event_name"`
			Session string `json:"session_id"`
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &e)
		mu.Lock()
		seen = append(seen, e.Kind)
		mu.Unlock()
		if !strings.HasPrefix(e.Session, hook.SampleSession) {
			t.Errorf("the session is %q", e.Session)
		}
		if e.Kind == hook.EventPermissionRequest && answer != "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close() })
	return socket, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func TestRaise(t *testing.T) {
	for _, answer := range []string{`{"hookSpecificOutput":{}}`, ""} {
		t.Run(answer, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			socket, kinds := broker(t, answer)
			cfg := hookclient.Config{Agent: "claude", Socket: socket, OnTimeout: hook.Abstain, OnFailure: hook.Abstain, Timeout: time.Minute}
			announced := ""
			id, got, err := Raise(t.Context(), "bash", cfg, func(_ context.Context, id string) { announced = id })
			if err != nil || string(got) != answer {
				t.Errorf("told %q, %v", got, err)
			}
			if id == "" || announced != id {
				t.Errorf("the id %q, announced %q", id, announced)
			}
			// Nobody else would say that its session is over.
			if got := kinds(); len(got) < 2 || got[0] != hook.EventPermissionRequest || got[len(got)-1] != hook.EventSessionEnd {
				t.Errorf("posted %v", got)
			}
		})
	}
}
