package ci

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/ci/report"
)

// The pipelines of docs/examples/ci, each run as its service would: the scripts are taken out of the
// file, and find the environment that the service sets, an empty home, and a project with the rules
// beside them. Two things stand in: the release is one of this tree, and npm hands out the client that
// is here already.

// job is one run of an example.
type job struct {
	t       *testing.T
	ctx     context.Context // ends what still runs
	cancel  func()
	dir     string
	project string
	env     map[string]string // of all steps; a runner's own, and what the settings of the project hold
	release string            // stands in for the address in the example
	prompt  string

	log    rig.Output
	code   int
	report string // path without its extension, once the job is over
}

const exampleRelease = "https://downloads.example/assent/0.1.0"

// newJob makes a project in which the example is used, for a runner without anything of ours.
func newJob(t *testing.T, release, client string) *job {
	t.Helper()
	j := &job{t: t, dir: rig.TempDir(t), release: release}
	j.ctx, j.cancel = context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(j.cancel)
	j.project = filepath.Join(j.dir, "project")
	for _, d := range []string{"project/ci", "project/src", "home", "bin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(j.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"ci/rules.yaml": "rules.yaml", "ci/agent.sh": "agent.sh"} {
		j.write(filepath.Join("project", name), example(t, from), 0o644)
	}
	j.write("project/package.json", `{"name": "project", "scripts": {"test": "touch tested"}}`, 0o644)
	npm := rig.Need(t, "npm")
	rig.Need(t, "curl")
	j.write("bin/npm", fmt.Sprintf(`#!/bin/sh
[ "$1" = install ] || exec '%s' "$@"
[ "$*" = "install --global --prefix $HOME/.local @anthropic-ai/claude-code@%s" ] || { echo "npm $*" >&2; exit 1; }
mkdir -p "$HOME/.local/bin" && ln -s '%s' "$HOME/.local/bin/claude"
`, npm, claude.Version, client), 0o755)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
		if out, err := exec.Command("git", append([]string{"-C", j.project}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	j.env = map[string]string{
		"CI": "true", "HOME": filepath.Join(j.dir, "home"), "TMPDIR": filepath.Join(j.dir, "tmp"), "LANG": "C.UTF-8",
		"PATH": filepath.Join(j.dir, "bin") + ":" + os.Getenv("PATH"), "NO_UPDATE_NOTIFIER": "1",
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the job said:\n%s", j.log.Tail(6000))
		}
	})
	return j
}

func example(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (j *job) write(name, text string, mode os.FileMode) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), mode); err != nil {
		j.t.Fatal(err)
	}
}

// read is a file of the job, "" if there is none.
func (j *job) read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		j.t.Fatal(err)
	}
	return string(b)
}

// sh runs a command line in the project, and returns its exit code.
func (j *job) sh(env map[string]string, words ...string) int {
	c := exec.CommandContext(j.ctx, words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = j.project, &j.log, &j.log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	for _, e := range []map[string]string{j.env, env} {
		for k, v := range e {
			c.Env = append(c.Env, k+"="+v)
		}
	}
	if err := c.Run(); c.ProcessState == nil {
		j.t.Error(err)
		return -1
	}
	return c.ProcessState.ExitCode()
}

// located is a value of an example, with the address of a release that there is.
func (j *job) located(value string) string {
	return strings.Replace(value, exampleRelease, j.release, 1)
}

// services are the examples, and how each is run.
var services = map[string]func(*job){"GitHub": runGitHub, "GitLab": runGitLab, "shell": runShell}

func runShell(j *job) {
	env := map[string]string{"ASSENT_RELEASE": j.release}
	if !strings.Contains(example(j.t, "agent.sh"), "${ASSENT_RELEASE:-"+exampleRelease+"}") {
		j.t.Error("ASSENT_RELEASE says nothing to the script")
	}
	j.code = j.sh(env, "sh", "ci/agent.sh", j.prompt)
	j.report = filepath.Join(j.project, "assent")
	if !strings.Contains(j.log.Tail(1<<20), j.read(j.report+".md")) {
		j.t.Error("the script does not show the report")
	}
}

// reported is the report, of which every form must be there.
func (j *job) reported() report.Run {
	j.t.Helper()
	text := j.read(j.report + ".json")
	rig.Valid(j.t, "CIReport", []byte(text))
	var run report.Run
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		j.t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal([]byte(j.read(j.report+".xml")), &suites); err != nil {
		j.t.Error(err)
	}
	if suites.Tests < len(run.Requests) || suites.Failures != run.Denied {
		j.t.Errorf("JUnit has %+v, and the report %d denials", suites, run.Denied)
	}
	return run
}

// served is the release that the tests make, at an address.
func served(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.FileServer(http.Dir(rig.HostRelease(t))))
	t.Cleanup(s.Close)
	return s.URL
}

// newClientJob is a job whose client plays these turns.
func newClientJob(t *testing.T) (*job, *rig.Agent) {
	t.Helper()
	release := served(t)
	a := rig.NewAgent(t)
	j := newJob(t, release, a.Config.Program)
	j.env["ANTHROPIC_API_KEY"] = "sk-ant-dummy-0000"
	for _, kv := range claude.Loopback(a.Model.URL()) {
		k, v, _ := strings.Cut(kv, "=")
		j.env[k] = v
	}
	return j, a
}

// Without a broker: what the rules allow is done, and the rest is denied soon.
func TestCIExamplesUnderRules(t *testing.T) {
	t.Parallel()
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, a := newClientJob(t)
			in := func(name string) string { return filepath.Join(j.project, name) }
			j.prompt = modelserver.Prompt([]modelserver.Use{rig.Run("npm test")},
				[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": in("src/new.js"), "content": "1"}}},
				[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": in("ci/rules.yaml"), "content": "1"}}},
				[]modelserver.Use{rig.Run("git push origin main")})
			service(j)
			if j.code != 86 {
				t.Errorf("exit code %d", j.code)
			}
			if j.read(in("src/new.js")) != "1" || j.read(in("ci/rules.yaml")) != example(t, "rules.yaml") {
				t.Error("what a rule allows was not written, or the rules were")
			}
			if _, err := os.Stat(in("tested")); err != nil {
				t.Error(err)
			}
			rep := j.reported()
			var got []string
			for _, q := range rep.Requests {
				got = append(got, fmt.Sprintf("%s %s %s", q.Verdict, q.By.Kind, q.By.Name))
			}
			want := []string{"allowed rule Bash(npm test)", "allowed rule edit-source", "denied timeout ", "denied rule no-push"}
			if !slices.Equal(got, want) {
				t.Errorf("the report has %q, want %q", got, want)
			}
			if len(rep.Requests) == 4 && rep.Requests[2].LatencyMS < 4000 {
				t.Errorf("%+v did not wait as the rules say", rep.Requests[2])
			}
			res := a.Model.Results()
			if len(res) != 4 || !strings.Contains(res[2].Content, "5 seconds") || !strings.Contains(res[3].Content, "This pipeline does not push") {
				t.Errorf("the model read %+v", res)
			}
		})
	}
}

// With the address and the token of a broker: a person there allows what no rule does.
func TestCIExamplesWithAnApprover(t *testing.T) {
	t.Parallel()
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, a := newClientJob(t)
			url, _ := a.Owner()
			j.env["ASSENT_URL"] = url
			j.env["ASSENT_TOKEN"] = strings.TrimSpace(a.Command("token", "create", "--role", "submit", "--name", "ci", "--ttl", "720h"))
			made := filepath.Join(j.project, "made")
			j.prompt = modelserver.Prompt([]modelserver.Use{rig.Run("mkdir " + made)}, []modelserver.Use{rig.Run(`echo "token ${ASSENT_TOKEN:-none}" > ` + filepath.Join(j.project, "token"))})
			over := make(chan struct{})
			go func() {
				defer close(over)
				service(j)
			}()
			defer func() { j.cancel(); <-over }()
			for range 2 {
				rig.Eventually(t, 3*rig.Soon, "a request", func() bool {
					select {
					case <-over:
						return true
					default:
						return len(a.Pending()) == 1
					}
				})
				q := a.Pending()
				if len(q) != 1 {
					t.Fatal("the job ended before it asked")
				}
				a.Allow(q[0])
				a.Until(q[0].ID, "settled", func(r rig.Request) bool { return r.Outcome == "allowed" })
			}
			<-over
			if _, err := os.Stat(made); err != nil || j.code != 0 {
				t.Errorf("exit code %d, %v", j.code, err)
			}
			if got := j.read(filepath.Join(j.project, "token")); got != "token none\n" {
				t.Errorf("the agent has %q", got)
			}
			if rep := j.reported(); rep.Allowed != 2 || rep.Denied != 0 || rep.Broker != url || rep.Requests[0].By.Kind != report.Person {
				t.Errorf("report %+v", rep)
			}
		})
	}
}

// Where assent cannot be had, the rules are broken, or nothing was made of a secret, no agent starts,
// and the job fails.
func TestCIExamplesEndBeforeTheAgent(t *testing.T) {
	t.Parallel()
	nowhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nowhere.Close)
	for problem, prepare := range map[string]func(j *job){
		"no release":   func(j *job) { j.release = nowhere.URL },
		"broken rules": func(j *job) { j.write("project/ci/rules.yaml", "version: 1\nallow: [\"Bash(git\"]\n", 0o644) },
		"no token":     func(j *job) { j.env["ASSENT_URL"], j.env["ASSENT_TOKEN"] = "https://box.example.net", "" },
	} {
		for name, service := range services {
			t.Run(problem+"/"+name, func(t *testing.T) {
				t.Parallel()
				j := newJob(t, served(t), "/bin/false")
				j.prompt = "hello"
				prepare(j)
				service(j)
				if j.code == 0 || j.code == 86 {
					t.Errorf("exit code %d", j.code)
				}
				words := map[string]string{"no release": "404", "broken rules": "rules.yaml:2", "no token": "set ASSENT_TOKEN"}[problem]
				if said := j.log.Tail(1 << 20); !strings.Contains(said, words) || strings.Contains(said, "1 denied") {
					t.Error("it does not say why")
				}
			})
		}
	}
}
