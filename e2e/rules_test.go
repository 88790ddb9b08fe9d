package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// inForce is what the tests read of the API's Rules.
type inForce struct {
	Allowing bool `json:"allowing"`
	Problems []struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Message string `json:"message"`
	} `json:"problems"`
	Files []struct {
		Path     string    `json:"path"`
		Layer    string    `json:"layer"`
		State    string    `json:"state"`
		LoadedAt time.Time `json:"loadedAt"`
	} `json:"files"`
	Rules []struct {
		ID      string `json:"id"`
		Matches int    `json:"matches"`
	} `json:"rules"`
}

// rulesFile is the person's file of rules.
func (d *daemon) rulesFile() string { return filepath.Join(d.dir, ".config", "assent", "rules.yaml") }

// writeRules puts a file in place as an editor does.
func (d *daemon) writeRules(text string) {
	d.t.Helper()
	path := d.rulesFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		d.t.Fatal(err)
	}
}

func (d *daemon) inForce() inForce {
	d.t.Helper()
	var doc json.RawMessage
	d.get("/v1/rules", &doc)
	valid(d.t, "Rules", doc)
	var f inForce
	if err := json.Unmarshal(doc, &f); err != nil {
		d.t.Fatal(err)
	}
	return f
}

// state is how a file of rules stands; "none" when there is none.
func (f inForce) state(path string) string {
	for _, x := range f.Files {
		if x.Path == path {
			return x.State
		}
	}
	return "none"
}

// setRules writes the person's file and waits until the running broker has read it.
func (d *daemon) setRules(text string) {
	d.t.Helper()
	before := d.inForce()
	d.writeRules(text)
	eventually(d.t, soon, "the file of rules was read", func() bool {
		now := d.inForce()
		loaded := func(f inForce) time.Time {
			for _, x := range f.Files {
				if x.Path == d.rulesFile() {
					return x.LoadedAt
				}
			}
			return time.Time{}
		}
		return loaded(now).After(loaded(before)) || len(now.Problems) > 0 && now.state(d.rulesFile()) != "none" && fmt.Sprint(now.Problems) != fmt.Sprint(before.Problems)
	})
}

const someRules = `version: 1
allow: ["Bash(git status)"]
rules:
  - id: prod-db
    action: deny
    message: "Use the read replica: psql $REPLICA_URL"
    match: {command: {program: [psql, mysql], any_arg: ["*prod*"]}}
  - id: deploy
    action: ask
    note: "a deployment to production"
    timeout: 1s
    on_timeout: deny
    match: {command: {program: kubectl, args: [apply, ...]}}
`

func TestRulesAnswerWithoutAPerson(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(someRules)
	d.start()

	h := d.hook(bash("s1", "git status"))
	if out := h.wait(); out != allowed {
		t.Errorf("an allow rule: the hook printed %q", out)
	}
	out := d.hook(bash("s1", "psql -h prod-db-1")).wait()
	if out != denied("Use the read replica: psql $REPLICA_URL") {
		t.Errorf("a deny rule: the hook printed %q", out)
	}
	out = d.hook(bash("s1", "kubectl apply -f x.yaml")).wait()
	if !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("a rule that denies when nobody answers: the hook printed %q", out)
	}
	rs := d.settled()
	if len(rs) != 3 || rs[0].Outcome != "expired" || rs[1].Outcome != "denied" || rs[2].Outcome != "allowed" {
		t.Fatalf("requests %+v", rs)
	}
	for i, id := range map[int]string{1: "prod-db", 2: "Bash(git status)"} {
		if by := rs[i].DecidedBy; by == nil || by.Kind != "rule" || by.Name != id || by.File != d.rulesFile() {
			t.Errorf("%s was decided by %+v", rs[i].Outcome, by)
		}
	}
	d.until(rs[2].ID, "delivered", func(r request) bool { return r.Delivery == "delivered" })
	trace := d.command("trace", rs[2].ID)
	if want := `by rule "Bash(git status)" in ` + d.rulesFile(); !strings.Contains(trace, want) {
		t.Errorf("trace does not say %s:\n%s", want, trace)
	}
	var feed string
	eventually(t, soon, "the feed says which rule allowed it", func() bool {
		feed = d.command("feed", "s1")
		return strings.Contains(feed, "✓ Allowed") && strings.Contains(feed, `rule "Bash(git status)" in `)
	})
	fired := 0
	for _, r := range d.inForce().Rules {
		fired += r.Matches
	}
	if fired != 3 {
		t.Errorf("%d firings are counted, want 3", fired)
	}
}

func TestRulesAskForTheRestOfALine(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(someRules)
	d.start()
	for _, line := range []string{"git status; rm -rf ~", "git status && curl x | sh", "git status\nrm -rf ~", "git status $(rm -rf ~)", "git status > ~/.bashrc"} {
		h := d.hook(bash("s1", line))
		d.deny(d.waitPending(1)[0], "no")
		if out := h.wait(); out != denied("no") {
			t.Errorf("%q: the hook printed %q", line, out)
		}
	}
}

func TestRulesOnAnEditedInput(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(someRules)
	d.start()
	h := d.hook(bash("s1", "ls -l"))
	r := d.waitPending(1)[0]
	status, body, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", decision{
		Behavior: "allow", InputSHA256: r.InputSHA256, UpdatedInput: object(t, map[string]string{"command": "psql -h prod-db-1"}),
	})
	if err != nil || status != http.StatusForbidden || !strings.Contains(string(body), `"reason":"rule"`) || !strings.Contains(string(body), "Use the read replica") {
		t.Errorf("what a rule denies, as an edit: %d %s %v", status, body, err)
	}
	valid(t, "Problem", body)
	cmd := exec.Command(program("assent"), "allow", r.ID, "--input", `{"command":"psql -h prod-db-1"}`, "--state-dir", d.state)
	cmd.Env = d.env()
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), `rule "prod-db" in `) {
		t.Errorf("assent allow: %v\n%s", err, out)
	}
	d.decide(r, decision{Behavior: "allow", UpdatedInput: object(t, map[string]string{"command": "ls -la"})})
	if out := h.wait(); !strings.Contains(out, `"updatedInput":{"command":"ls -la"}`) {
		t.Errorf("the hook printed %s", out)
	}
}

// said runs a command and returns all it printed.
func (d *daemon) said(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(program("assent"), append(args, "--state-dir", d.state)...)
	cmd.Env = d.env()
	out, _ := cmd.CombinedOutput() // doctor ends with 1 when something is broken
	return string(out)
}

func TestRulesBrokenAtTheStartAndMended(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(strings.Replace(someRules, "allow:", "allwo:", 1))
	d.start()
	h := d.hook(bash("s1", "git status"))
	r := d.waitPending(1)[0]
	f := d.inForce()
	if f.Allowing || len(f.Problems) == 0 || f.Problems[0].Line != 2 || f.state(d.rulesFile()) != "broken" {
		t.Errorf("rules %+v", f)
	}
	for _, command := range []string{"pending", "doctor", "health"} {
		if out := d.said(command); !strings.Contains(out, d.rulesFile()+":2:") || !strings.Contains(out, "No rule allows anything") {
			t.Errorf("assent %s does not say that the rules are broken:\n%s", command, out)
		}
	}
	if out := d.out.tail(1 << 16); !strings.Contains(out, d.rulesFile()+":2:") {
		t.Errorf("the log does not say that the rules are broken:\n%s", out)
	}
	if status, body, err := d.try("GET", "/metrics", nil); err != nil || status != 200 || strings.Contains(string(body), "assent_rules_problems 0") || !strings.Contains(string(body), "assent_rules_problems ") {
		t.Error("the metrics do not say that the rules are broken")
	}
	d.deny(r, "no")
	h.wait()

	d.setRules(someRules)
	if out := d.hook(bash("s1", "git status")).wait(); out != allowed {
		t.Errorf("after it was fixed: the hook printed %q", out)
	}

	d.setRules("version: 1\nallow: [\n") // broken again: the last good stays
	f = d.inForce()
	if !f.Allowing || len(f.Problems) == 0 || f.state(d.rulesFile()) != "last_good" {
		t.Errorf("rules %+v", f)
	}
	if out := d.hook(bash("s1", "git status")).wait(); out != allowed {
		t.Errorf("while the file is broken: the hook printed %q", out)
	}
	if out := d.said("pending"); !strings.Contains(out, "What the file said before is in force") {
		t.Errorf("assent pending:\n%s", out)
	}

	d.setRules(strings.Replace(someRules, "git status", "git log", 1))
	h = d.hook(bash("s1", "git status"))
	d.deny(d.waitPending(1)[0], "not any more")
	if out := h.wait(); out != denied("not any more") {
		t.Errorf("after the rule went: the hook printed %q", out)
	}
	if f := d.inForce(); len(f.Problems) != 0 || f.state(d.rulesFile()) != "in_force" {
		t.Errorf("rules %+v", f)
	}
}

func TestRulesThatOthersMayWriteAreRefused(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(someRules)
	if err := os.Chmod(d.rulesFile(), 0o666); err != nil {
		t.Fatal(err)
	}
	d.start()
	if out := d.said("doctor"); !strings.Contains(out, "chmod go-w "+d.rulesFile()) {
		t.Errorf("assent doctor:\n%s", out)
	}
	if f := d.inForce(); f.Allowing {
		t.Errorf("rules %+v", f)
	}
	if err := os.Chmod(d.rulesFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "the file is in force", func() bool { return d.inForce().Allowing })
}

func TestRulesOfARepositoryTighten(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules("version: 1\nallow: [\"Bash(git status)\", \"Bash(git log)\"]\n")
	d.start()
	repo := filepath.Join(d.dir, "repo")
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	rules := filepath.Join(repo, ".assent", "rules.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(rules), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hook := func(command string) *exec.Cmd {
		h := d.hookCommand([]byte(strings.Replace(string(bash("s1", command)), `"cwd":"/tmp"`, `"cwd":"`+repo+`"`, 1)), "--timeout", "120s")
		h.Dir = repo
		return h
	}
	ask := func(command string) string {
		t.Helper()
		out, err := hook(command).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := ask("git log"); out != allowed {
		t.Fatalf("without a file: %q", out)
	}
	write("version: 1\nallow: [\"Bash(make)\"]\nrules:\n  - {id: no-log, action: deny, message: not here, match: {command: {program: git, args: [log, ...]}}}\n")
	if out := ask("git log"); out != denied("not here") {
		t.Errorf("with the repository's denial: %q", out)
	}
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Name != "no-log" || r.DecidedBy.File != rules {
		t.Errorf("decided by %+v", r.DecidedBy)
	}
	if out := ask("git status"); out != allowed {
		t.Errorf("what the repository says nothing about: %q", out)
	}
	waits := func(command string) request {
		t.Helper()
		done := make(chan string, 1)
		go func() { // its end is the withdrawal below
			out, _ := hook(command).Output()
			done <- string(out)
		}()
		r := d.waitPending(1)[0]
		d.deny(r, "no")
		if out := <-done; out != denied("no") {
			t.Errorf("%s: %q", command, out)
		}
		return r
	}
	waits("make") // a repository allows nothing by itself
	write("version: 1\nrules: [{id: x, action: maybe}]\n")
	r := waits("git status")
	if !strings.Contains(string(r.Verdict), "this repository's rules are broken") {
		t.Errorf("the card does not say why: %s", r.Verdict)
	}
}

// TestRulesThroughKills kills the broker again and again while a rule answers: each hook gets the
// rule's answer, which stands in its record once.
func TestRulesThroughKills(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules(someRules)
	d.start()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	var mu sync.Mutex
	hooks := 0
	var silent []ask // got no answer
	for w := range 3 {
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				start := time.Now()
				out, err := d.hookCommand(bash(fmt.Sprintf("s%d-%d", w, n), "git status")).Output()
				if err != nil || len(out) > 0 && string(out) != allowed {
					t.Errorf("hook %d of %d: %v, printed %q", n, w, err, out)
				}
				mu.Lock()
				hooks++
				if len(out) == 0 {
					silent = append(silent, ask{start: start, took: time.Since(start)})
				}
				mu.Unlock()
			}
		})
	}
	const kills = 25
	var killed, back []time.Time
	for i := range kills {
		time.Sleep(time.Duration(i) * 2 * time.Millisecond) // another moment of its life each time
		killed = append(killed, time.Now())
		d.kill()
		d.start()
		back = append(back, time.Now())
	}
	stop()
	workers.Wait()
	for _, a := range silent {
		if !a.outlasted(killed, back) {
			t.Errorf("a hook printed nothing after %v", a.took)
		}
	}
	eventually(t, soon, "nothing waits", func() bool { return len(d.pending()) == 0 })
	interrupted, seen := 0, 0
	for after := ""; ; {
		var page []request
		d.get("/v1/requests?state=ended&limit=500&after="+after, &page)
		for _, r := range page {
			after = r.ID
			seen++
			trace := d.trace(r.ID)
			if i := slices.IndexFunc(trace, func(s record) bool { return s.Step == "decided" }); i != 1 || trace[1].By.Kind != "rule" || trace[1].By.File != d.rulesFile() {
				t.Errorf("request %s: %s", r.ID, steps(trace))
			} else if trace[1].Time.Sub(trace[0].Time) > 100*time.Millisecond { // a restart takes longer than that
				interrupted++
			}
		}
		if len(page) == 0 {
			break
		}
	}
	if seen > hooks || seen < hooks-len(silent) {
		t.Errorf("%d requests ended, and %d hooks ran, %d of them without an answer", seen, hooks, len(silent))
	}
	t.Logf("%d hooks through %d kills, about %d of them hit between asked and decided", hooks, kills, interrupted)
}
