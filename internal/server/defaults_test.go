package server

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// TestDefaultLimits: a server that was told no bounds has those of Config's comments.
func TestDefaultLimits(t *testing.T) {
	b, err := broker.New(t.Context(), broker.Config{Log: logtest.New(), SingleReplica: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	who, err := auth.Open(t.Context(), auth.Config{KV: kvtest.New(), NoOwnerToken: true})
	if err != nil {
		t.Fatal(err)
	}
	defer who.Close()
	s, err := New(Config{Broker: b, Auth: who, URL: "http://127.0.0.1:7717",
		Publish: func(context.Context, hook.Event) (uint64, error) { return 0, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, v := range map[string][2]int64{
		"WebSockets":                {int64(cap(s.slots)), 1024},
		"hooks that wait":           {int64(s.cfg.MaxWaiting), 20_000},
		"of them over TCP":          {int64(s.cfg.MaxRemote), 20_000},
		"bytes of hooks' payloads":  {s.cfg.MaxHeld, 256 << 20},
		"bytes of half-sent bodies": {s.arriving.max, 64 << 20},
	} {
		if v[0] != v[1] {
			t.Errorf("%s: %d, want %d", name, v[0], v[1])
		}
	}
	// And the bound of payloads is one.
	var held atomic.Int64
	held.Store(s.cfg.MaxHeld)
	if _, err := io.ReadAll(&countedBody{ReadCloser: io.NopCloser(strings.NewReader("x")), held: &held, max: s.cfg.MaxHeld}); !errors.Is(err, errBudget) {
		t.Errorf("one byte beyond: %v", err)
	}
}
