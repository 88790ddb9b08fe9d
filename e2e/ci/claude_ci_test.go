package ci

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/ci/report"
)

// ciRun is `assent ci run` with the real client, which finds no hooks in settings of its own.
type ciRun struct {
	*rig.Agent
	report string
}

// newCI prepares a run with these flags and rules that it asks a broker of its own with.
func newCI(t *testing.T, rules string, flags ...string) *ciRun {
	t.Helper()
	c := bareCI(t, flags...)
	file := filepath.Join(c.Dir, "ci-rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	c.flags("--rules", file)
	return c
}

// remoteCI is newCI with the test's broker, and a token that only submits, and expires.
func remoteCI(t *testing.T, flags ...string) *ciRun {
	t.Helper()
	c := bareCI(t, flags...)
	url, _ := c.Owner()
	c.asks(url, strings.TrimSpace(c.Command("token", "create", "--role", "submit", "--name", "ci", "--ttl", "1h")))
	return c
}

func bareCI(t *testing.T, flags ...string) *ciRun {
	t.Helper()
	c := &ciRun{Agent: rig.NewAgent(t)}
	c.report = filepath.Join(c.Dir, "report")
	c.Config.Own = true
	c.Config.Wrap = []string{rig.Program("assent"), "ci", "run", "--report", c.report, "--"}
	c.flags(flags...)
	return c
}

// flags puts flags before the command.
func (c *ciRun) flags(flags ...string) {
	w := c.Config.Wrap
	c.Config.Wrap = append(append(append([]string{}, w[:len(w)-1]...), flags...), "--")
}

func (c *ciRun) asks(url, token string) {
	c.Config.Env = []string{"ASSENT_URL=" + url, "ASSENT_TOKEN=" + token}
}

// reported reads the report, whose JSON must be what its schema says.
func (c *ciRun) reported() report.Run {
	c.T.Helper()
	b, err := os.ReadFile(c.report + ".json")
	if err != nil {
		c.T.Fatal(err)
	}
	rig.Valid(c.T, "CIReport", b)
	var run report.Run
	if err := json.Unmarshal(b, &run); err != nil {
		c.T.Fatal(err)
	}
	return run
}

// mentions checks that a form of the report says something.
func (c *ciRun) mentions(ext string, words ...string) {
	c.T.Helper()
	b, err := os.ReadFile(c.report + ext)
	if err != nil {
		c.T.Fatal(err)
	}
	for _, w := range words {
		if !strings.Contains(string(b), w) {
			c.T.Errorf("report%s does not say %q:\n%s", ext, w, b)
		}
	}
}

// one is the only request of a report.
func (c *ciRun) one() report.Request {
	c.T.Helper()
	run := c.reported()
	if len(run.Requests) != 1 {
		c.T.Fatalf("report %+v, want one request", run)
	}
	return run.Requests[0]
}

// mkdir is a call that no rule of these tests allows.
func (c *ciRun) mkdir(name string) modelserver.Use { return rig.Run("mkdir " + c.Path(name)) }

// One run meets all four: a rule, nobody, an approver, and a broker that dies.
func TestCIRunsUnderRulesAndApprovers(t *testing.T) {
	t.Parallel()
	c := remoteCI(t, "--timeout", "15s")
	c.SetRules(rig.ClaudeRules)
	run := c.Headless([]modelserver.Use{c.Touch("ruled")}, []modelserver.Use{c.mkdir("nobody")}, []modelserver.Use{c.mkdir("approved")}, []modelserver.Use{c.mkdir("killed")})
	q := c.WaitPending(1)[0]
	c.Until(q.ID, "expired", func(r rig.Request) bool { return r.Outcome == "expired" })
	c.Allow(c.WaitPending(1)[0])
	rig.Eventually(t, rig.Soon, "the last request waits", func() bool {
		rs := c.Pending()
		return len(rs) == 1 && strings.Contains(string(rs[0].ToolInput), "killed")
	})
	c.Kill()
	if res := c.Result(run); res.Exit != 0 {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	if !c.Exists("ruled") || c.Exists("nobody") || !c.Exists("approved") || c.Exists("killed") {
		t.Error("what was allowed did not run, or what was denied did")
	}
	res := c.Model.Results()
	if len(res) != 4 {
		t.Fatalf("the model read %+v", res)
	}
	// The broker's words name what was left of the time when it was asked.
	for i, seconds := range map[int]string{1: "1[0-5]", 3: "15"} {
		if said := res[i].Content; !regexp.MustCompile("Nobody answered this permission request in "+seconds+" seconds").MatchString(said) || !strings.Contains(said, "go on with what needs no permission") {
			t.Errorf("the model read %q", said)
		}
	}

	rep := c.reported()
	if len(rep.Requests) != 4 || rep.Allowed != 2 || rep.Denied != 2 || rep.ClientVersion == "" {
		t.Fatalf("report %+v", rep)
	}
	for i, want := range []report.Request{
		{Verdict: report.Allowed, By: report.By{Kind: report.Rule, Name: "touch-here", File: c.RulesFile()}},
		{Verdict: report.Denied, By: report.By{Kind: report.Timeout}},
		{Verdict: report.Allowed, By: report.By{Kind: report.Person, Name: "somebody on the broker's machine"}},
		{Verdict: report.Denied, By: report.By{Kind: report.Timeout}},
	} {
		got := rep.Requests[i]
		if got.Verdict != want.Verdict || got.By != want.By || (want.Verdict == report.Denied) != (len(got.Proposals) > 0) {
			t.Errorf("request %d: %+v", i, got)
		}
	}
	if why := rep.Requests[3].Reason; !strings.Contains(why, "does not answer") || rep.Requests[1].Reason != "" {
		t.Errorf("reasons %q and %q", rep.Requests[1].Reason, why)
	}
	for _, w := range []string{"mkdir " + c.Path("nobody"), "program: mkdir", "nobody answered in time"} {
		c.mentions(".md", w)
		c.mentions(".xml", w)
		if w != "program: mkdir" && !strings.Contains(run.Stderr(), w) {
			t.Errorf("standard error does not say %q:\n%s", w, run.Stderr())
		}
	}
}

// A denied request's proposed rule, put into the rules, allows the next one like it.
func TestCIProposesTheRuleThatWasMissing(t *testing.T) {
	t.Parallel()
	c := newCI(t, rig.ClaudeRules, "--timeout", "5s", "--fail-on-deny")
	if res := c.Result(c.Headless([]modelserver.Use{c.mkdir("made")})); res.Exit != 86 || c.Exists("made") {
		t.Errorf("result %+v", res)
	}
	q := c.one()
	if q.Verdict != report.Denied || q.By.Kind != report.Timeout || len(q.Proposals) == 0 {
		t.Fatalf("report %+v", q)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "ci-rules.yaml"), []byte(rig.ClaudeRules+q.Proposals[0].Rule), 0o600); err != nil {
		t.Fatal(err)
	}
	c.flags("--timeout", "60s")
	if res := c.Result(c.Headless([]modelserver.Use{c.mkdir("made")})); res.Exit != 0 || !c.Exists("made") {
		t.Errorf("result %+v", res)
	}
	if again := c.one(); again.Verdict != report.Allowed || again.By.Name != "ci-"+q.ID[:8]+"-1" {
		t.Errorf("report %+v", again)
	}
}

// Whatever the person's settings say, a run is asked; and nothing is added to them. (The client
// itself moves what stands elsewhere into them.)
func TestCIPassesOverTheModeOfTheSettings(t *testing.T) {
	t.Parallel()
	c := newCI(t, rig.ClaudeRules, "--timeout", "5s")
	file := filepath.Join(c.Config.Home(), ".claude", "settings.json")
	const mine = `{"permissions": {"defaultMode": "bypassPermissions"}}`
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Result(c.Headless([]modelserver.Use{c.mkdir("made")}))
	if q := c.one(); q.Verdict != report.Denied || c.Exists("made") {
		t.Errorf("report %+v", q)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), "hook") || !strings.Contains(string(b), "bypassPermissions") {
		t.Errorf("the settings are %q now, %v", b, err)
	}
}

// The hooks of the person's own settings run in a run too, so that their broker may answer first. The
// report says so, and --setting-sources keeps them out.
func TestCIAndHooksOfTheUser(t *testing.T) {
	t.Parallel()
	c := newCI(t, rig.ClaudeRules, "--timeout", "60s")
	file := filepath.Join(c.Config.Home(), ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "`+rig.Program("assent-hook")+`", "args": ["--socket", "`+c.Socket+`"]}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	warned := func() bool {
		return slices.ContainsFunc(c.reported().Problems, func(p report.Problem) bool { return p.Key == "second-decider" })
	}

	run := c.Headless([]modelserver.Use{c.mkdir("theirs")})
	c.Allow(c.WaitPending(1)[0])
	if res := c.Result(run); res.Exit != 0 || !c.Exists("theirs") || !warned() {
		t.Errorf("result %+v, report %+v", res, c.reported())
	}
	if q := c.one(); q.Verdict == report.Allowed {
		t.Errorf("the report takes the other hook's answer for its own: %+v", q)
	}
	c.flags("--timeout", "10s")
	c.Config.Args = []string{"--setting-sources", "project,local"}
	if res := c.Result(c.Headless([]modelserver.Use{c.mkdir("ours")}, []modelserver.Use{c.Touch("ruled")})); res.Exit != 0 || c.Exists("ours") || !c.Exists("ruled") || warned() {
		t.Errorf("result %+v, report %+v", res, c.reported())
	}
}

// A repository's own settings neither choose a mode that asks nobody nor another broker, and what they
// allow is named in the report.
func TestCIInARepositoryThatIsHostile(t *testing.T) {
	t.Parallel()
	c := newCI(t, rig.ClaudeRules, "--timeout", "10s", "--fail-on-deny")
	dir := filepath.Join(c.Config.Work(), ".claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"settings.json": `{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Bash(nothing:*)"]},
 "env": {"ASSENT_SOCKET": "/nowhere", "ASSENT_URL": "http://127.0.0.1:9", "ASSENT_ON_FAILURE": "abstain", "ASSENT_TIMEOUT": "1ms"}}`,
		"settings.local.json": `{"permissions": {"defaultMode": "dontAsk"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := c.Headless([]modelserver.Use{c.Touch("ruled")}, []modelserver.Use{c.mkdir("made")})
	if res := c.Result(run); res.Exit != 86 || !c.Exists("ruled") || c.Exists("made") {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	if rep := c.reported(); len(rep.Requests) != 2 || rep.Requests[1].By.Kind != report.Timeout {
		t.Errorf("report %+v", rep)
	}
	c.mentions(".md", "settings.json allows 1 kinds of calls")
}
