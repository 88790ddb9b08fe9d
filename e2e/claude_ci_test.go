package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/claude"
	"assent/e2e/modelserver"
	"assent/internal/report"
)

// ciRun is `assent ci run` with the real client.
type ciRun struct {
	*agent
	report string
}

// newCI prepares a run that asks a broker of its own with these rules, or, where they are "", the
// test's broker over HTTP.
func newCI(t *testing.T, rules string, flags ...string) *ciRun {
	t.Helper()
	a := newAgent(t)
	c := &ciRun{agent: a, report: filepath.Join(a.dir, "report")}
	a.config.Own = true
	wrap := []string{program("assent"), "ci", "run", "--report", c.report}
	if rules != "" {
		file := filepath.Join(a.dir, "ci-rules.yaml")
		if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		wrap = append(wrap, "--rules", file)
	} else {
		url, _ := a.owner()
		a.config.Env = []string{"ASSENT_URL=" + url, "ASSENT_TOKEN=" + a.ciToken()}
	}
	a.config.Wrap = append(append(wrap, flags...), "--")
	return c
}

// ciToken is a token for a run: it submits, and expires.
func (d *daemon) ciToken() string {
	d.t.Helper()
	return strings.TrimSpace(d.command("token", "create", "--role", "submit", "--name", "ci", "--ttl", "1h"))
}

// reported reads the report, whose JSON must be what its schema says.
func (c *ciRun) reported() report.Run {
	c.t.Helper()
	b, err := os.ReadFile(c.report + ".json")
	if err != nil {
		c.t.Fatal(err)
	}
	valid(c.t, "CIReport", b)
	var run report.Run
	if err := json.Unmarshal(b, &run); err != nil {
		c.t.Fatal(err)
	}
	for _, ext := range []string{".md", ".xml"} {
		if b, err := os.ReadFile(c.report + ext); err != nil || len(b) == 0 {
			c.t.Errorf("report%s: %d bytes, %v", ext, len(b), err)
		}
	}
	return run
}

// one is the only request of a report.
func (c *ciRun) one() report.Request {
	c.t.Helper()
	run := c.reported()
	if len(run.Requests) != 1 {
		c.t.Fatalf("report %+v, want one request", run)
	}
	return run.Requests[0]
}

// told is what the model read of its only call.
func (c *ciRun) told() string {
	c.t.Helper()
	res := c.model.Results()
	if len(res) != 1 {
		c.t.Fatalf("the model read %+v, want one result", res)
	}
	return res[0].Content
}

const ciRules = `version: 1
rules:
  - id: let-touch
    action: allow
    match:
      tool: Bash
      command:
        program: touch
`

func TestCIRuleAllows(t *testing.T) {
	t.Parallel()
	c := newCI(t, ciRules, "--fail-on-deny")
	run := c.headless([]modelserver.Use{c.touch("out.txt")})
	if res := c.result(run); res.Exit != 0 || !c.exists("out.txt") {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	q := c.one()
	if q.Verdict != report.Allowed || q.By.Kind != report.Rule || q.By.Name != "let-touch" {
		t.Errorf("report %+v", q)
	}
	t.Log(run.Stderr())
}

func TestCINobodyAnswers(t *testing.T) {
	t.Parallel()
	c := newCI(t, "", "--timeout", "3s", "--fail-on-deny")
	run := c.headless([]modelserver.Use{c.touch("out.txt")})
	if res := c.result(run); res.Exit != 86 || c.exists("out.txt") {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	q := c.one()
	if q.Verdict != report.Denied || q.By.Kind != report.Timeout || len(q.Proposals) == 0 {
		t.Errorf("report %+v", q)
	}
	if said := c.told(); !strings.Contains(said, "Nobody answered this permission request in 3 seconds") || !strings.Contains(said, "go on with what needs no permission") {
		t.Errorf("the model read %q", said)
	}
	t.Log(run.Stderr())
	b, _ := os.ReadFile(c.report + ".md")
	t.Logf("%s", b)
	b, _ = os.ReadFile(c.report + ".xml")
	t.Logf("%s", b)
	b, _ = os.ReadFile(c.report + ".json")
	t.Logf("%s", b)
}

func TestCIApproverInTime(t *testing.T) {
	t.Parallel()
	c := newCI(t, "")
	run := c.headless([]modelserver.Use{c.touch("out.txt")})
	c.allow(c.waitPending(1)[0])
	if res := c.result(run); res.Exit != 0 || !c.exists("out.txt") {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	if q := c.one(); q.Verdict != report.Allowed || q.By.Kind != report.Person {
		t.Errorf("report %+v", q)
	}
}

func TestCIBrokerKilled(t *testing.T) {
	t.Parallel()
	c := newCI(t, "", "--timeout", "6s")
	run := c.headless([]modelserver.Use{c.touch("out.txt")})
	c.waitPending(1)
	c.kill()
	if res := c.result(run); res.Exit != 0 || c.exists("out.txt") {
		t.Errorf("result %+v\n%s", res, run.Stderr())
	}
	q := c.one()
	if q.Verdict != report.Denied || q.By.Kind != report.Timeout || !strings.Contains(q.Reason, "does not answer") || q.LatencyMS > 6000 {
		t.Errorf("report %+v", q)
	}
	if said := c.told(); !strings.Contains(said, "Nobody answered this permission request in 6 seconds") {
		t.Errorf("the model read %q", said)
	}
	t.Log(run.Stderr())
}

var _ = claude.Version
