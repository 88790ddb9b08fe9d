package claude

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// What the README says of starting agents, by the letter: a browser is paired with the role operate, agents.yaml is what
// agent example prints in the project, agent doctor finds nothing missing, and on the phone an agent is started, its
// request is answered, it is replied to, and stopped. How long each took is printed, and not judged.
func TestAnAgentFromThePhoneByTheREADME(t *testing.T) {
	t.Parallel()
	x := unpaired(t)
	b := rig.NewBrowser(t)
	began := time.Now()
	step := func(what string) { t.Logf("%-32s %6.1f s since the beginning", what, time.Since(began).Seconds()) }
	b.PairAs(x.Daemon, "operate")
	step("paired")

	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = x.work, x.command().Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return string(out)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(x.home, "bin"), 0o700))
	must(os.Symlink(x.Config.Program, filepath.Join(x.home, "bin", "claude")))
	x.write(filepath.Join(x.work, "a.go"), "package a\n")
	run("git", "init", "-q")
	run("git", "add", ".")
	run("git", "-c", "user.name=x", "-c", "user.email=x@example.net", "commit", "-q", "-m", "x")
	example := x.command("agent", "example")
	example.Dir = x.work
	file, err := example.Output()
	must(err)
	x.write(filepath.Join(x.home, ".config", "assent", "agents.yaml"), string(file))
	if out, err := x.command("agent", "doctor").CombinedOutput(); err != nil {
		t.Fatalf("agent doctor: %v\n%s\nof\n%s", err, out, file)
	}
	var name string
	x.serveOne(&name)
	step("agent serve")

	b.View("Sessions")
	b.Tap("[data-ui=agents] button[data-agent=" + name + "]")
	tree := func() string { // where the session works
		found, _ := filepath.Glob(filepath.Join(x.work, ".claude", "worktrees", "*"))
		return strings.Join(found, " ")
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=start-agent] textarea"), modelserver.Prompt([]modelserver.Use{rig.Run("touch one.txt")})))
	b.Looks("start")
	b.Tap("[data-ui=start-agent] [data-action=start-agent]:enabled")
	x.WaitPending(1)
	step("its request is here")
	b.View("Inbox")
	b.See(rig.Open, "touch one.txt")
	b.Decide("[data-action=allow]", "Allowed")
	session := x.agentSession()
	state := func(n int, is func(hook.Message) bool) {
		t.Helper()
		rig.Eventually(t, time.Minute, "the message is over", func() bool {
			var list []hook.Message
			x.Get("/v1/sessions/"+session+"/messages", &list)
			return len(list) == n && is(list[n-1])
		})
	}
	completed := func(m hook.Message) bool { return m.Outcome == hook.OutcomeCompleted }
	state(1, completed)
	if _, err := os.Stat(filepath.Join(tree(), "one.txt")); err != nil {
		t.Errorf("what was allowed did not run: %v", err)
	}
	step("allowed, and the turn is over")

	b.View("Sessions")
	b.Tap("[data-session='" + session + "']")
	b.See("[data-ui=composer]", rig.Word("say.send"))
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=composer] textarea"), modelserver.Prompt([]modelserver.Use{rig.Run("touch two.txt")})))
	b.Tap("[data-ui=composer] [data-action=say]:enabled")
	waits := x.WaitPending(1)[0]
	step("replied, and it asks again")
	b.Tap("[data-action=stop-agent]:enabled")
	rig.Eventually(t, time.Minute, "its request is withdrawn", func() bool {
		status, body, err := x.Try("GET", "/v1/requests/"+waits.ID, nil)
		return err == nil && status == http.StatusOK && !strings.Contains(string(body), `"state":"pending"`)
	})
	state(3, func(m hook.Message) bool { return m.Kind == hook.MessageCancel && m.State.Over() })
	if _, err := os.Stat(filepath.Join(tree(), "two.txt")); err == nil {
		t.Error("what nobody allowed ran")
	}
	step("stopped")

	// Who stopped it stands where the session does, above its line, at the message, and in a terminal.
	const who = "on “Chrome on Linux”"
	b.See("[data-ui=session]", "Stopped "+who)
	b.See("[data-ui=last-turn] h3", "Stopped "+who)
	b.See("[data-ui=composer]", "stopped "+who)
	b.Looks("stopped")
	for args, want := range map[string]string{"sessions": "stopped " + who, "agent list": "Stopped " + who} {
		if out, err := x.command(strings.Fields(args)...).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

// serveOne is serve, and says what the one agent is called.
func (x *terminal) serveOne(name *string) {
	x.T.Helper()
	x.serve()
	*name = x.agents()[0].Name
}

// agentSession is the one session of the one agent.
func (x *terminal) agentSession() (id string) {
	x.T.Helper()
	rig.Eventually(x.T, time.Minute, "the agent has a session", func() bool {
		l := x.agents()
		if len(l) == 1 && len(l[0].Sessions) == 1 {
			id = l[0].Sessions[0].SessionID
		}
		return id != ""
	})
	return id
}
