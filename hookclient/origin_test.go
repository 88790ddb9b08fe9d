package hookclient

import "testing"

// A hook says for which session a host of agents started the program above it; of another agent's program that is not said.
func TestOriginSaysWhoStartedTheAgent(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"ASSENT_AGENT_SESSION": "s", "ASSENT_AGENT_NAME": "coder"}[name]
	}
	if got := origin("claude", env).Hosted; got != "s coder" {
		t.Errorf("%q", got)
	}
	if got := origin("codex", env).Hosted; got != "" {
		t.Errorf("codex: %q", got)
	}
	if got := origin("claude", func(string) string { return "" }).Hosted; got != "" {
		t.Errorf("nobody: %q", got)
	}
}
