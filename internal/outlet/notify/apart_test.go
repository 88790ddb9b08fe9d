package notify

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the process says is the reason, and no more of it than a reason needs.
func TestDeliverBy(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, script, want string }{
		{"delivered", `[ "$(cat)" = '{"url":"ntfy://x","text":"a \u003c b"}' ] && [ -n "$GOMEMLIMIT" ]`, ""},
		{"refused", `echo "assent: the service says no" >&2; exit 1`, "the service says no"},
		{"without a word", `exit 3`, "send a notice: exit status 3"},
		{"without end", `yes | head -c 100000 >&2; exit 1`, "y\ny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := filepath.Join(dir, c.name)
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			err := DeliverBy(t.Context(), exec.Command(program), "ntfy://x", "a < b")
			switch {
			case c.want == "" && err == nil:
			case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 5<<10:
				t.Errorf("%.200v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := DeliverBy(ctx, exec.Command("true"), "ntfy://x", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

func TestDeliverOneWantsAJob(t *testing.T) {
	for _, text := range []string{"", "text", `{"url":7}`} {
		if err := DeliverOne(strings.NewReader(text)); !errors.Is(err, ErrNoJob) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
