package claude

import (
	"os"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// The terminal of the real client races assent for the answer, and the first one wins.

func TestClaudeDeadlinePassesAndTheTerminalStillWorks(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t, "--timeout", "10s")
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	r = a.Until(r.ID, "expired", func(r rig.Request) bool { return r.Outcome == "expired" })
	if r.Reason != "deadline" || a.Exists("out.txt") {
		t.Errorf("request %+v", r)
	}
	a.Answer(term, "Yes")
	a.ModelDone()
	if !a.Exists("out.txt") {
		t.Error("the command allowed in the terminal did not run")
	}
}

// A request that was handed back is the prompt's of the terminal alone, which works as without assent.
func TestClaudeHandedBackAndTheTerminalDecides(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Command("hand-back", r.ID)
	r = a.Until(r.ID, "handed back", func(r rig.Request) bool { return r.Outcome == "handed_back" })
	if r.Reason != "person" || a.Exists("out.txt") {
		t.Errorf("request %+v", r)
	}
	a.Answer(term, "Yes")
	a.ModelDone()
	if !a.Exists("out.txt") {
		t.Error("the command allowed in the terminal did not run")
	}
}

func TestClaudeTerminalYesWithdraws(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Answer(term, "Yes")
	// The client says nothing of a Yes to its hook; the tool's own event is the proof.
	r = a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
	if r.Reason != "tool_ran" {
		t.Errorf("reason %q", r.Reason)
	}
	status, body, err := a.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != 409 {
		t.Errorf("a late allow: %d %s %v, want 409", status, body, err)
	}
	if _, err := term.Screen(a.Ctx); err != nil {
		t.Errorf("the client ended before: %v", err)
	}
}

func TestClaudeTerminalNoWithdraws(t *testing.T) {
	terminalTurnsDown(t, "No")
}

func TestClaudeTerminalEscWithdraws(t *testing.T) {
	terminalTurnsDown(t, "Escape")
}

// terminalTurnsDown turns a request down in the terminal and looks at the record of it.
func terminalTurnsDown(t *testing.T, label string) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	at := a.Answer(term, label)
	r = a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
	if r.Reason != "hangup" {
		t.Errorf("reason %q", r.Reason)
	}
	t.Logf("withdrawn %v after the key; the client itself takes 50 to 100 ms of these", a.Step(r.ID, "ended").Time.Sub(at))
	if a.Exists("out.txt") {
		t.Error("the command ran")
	}
}

func TestClaudeDenialOverruledInTheTerminal(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	// A command that runs until it is told to end: meanwhile nothing tells of the Yes.
	term := a.Terminal([]modelserver.Use{rig.Run("until [ -e " + a.Path("go") + " ]; do sleep 0.05; done; touch " + a.Path("out.txt"))})
	r := a.WaitPending(1)[0]
	a.Answer(term, "Yes")
	a.Deny(r, "stop")
	if err := os.WriteFile(a.Path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = a.Until(r.ID, "overruled", func(r rig.Request) bool { return r.Delivery == "overruled" })
	if r.Outcome != "denied" {
		t.Errorf("outcome %q", r.Outcome)
	}
	a.Step(r.ID, "overruled")
}

func TestClaudeKilledWithdraws(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	if err := term.Kill(); err != nil {
		t.Fatal(err)
	}
	if r = a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" }); r.Reason != "hangup" {
		t.Errorf("reason %q", r.Reason)
	}
}

func TestClaudeTerminalClosedWithdraws(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
}
