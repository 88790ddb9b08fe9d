package hookclient

import (
	"strings"
	"testing"
)

func TestDenies(t *testing.T) {
	for args, want := range map[string]bool{
		"--agent droid --event PreToolUse --new x --on-failure deny": true,
		"--on-failure=deny --agent=copilot --timeout soon":           true,
		"-on-failure deny -agent codex --new":                        true,
		"--agent droid --on-failure abstain --new":                   false,
		"--agent droid --new":                                        false,
		"--on-failure deny --new":                                    false,
		"--agent claude --on-failure deny --new":                     false,
		"":                                                           false,
		"--on-failure":                                               false,
	} {
		if got := Denies(strings.Fields(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}
