package e2e

import (
	"os"
	"slices"
	"testing"
	"time"

	"assent/e2e/modelserver"
)

// The terminal of the real client races assent for the answer, and the first one wins.

func TestClaudeDeadlinePassesAndTheTerminalStillWorks(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "--timeout", "10s")
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	r := a.waitPending(1)[0]
	r = a.until(r.ID, "expired", func(r request) bool { return r.Outcome == "expired" })
	if r.Reason != "deadline" || a.exists("out.txt") {
		t.Errorf("request %+v", r)
	}
	a.answer(term, "Yes")
	a.modelDone()
	if !a.exists("out.txt") {
		t.Error("the command allowed in the terminal did not run")
	}
}

func TestClaudeTerminalYesWithdraws(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	r := a.waitPending(1)[0]
	a.answer(term, "Yes")
	// The client says nothing of a Yes to its hook; the tool's own event is the proof.
	r = a.until(r.ID, "withdrawn", func(r request) bool { return r.Outcome == "withdrawn" })
	if r.Reason != "tool_ran" {
		t.Errorf("reason %q", r.Reason)
	}
	status, body, err := a.try("POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != 409 {
		t.Errorf("a late allow: %d %s %v, want 409", status, body, err)
	}
	if _, err := term.Screen(a.ctx); err != nil {
		t.Errorf("the client ended before: %v", err)
	}
}

// withdrawnIn is the promise for a request that was turned down in the terminal.
const withdrawnIn = 250 * time.Millisecond

func TestClaudeTerminalNoWithdraws(t *testing.T) {
	terminalTurnsDown(t, "No")
}

func TestClaudeTerminalEscWithdraws(t *testing.T) {
	terminalTurnsDown(t, "Escape")
}

// terminalTurnsDown measures from the key to the record until it is as promised once, twenty times at
// most: the client, whose own 50 to 100 ms are in it, and tmux share the machine with other packages'
// tests; those of this package wait meanwhile. A delay of assent's own would be in all.
func terminalTurnsDown(t *testing.T, label string) {
	a := newAgent(t)
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	var took []time.Duration
	for i := 0; i < 20 && (i == 0 || slices.Min(took) > withdrawnIn); i++ {
		if i > 0 {
			a.prompt(term, []modelserver.Use{a.touch("out.txt")})
		}
		r := a.waitPending(1)[0]
		at := a.answer(term, label)
		r = a.until(r.ID, "withdrawn", func(r request) bool { return r.Outcome == "withdrawn" })
		if r.Reason != "hangup" {
			t.Errorf("reason %q", r.Reason)
		}
		took = append(took, a.step(r.ID, "ended").Time.Sub(at))
	}
	t.Logf("withdrawn after %v", took)
	if best := slices.Min(took); best > withdrawnIn {
		t.Errorf("withdrawn %v after the key at best, want at most %v", best, withdrawnIn)
	}
	if a.exists("out.txt") {
		t.Error("the command ran")
	}
}

func TestClaudeDenialOverruledInTheTerminal(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	// A command that runs until it is told to end: meanwhile nothing tells of the Yes.
	term := a.terminal([]modelserver.Use{run("until [ -e " + a.path("go") + " ]; do sleep 0.05; done; touch " + a.path("out.txt"))})
	r := a.waitPending(1)[0]
	a.answer(term, "Yes")
	a.deny(r, "stop")
	if err := os.WriteFile(a.path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = a.until(r.ID, "overruled", func(r request) bool { return r.Delivery == "overruled" })
	if r.Outcome != "denied" {
		t.Errorf("outcome %q", r.Outcome)
	}
	a.step(r.ID, "overruled")
}

func TestClaudeKilledWithdraws(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	r := a.waitPending(1)[0]
	if err := term.Kill(); err != nil {
		t.Fatal(err)
	}
	if r = a.until(r.ID, "withdrawn", func(r request) bool { return r.Outcome == "withdrawn" }); r.Reason != "hangup" {
		t.Errorf("reason %q", r.Reason)
	}
}

func TestClaudeTerminalClosedWithdraws(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	r := a.waitPending(1)[0]
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	a.until(r.ID, "withdrawn", func(r request) bool { return r.Outcome == "withdrawn" })
}
