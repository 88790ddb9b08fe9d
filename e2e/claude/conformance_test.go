package claude

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// TestClaudeEventsAgainstTheirSchemas: what the real client sends in a session with an allowed and a
// failing command is as our schemas describe it. Then an event comes that is not: its hook is
// answered as ever, and metrics, doctor and API tell of it.
func TestClaudeEventsAgainstTheirSchemas(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")}, []modelserver.Use{rig.Run("mkdir " + a.Path("none/none"))})
	for range 2 {
		r := a.WaitPending(1)[0]
		a.Allow(r)
		a.Until(r.ID, "the request to be over", func(r rig.Request) bool { return r.State == "ended" })
	}
	a.Result(run)
	const events = 8 // SessionStart, UserPromptSubmit, two each of PreToolUse and PermissionRequest, PostToolUse, Stop, at least
	var r rig.MismatchReport
	rig.Eventually(t, rig.Soon, "events to be checked", func() bool { r = a.Mismatches(); return r.Checked >= events })
	if len(r.Mismatches) > 0 || r.Unchecked > 0 {
		t.Errorf("the client's events differ from our schemas: %+v", r)
	}

	if out := a.Hook([]byte(`{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":["ls"]},"tool_use_id":"t"}`)).Wait(); out != "" {
		t.Errorf("the hook printed %q", out)
	}
	rig.Eventually(t, rig.Soon, "the event to be counted", func() bool { r = a.Mismatches(); return len(r.Mismatches) == 1 })
	if m := r.Mismatches[0]; m.Event != "PreToolUse" || m.Path != "/tool_input/command" || m.Count != 1 {
		t.Errorf("%+v", m)
	}
	status, metrics, err := a.Try("GET", "/metrics", nil)
	if err != nil || status != 200 || !slices.Contains(strings.Split(string(metrics), "\n"), `assent_schema_mismatches_total{event="PreToolUse"} 1`) {
		t.Errorf("/metrics: %d %v\n%s", status, err, regexp.MustCompile(`(?m)^assent_schema.*$`).FindAll(metrics, -1))
	}
	if out := a.Said("doctor"); !regexp.MustCompile(`warn +schemas +1 of \d+ events differ from their schemas; PreToolUse /tool_input/command`).MatchString(out) {
		t.Errorf("doctor: %s", out)
	}
}
