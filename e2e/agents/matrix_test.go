package agents

import (
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// driver is how a person works with an agent in a terminal. Codex has none here: it has tests of its own for most of
// what the others are tested for.
type driver struct {
	name   string
	start  func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal)
	run    func(command string) coder.Step
	prompt string // its own
	up     bool   // its own prompt is up from the start, and no request of it waits for less than a day
}

var drivers = []driver{
	{"opencode", func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal) {
		return openCode(t, "opencode", "mock-model", serve...)
	}, openCodeRun, `Allow once`, true},
	{"kilo", func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal) {
		return openCode(t, "kilo", "mock-model", serve...)
	}, openCodeRun, `Allow once`, true},
	{"copilot", func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal) {
		c := copilot(t, true, serve...)
		term := c.Terminal("--no-color")
		c.Shows(term, `❯`)
		return c, term
	}, copilotRun, `1\. Yes`, false},
	{"qwen", func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal) {
		c := qwen(t, serve...)
		return c, qwenTerminal(c)
	}, qwenRun, `Allow execution|Yes, allow once`, false},
}

// each runs a test for every agent, and for more.
func each(t *testing.T, test func(t *testing.T, d driver), more ...driver) {
	forRelease(t)
	for _, d := range append(more, drivers...) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// Whoever sits at the terminal gets the prompt: when nobody answers in time, and without a broker.
func TestPromptInTheEnd(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c, term := d.start(t, "--hold", "12s")
		if !d.up {
			c.Prompt(term, d.run("touch "+c.Path("made")))
			r := c.WaitPending(1)[0]
			c.PressUntilGone(term, d.prompt, "Escape")
			if r = c.Request(r.ID); r.Outcome != "expired" {
				t.Errorf("%+v", r)
			}
		}
		c.Stop()
		c.Prompt(term, d.run("touch "+c.Path("made")))
		c.Shows(term, d.prompt)
		if c.Exists("made") {
			t.Error("a command ran that nobody allowed")
		}
	})
}

// Two calls are two requests, each with its answer. A broker that is killed while an agent waits comes back,
// and so does the request.
func TestTwoAndABrokerKilled(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c, term := d.start(t, "--unattended", "hold")
		c.Prompt(term, coder.Step{Calls: append(d.run("touch "+c.Path("a")).Calls, d.run("touch "+c.Path("b")).Calls...)})
		answerTwo(c, d.up)
		c.ModelDone(1)
		if !c.Exists("a") || c.Exists("b") {
			t.Error("the answers to two requests were mixed up")
		}

		c.Prompt(term, d.run("touch "+c.Path("made")))
		r := c.WaitPending(1)[0]
		c.Kill()
		c.Start()
		c.Allow(c.Until(r.ID, "is held again", func(r rig.Request) bool { return r.State == "pending" && !r.Detached }))
		c.ModelDone(2)
		if !c.Exists("made") {
			t.Error("the allowed command did not run")
		}
	})
}

// answerTwo allows the request about the file a, and denies the one about b, which come together or one after
// the other. wait is for agents in which a denial ends what else was asked: first the allowed command runs.
func answerTwo(c *rig.Coder, wait bool) {
	c.T.Helper()
	for _, name := range []string{"a", "b"} {
		var r rig.Request
		rig.Eventually(c.T, 2*rig.Soon, "a request for "+name, func() bool {
			for _, r = range c.Pending() {
				if strings.Contains(string(r.ToolInput), c.Path(name)+`"`) {
					return true
				}
			}
			return false
		})
		if name == "a" {
			c.Allow(r)
			if wait {
				rig.Eventually(c.T, 2*rig.Soon, "the allowed command runs", func() bool { return c.Exists("a") })
			}
		} else {
			c.Deny(r, "only one")
		}
	}
}
