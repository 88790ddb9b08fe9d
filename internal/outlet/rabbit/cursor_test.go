package rabbit_test

import (
	"fmt"
	"strings"
	"testing"

	"assent/internal/agent/claude"
	"assent/internal/outlet/rabbit"
)

// The cursor outlives a stream that was removed: they lie in two directories.
func TestStreamMadeAnew(t *testing.T) {
	s, log := newEvents(), ""
	s.cursor, s.saved = 100, true
	s.write("s", 1, "x")
	p, err := rabbit.Open(t.Context(), rabbit.Config{
		URL: "amqp://127.0.0.1:1/", Events: s.follow, Newest: s.newest, Load: s.load, Save: s.save, Mutation: claude.Mutation, Encode: claude.EncodeMutation,
		Logf: func(format string, args ...any) { log += fmt.Sprintf(format, args...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Cursor() != 0 || !strings.Contains(log, "made anew") {
		t.Errorf("cursor %d, log %q", p.Cursor(), log)
	}
}
