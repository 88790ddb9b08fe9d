package effects_test

import (
	_ "embed"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy/effects"
)

//go:embed testdata/redteam.txt
var redteamText string

// TestRedTeam: no command that destroys, sends, escalates or plants is one plain tap.
func TestRedTeam(t *testing.T) {
	of := effects.Func("/home/dev")
	n := 0
	for line := range strings.Lines(redteamText) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		if e := of(bash(t, line, "/srv/shop")); e.Risk.Level() < hook.Attention.Level() {
			t.Errorf("%s: %s: %s", e.Risk, line, e.Sentence)
		}
	}
	if n < 1500 {
		t.Errorf("%d commands", n)
	}
}
