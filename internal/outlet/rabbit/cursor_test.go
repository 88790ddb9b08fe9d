package rabbit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/outlet/rabbit"
)

// The cursor outlives a stream that was removed: they lie in two directories. Another one is sent from
// its beginning, however long it is; one that lost its end goes on there.
func TestWhereToGoOn(t *testing.T) {
	for _, x := range []struct {
		name   string
		cursor uint64
		same   bool // the cursor is of this stream, of three events
		want   uint64
		says   string
	}{
		{"anew and shorter", 100, false, 0, "made anew"},
		{"anew and as long", 3, false, 0, "made anew"},
		{"anew and longer", 2, false, 0, "made anew"},
		{"the same", 2, true, 2, ""},
		{"its end is lost", 5, true, 3, "its end is lost"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, log := newEvents(), ""
			for i := range 3 {
				s.write("s", i, "x")
			}
			if s.cursor, s.in, s.saved = x.cursor, s.made, true; !x.same {
				s.in = s.made.Add(-time.Hour)
			}
			p, err := rabbit.Open(t.Context(), rabbit.Config{
				URL: "amqp://127.0.0.1:1/", Events: s.follow, EventsNow: s.now, Load: s.load, Save: s.save, Mutation: claude.MutationOf(claude.DefaultMutationTools()), Encode: claude.EncodeMutation,
				Logf: func(format string, args ...any) { log += fmt.Sprintf(format, args...) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if p.Cursor() != x.want || !strings.Contains(log, x.says) || x.says == "" && log != "" {
				t.Errorf("cursor %d, log %q", p.Cursor(), log)
			}
		})
	}
}
