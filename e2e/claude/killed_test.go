package claude

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// TestAgentKilled: the session of a client that was killed is not at work for ever, and nobody says
// that somebody answered in the terminal of a client that has none.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes can be told apart on Linux only")
	}
	a := rig.NewAgent(t)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	type session struct {
		State, AgentProcess, Attended string
		EndedAt                       *time.Time
	}
	read := func() (s session) {
		a.Get("/v1/sessions/"+r.SessionID, &s)
		return s
	}
	rig.Eventually(t, rig.Soon, "the agent is seen", func() bool { return read().AgentProcess == "running" })
	if s := read(); s.State != "blocked_on_permission" || s.Attended != "no" {
		t.Errorf("while it waits: %+v", s)
	}
	if err := run.Kill(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "the session is over", func() bool { return read().State == "exited" })
	if s := read(); s.AgentProcess != "gone" || s.EndedAt != nil {
		t.Errorf("killed: %+v", s)
	}
	a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
	said := ""
	rig.Eventually(t, rig.Soon, "the feed says so", func() bool {
		said = a.Command("feed", r.SessionID, "--lines")
		return strings.Contains(said, "Withdrawn, the agent went away")
	})
	if strings.Contains(said, "in the terminal") {
		t.Errorf("the feed of a client without a terminal:\n%s", said)
	}
	if told := a.Command("feed", r.SessionID); !strings.Contains(told, "not answered here") {
		t.Errorf("as a transcript:\n%s", told)
	}
	if list := a.Command("sessions"); !strings.Contains(list, "agent is gone") {
		t.Errorf("the list says\n%s", list)
	}
}
