package broker

import (
	"context"
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

	"assent/e2e/rig"
)

func TestRulesAnswerWithoutAPerson(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules(rig.SomeRules)
	d.Start()

	h := d.Hook(rig.Bash("s1", "git status"))
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("an allow rule: the hook printed %q", out)
	}
	out := d.Hook(rig.Bash("s1", "psql -h prod-db-1")).Wait()
	if out != rig.Denied("Use the read replica: psql $REPLICA_URL") {
		t.Errorf("a deny rule: the hook printed %q", out)
	}
	out = d.Hook(rig.Bash("s1", "kubectl apply -f x.yaml")).Wait()
	if !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("a rule that denies when nobody answers: the hook printed %q", out)
	}
	rs := d.Settled()
	if len(rs) != 3 || rs[0].Outcome != "expired" || rs[1].Outcome != "denied" || rs[2].Outcome != "allowed" {
		t.Fatalf("requests %+v", rs)
	}
	for i, id := range map[int]string{1: "prod-db", 2: "Bash(git status)"} {
		if by := rs[i].DecidedBy; by == nil || by.Kind != "rule" || by.Name != id || by.File != d.RulesFile() {
			t.Errorf("%s was decided by %+v", rs[i].Outcome, by)
		}
	}
	d.Until(rs[2].ID, "delivered", func(r rig.Request) bool { return r.Delivery == "delivered" })
	trace := d.Command("trace", rs[2].ID)
	if want := `by rule "Bash(git status)" in ` + d.RulesFile(); !strings.Contains(trace, want) {
		t.Errorf("trace does not say %s:\n%s", want, trace)
	}
	var feed string
	rig.Eventually(t, rig.Soon, "the feed says which rule allowed it", func() bool {
		feed = d.Command("feed", "s1")
		return strings.Contains(feed, "Bash  git status  · allowed by the rule Bash(git status) in "+d.RulesFile())
	})
	fired := 0
	for _, r := range d.InForce().Rules {
		fired += r.Matches
	}
	if fired != 3 {
		t.Errorf("%d firings are counted, want 3", fired)
	}
}

func TestRulesAskForTheRestOfALine(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules(rig.SomeRules)
	d.Start()
	for _, line := range []string{"git status; rm -rf ~", "git status && curl x | sh", "git status\nrm -rf ~", "git status $(rm -rf ~)", "git status > ~/.bashrc"} {
		h := d.Hook(rig.Bash("s1", line))
		d.Deny(d.WaitPending(1)[0], "no")
		if out := h.Wait(); out != rig.Denied("no") {
			t.Errorf("%q: the hook printed %q", line, out)
		}
	}
}

func TestRulesOnAnEditedInput(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules(rig.SomeRules)
	d.Start()
	h := d.Hook(rig.Bash("s1", "ls -l"))
	r := d.WaitPending(1)[0]
	status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{
		Behavior: "allow", InputSHA256: r.InputSHA256, UpdatedInput: rig.Object(t, map[string]string{"command": "psql -h prod-db-1"}),
	})
	if err != nil || status != http.StatusForbidden || !strings.Contains(string(body), `"reason":"rule"`) || !strings.Contains(string(body), "Use the read replica") {
		t.Errorf("what a rule denies, as an edit: %d %s %v", status, body, err)
	}
	rig.Valid(t, "Problem", body)
	cmd := exec.Command(rig.Program("assent"), "allow", r.ID, "--input", `{"command":"psql -h prod-db-1"}`, "--state-dir", d.State)
	cmd.Env = d.Env()
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), `rule "prod-db" in `) {
		t.Errorf("assent allow: %v\n%s", err, out)
	}
	d.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: rig.Object(t, map[string]string{"command": "ls -la"})})
	if out := h.Wait(); !strings.Contains(out, `"updatedInput":{"command":"ls -la"}`) {
		t.Errorf("the hook printed %s", out)
	}
}

func TestRulesBrokenAtTheStartAndRepaired(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules(strings.Replace(rig.SomeRules, "allow:", "allwo:", 1))
	d.Start()
	h := d.Hook(rig.Bash("s1", "git status"))
	r := d.WaitPending(1)[0]
	f := d.InForce()
	if f.Allowing || len(f.Problems) == 0 || f.Problems[0].Line != 2 || f.State(d.RulesFile()) != "broken" {
		t.Errorf("rules %+v", f)
	}
	for _, command := range []string{"pending", "doctor", "health"} {
		if out := d.Said(command); !strings.Contains(out, d.RulesFile()+":2:") || !strings.Contains(out, "No rule allows anything") {
			t.Errorf("assent %s does not say that the rules are broken:\n%s", command, out)
		}
	}
	if out := d.Out.Tail(1 << 16); !strings.Contains(out, d.RulesFile()+":2:") {
		t.Errorf("the log does not say that the rules are broken:\n%s", out)
	}
	if status, body, err := d.Try("GET", "/metrics", nil); err != nil || status != 200 || strings.Contains(string(body), "assent_rules_problems 0") || !strings.Contains(string(body), "assent_rules_problems ") {
		t.Error("the metrics do not say that the rules are broken")
	}
	d.Deny(r, "no")
	h.Wait()

	d.SetRules(rig.SomeRules)
	if out := d.Hook(rig.Bash("s1", "git status")).Wait(); out != rig.Allowed {
		t.Errorf("after it was fixed: the hook printed %q", out)
	}

	d.SetRules("version: 1\nallow: [\n") // broken again: the last good stays
	f = d.InForce()
	if !f.Allowing || len(f.Problems) == 0 || f.State(d.RulesFile()) != "last_good" {
		t.Errorf("rules %+v", f)
	}
	if out := d.Hook(rig.Bash("s1", "git status")).Wait(); out != rig.Allowed {
		t.Errorf("while the file is broken: the hook printed %q", out)
	}
	if out := d.Said("pending"); !strings.Contains(out, "What the file said before is in force") {
		t.Errorf("assent pending:\n%s", out)
	}

	d.SetRules(strings.Replace(rig.SomeRules, "git status", "git log", 1))
	h = d.Hook(rig.Bash("s1", "git status"))
	d.Deny(d.WaitPending(1)[0], "not any more")
	if out := h.Wait(); out != rig.Denied("not any more") {
		t.Errorf("after the rule went: the hook printed %q", out)
	}
	if f := d.InForce(); len(f.Problems) != 0 || f.State(d.RulesFile()) != "in_force" {
		t.Errorf("rules %+v", f)
	}
}

func TestRulesThatOthersMayWriteAreRefused(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules(rig.SomeRules)
	if err := os.Chmod(d.RulesFile(), 0o666); err != nil {
		t.Fatal(err)
	}
	d.Start()
	if out := d.Said("doctor"); !strings.Contains(out, "chmod go-w "+d.RulesFile()) {
		t.Errorf("assent doctor:\n%s", out)
	}
	if f := d.InForce(); f.Allowing {
		t.Errorf("rules %+v", f)
	}
	if err := os.Chmod(d.RulesFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "the file is in force", func() bool { return d.InForce().Allowing })
}

func TestRulesOfARepositoryTighten(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules("version: 1\nallow: [\"Bash(git status)\", \"Bash(git log)\"]\n")
	d.Start()
	repo := filepath.Join(d.Dir, "repo")
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
		h := d.HookCommand([]byte(strings.Replace(string(rig.Bash("s1", command)), `"cwd":"/tmp"`, `"cwd":"`+repo+`"`, 1)), "--timeout", "120s")
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
	if out := ask("git log"); out != rig.Allowed {
		t.Fatalf("without a file: %q", out)
	}
	write("version: 1\nallow: [\"Bash(make)\"]\nrules:\n  - {id: no-log, action: deny, message: not here, match: {command: {program: git, args: [log, ...]}}}\n")
	if out := ask("git log"); out != rig.Denied("not here") {
		t.Errorf("with the repository's denial: %q", out)
	}
	if r := d.Settled()[0]; r.DecidedBy == nil || r.DecidedBy.Name != "no-log" || r.DecidedBy.File != rules {
		t.Errorf("decided by %+v", r.DecidedBy)
	}
	if out := ask("git status"); out != rig.Allowed {
		t.Errorf("what the repository says nothing about: %q", out)
	}
	waits := func(command string) rig.Request {
		t.Helper()
		done := make(chan string, 1)
		go func() { // its end is the withdrawal below
			out, _ := hook(command).Output()
			done <- string(out)
		}()
		r := d.WaitPending(1)[0]
		d.Deny(r, "no")
		if out := <-done; out != rig.Denied("no") {
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
	d := rig.NewDaemon(t)
	d.WriteRules(rig.SomeRules)
	d.Start()
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
				out, err := d.HookCommand(rig.Bash(fmt.Sprintf("s%d-%d", w, n), "git status")).Output()
				if err != nil || len(out) > 0 && string(out) != rig.Allowed {
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
		d.Kill()
		d.Start()
		back = append(back, time.Now())
	}
	stop()
	workers.Wait()
	for _, a := range silent {
		if !a.outlasted(killed, back) {
			t.Errorf("a hook printed nothing after %v", a.took)
		}
	}
	rig.Eventually(t, rig.Soon, "nothing waits", func() bool { return len(d.Pending()) == 0 })
	interrupted, seen := 0, 0
	for after := ""; ; {
		var page []rig.Request
		d.Get("/v1/requests?state=ended&limit=500&after="+after, &page)
		for _, r := range page {
			after = r.ID
			seen++
			trace := d.Trace(r.ID)
			if i := slices.IndexFunc(trace, func(s rig.Record) bool { return s.Step == "decided" }); i != 1 || trace[1].By.Kind != "rule" || trace[1].By.File != d.RulesFile() {
				t.Errorf("request %s: %s", r.ID, rig.Steps(trace))
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
