package ci

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"

	"assent/e2e/rig"
)

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// runGitHub runs the job of the workflow.
func runGitHub(j *job) {
	var workflow struct {
		Defaults struct{ Run struct{ Shell string } }
		Jobs     map[string]struct {
			If    string
			Env   map[string]string
			Steps []struct {
				Name, If, Uses, Run string
				With, Env           map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(example(j.t, "github.yml")), &workflow); err != nil {
		j.t.Error(err)
		return
	}
	agent := workflow.Jobs["agent"]
	if workflow.Defaults.Run.Shell != "bash" || len(workflow.Jobs) != 1 || agent.If != "github.ref_name == github.event.repository.default_branch" {
		j.t.Errorf("the workflow is another one: %+v", workflow)
	}
	// The settings of the project reach a step only where it names them.
	settings := map[string]string{
		"secrets.ANTHROPIC_API_KEY": j.env["ANTHROPIC_API_KEY"], "secrets.ASSENT_TOKEN": j.env["ASSENT_TOKEN"],
		"vars.ASSENT_URL": j.env["ASSENT_URL"], "inputs.prompt": j.prompt, "runner.temp": filepath.Join(j.dir, "tmp"),
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ASSENT_TOKEN", "ASSENT_URL"} {
		delete(j.env, name)
	}
	fill := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(e string) string {
			value, known := settings[expression.FindStringSubmatch(e)[1]]
			if !known {
				j.t.Errorf("nothing is known of %s", e)
			}
			return value
		})
	}
	file := func(name string) string { return filepath.Join(j.dir, "github-"+name) }
	for k, v := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": j.project, "RUNNER_OS": "Linux", "RUNNER_TEMP": settings["runner.temp"],
		"GITHUB_PATH": file("path"), "GITHUB_ENV": file("env"), "GITHUB_OUTPUT": file("output"), "GITHUB_STEP_SUMMARY": file("summary"),
	} {
		j.env[k] = v
		if strings.HasPrefix(v, file("")) {
			j.write(filepath.Base(v), "", 0o600)
		}
	}
	for k, v := range agent.Env {
		j.env[k] = j.located(v)
	}
	j.report = filepath.Join(settings["runner.temp"], "assent")
	var used []string
	for i, step := range agent.Steps {
		if step.If != "" && step.If != "always()" {
			j.t.Errorf("step %d: if: %s", i, step.If)
		}
		if j.code != 0 && step.If == "" {
			continue
		}
		if step.Uses != "" {
			used = append(used, step.Uses)
			if path := step.With["path"]; path != "" {
				files, err := filepath.Glob(fill(path))
				if err != nil || len(files) != 3 && !strings.Contains(step.With["if-no-files-found"], "ignore") {
					j.t.Errorf("%s finds %q, %v", step.Uses, files, err)
				}
			}
			continue
		}
		env := map[string]string{}
		for k, v := range step.Env {
			env[k] = fill(v)
		}
		if expression.MatchString(step.Run) {
			j.t.Errorf("step %d: an expression in a script can be a command", i)
		}
		script := fmt.Sprintf("step-%d.sh", i)
		j.write(script, step.Run, 0o600)
		if code := j.sh(env, "bash", "--noprofile", "--norc", "-eo", "pipefail", filepath.Join(j.dir, script)); code != 0 && j.code == 0 {
			j.code = code
		}
		for _, dir := range strings.Fields(j.read(file("path"))) {
			j.env["PATH"] = dir + ":" + j.env["PATH"]
		}
		j.write("github-path", "", 0o600)
	}
	if !slices.Equal(used, []string{"actions/checkout@v5", "actions/upload-artifact@v4"}) {
		j.t.Errorf("it used %q", used)
	}
	if got := j.read(file("summary")); got != j.read(j.report+".md") {
		j.t.Errorf("the summary is %q", got)
	}
}

// runGitLab runs the job of the pipeline, in which everybody may write to every file, as a runner
// leaves them in a container.
func runGitLab(j *job) {
	var pipeline struct {
		Agent struct {
			Rules        []struct{ If string }
			Variables    map[string]string
			BeforeScript []string `yaml:"before_script"`
			Script       []string
			AllowFailure struct {
				ExitCodes int `yaml:"exit_codes"`
			} `yaml:"allow_failure"`
			Artifacts struct {
				When    string
				Paths   []string
				Reports struct{ JUnit string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(example(j.t, "gitlab.yml")), &pipeline); err != nil {
		j.t.Error(err)
		return
	}
	agent := pipeline.Agent
	if len(agent.Rules) != 1 || agent.Rules[0].If != "$PROMPT && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" || agent.AllowFailure.ExitCodes != 86 || agent.Artifacts.When != "always" {
		j.t.Errorf("the job is another one: %+v", agent)
	}
	env := map[string]string{
		"GITLAB_CI": "true", "CI_PROJECT_DIR": j.project, "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main", "PROMPT": j.prompt,
	}
	for k, v := range agent.Variables {
		env[k] = j.located(v)
	}
	lines := append([]string{"umask 0000", "set -eo pipefail", "set +o noclobber", "chmod -R a+w ."}, agent.BeforeScript...)
	j.write("script.sh", strings.Join(append(lines, agent.Script...), "\n"), 0o600)
	j.code = j.sh(env, "bash", filepath.Join(j.dir, "script.sh"))
	j.report = filepath.Join(j.project, strings.TrimSuffix(agent.Artifacts.Reports.JUnit, ".xml"))
	for _, name := range agent.Artifacts.Paths {
		if !strings.HasPrefix(filepath.Join(j.project, name), j.report+".") {
			j.t.Errorf("%s is none of the report", name)
		}
	}
}

// TestCIExamplesAreWhatTheServicesRead checks them as the services do, as far as that is known: with
// actionlint, and with GitLab's schema.
func TestCIExamplesAreWhatTheServicesRead(t *testing.T) {
	t.Parallel()
	lint := func(text string) error {
		path := filepath.Join(t.TempDir(), "agent.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "tool", "actionlint", "-no-color", "-shellcheck=", "-pyflakes=", path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
	github := example(t, "github.yml")
	if err := lint(github); err != nil {
		t.Error(err)
	}
	if lint(strings.Replace(github, "runs-on:", "run-on:", 1)) == nil || lint(strings.Replace(github, "inputs.prompt", "inputs.promt", 1)) == nil {
		t.Error("actionlint takes anything")
	}

	rig.Need(t, "gitlab-schema")
	text, err := rig.GitlabSchema()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.CompileString("https://gitlab.com/.gitlab-ci.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	gitlab := example(t, "gitlab.yml")
	if err := check(gitlab); err != nil {
		t.Errorf("%#v", err)
	}
	if check(strings.Replace(gitlab, "when: always", "when: sometimes", 1)) == nil || check(strings.Replace(gitlab, "exit_codes:", "exit_code:", 1)) == nil {
		t.Error("the schema takes anything")
	}
}
