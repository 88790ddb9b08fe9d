package e2e

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"assent/e2e/modelserver"
)

// TestAgentKilled: the session of a client that was killed is not at work for ever, and nobody says
// that somebody answered in the terminal of a client that has none.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes can be told apart on Linux only")
	}
	a := newAgent(t)
	run := a.headless([]modelserver.Use{a.touch("out.txt")})
	r := a.waitPending(1)[0]
	type session struct {
		State, AgentProcess, Attended string
		EndedAt                       *time.Time
	}
	read := func() (s session) {
		a.get("/v1/sessions/"+r.SessionID, &s)
		return s
	}
	eventually(t, soon, "the agent is seen", func() bool { return read().AgentProcess == "running" })
	if s := read(); s.State != "blocked_on_permission" || s.Attended != "no" {
		t.Errorf("while it waits: %+v", s)
	}
	if err := run.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "the session is over", func() bool { return read().State == "exited" })
	if s := read(); s.AgentProcess != "gone" || s.EndedAt != nil {
		t.Errorf("killed: %+v", s)
	}
	a.until(r.ID, "withdrawn", func(r request) bool { return r.Outcome == "withdrawn" })
	said := ""
	eventually(t, soon, "the feed says so", func() bool {
		said = a.command("feed", r.SessionID)
		return strings.Contains(said, "Withdrawn, the agent went away")
	})
	if strings.Contains(said, "in the terminal") {
		t.Errorf("the feed of a client without a terminal:\n%s", said)
	}
	if list := a.command("sessions"); !strings.Contains(list, "agent is gone") {
		t.Errorf("the list says\n%s", list)
	}
}
