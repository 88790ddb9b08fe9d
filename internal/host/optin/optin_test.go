package optin

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"assent/schemas"
)

const whole = `# who may be started here
agents:
  coder:
    description: Writes Go
    project: /home/dev/app
    executor: {kind: claude, cli: /home/dev/.local/bin/claude}
    mode: acceptEdits
    worktree: true
    budgetUsd: 2.5
    timeoutSeconds: 600
    sessions: 2
    tags: [go, web]
  a2:
    project: /srv/b
    executor:
      kind: claude
      cli: /usr/bin/claude
`

func TestParse(t *testing.T) {
	file, problems := parse([]byte("accept: [device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s]\n" + whole))
	want := []Agent{
		{Name: "a2", Project: "/srv/b", CLI: "/usr/bin/claude", Mode: "default", BudgetUSD: 5, Timeout: 2 * time.Hour, Sessions: 1},
		{Name: "coder", Description: "Writes Go", Project: "/home/dev/app", CLI: "/home/dev/.local/bin/claude", Mode: "acceptEdits", Worktree: true,
			BudgetUSD: 2.5, Timeout: 10 * time.Minute, Sessions: 2, Tags: []string{"go", "web"}},
	}
	if len(problems) > 0 || !reflect.DeepEqual(file, File{[]string{"cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"}, want}) {
		t.Errorf("%+v, %v", file, problems)
	}
	if a, ok := file.Agent("coder"); !ok || a.Project != "/home/dev/app" {
		t.Errorf("%+v", a)
	}
	if a, ok := file.Agent("coder2"); ok {
		t.Errorf("%+v", a)
	}
}

// What could be read in two ways, or would widen what may be started, is a problem at its place.
func TestParseRefuses(t *testing.T) {
	const start = "agents:\n  coder:\n    project: /p\n    executor: {kind: claude, cli: /c}\n"
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{"agents:\n", "expected a map of agents"},
		{"agents: {}\n", "expected a map of agents"},
		{"agents: [a]\n", "expected a map of agents"},
		{"accept: [owner]\n" + start, "neither owner nor a token"},
		{"accept: [device:9f2c]\n" + start, "thumbprint"},
		{"accept: device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s\n" + start, "want a list"},
		{"accept: [device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-t]\n" + start, "thumbprint"},
		{"accept: [device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s, device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s]\n" + start, "twice"},
		{"accept: [1]\n" + start, "thumbprint"},
		{"accept: [[a]]\n" + start, "want a text"},
		{start + "---\nagents: {}\n", "second one"},
		{start + "    env: {A: b}\n", `unknown key "env"`},
		{start + "    args: [--dangerously-skip-permissions]\n", `unknown key "args"`},
		{start + "    mode: auto\n", "decides without asking"},
		{start + "    mode: bypassPermissions\n", "decides without asking"},
		{start + "    mode: dontAsk\n", "decides without asking"},
		{start + "    mode: Default\n", "decides without asking"},
		{start + "    mode:\n", "want a text"},
		{start + "    budgetUsd: 0\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: -1\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: .inf\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: .nan\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: 1_0\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: 010\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: 1e3\n", "from 0.01 to 1000"},
		{start + "    budgetUsd: '5'\n", "from 0.01 to 1000"},
		{start + "    timeoutSeconds: 90.5\n", "whole number"},
		{start + "    timeoutSeconds: 59\n", "from 60 to 86400"},
		{start + "    sessions: 9\n", "from 1 to 8"},
		{start + "    sessions: 0\n", "from 1 to 8"},
		{start + "    worktree: 1\n", "true or false"},
		{start + "    autoPr: true\n", "autoPr without worktree"},
		{start + "    worktree: true\n    autoPr: yes\n", "true or false"},
		{start + "    tags: go\n", "want a list"},
		{start + "    description: \"a\\u202eb\"\n", "cannot be seen"},
		{start + "  coder:\n    project: /q\n    executor: {kind: claude, cli: /c}\n", ""},
		{start + "    project: /q\n", ""},
		{strings.Replace(start, "coder", "Coder", 1), "no name of an agent"},
		{strings.Replace(start, "coder", "a.b", 1), "no name of an agent"},
		{strings.Replace(start, "coder", "terminal@box", 1), "no name of an agent"},
		{strings.Replace(start, "/p", "p", 1), "absolute path"},
		{strings.Replace(start, "/p", "~/p", 1), "absolute path"},
		{strings.Replace(start, "/p", "/p/../q", 1), "absolute path"},
		{strings.Replace(start, "/p", "/p/", 1), "absolute path"},
		{strings.Replace(start, "/c", "claude", 1), "absolute path"},
		{strings.Replace(start, "cli: /c", "cli: [/c, --x]", 1), "want a text"},
		{strings.Replace(start, "kind: claude", "kind: custom", 1), "knows claude only"},
		{strings.Replace(start, "kind: claude, ", "", 1), "has both"},
		{strings.Replace(start, "    project: /p\n", "", 1), "has no project"},
		{"agents:\n  coder: &x {project: /p, executor: {kind: claude, cli: /c}}\n", "anchors"},
		{"agents:\n  coder: !!map {project: /p}\n", "tags"},
		{strings.Repeat("#", maxFile+1), "more than"},
		{"agents:\n  coder:\n    project: /\xff\n", "UTF-8"},
	} {
		_, problems := parse([]byte(c.text))
		if len(problems) == 0 || !strings.Contains(problems[0].Message, c.want) || problems[0].Line < 1 || problems[0].Column < 1 {
			t.Errorf("%.200q: %v, want %q", c.text, problems, c.want)
		}
	}
}

// Only a file that is its owner's alone is read.
func TestRead(t *testing.T) {
	dir := home(t)
	path := filepath.Join(dir, "agents.yaml")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	write(t, path, whole, 0o600)
	if file, err := Read(path); err != nil || len(file.Agents) != 2 {
		t.Errorf("%v, %v", file, err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602} {
		chmod(t, path, mode)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	chmod(t, path, 0o600)
	chmod(t, dir, 0o770)
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "could replace") {
		t.Errorf("in a directory of a group: %v", err)
	}
	chmod(t, dir, 0o700)
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(link); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link: %v", err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a directory was read")
	}
	write(t, path, "agents: {coder: {mode: auto}}\n", 0o600)
	var m *Mistakes
	if file, err := Read(path); file.Agents != nil || !errors.As(err, &m) || !strings.Contains(err.Error(), path+":1:24: mode") {
		t.Errorf("%v, %v", file, err)
	}
}

// What the schema says of the file and what is read of it are the same, by its example and the one in the docs.
func TestSchema(t *testing.T) {
	example, err := schemas.Example("AgentsFile")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(docs), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	for name, text := range map[string]string{"the schema's example": string(example), "docs/hosts.md": block, "whole": whole} {
		if _, problems := parse([]byte(text)); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("AgentsFile", asJSON); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("agents: {a: {project: /p, executor: {kind: claude, cli: /c}, sessions: 8}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, problems := parse(text)
		if len(problems) > 0 {
			return
		}
		if len(file.Agents) == 0 {
			t.Error("neither agents nor problems")
		}
		for _, a := range file.Agents {
			if !namePattern.MatchString(a.Name) || !filepath.IsAbs(a.Project) || !filepath.IsAbs(a.CLI) || a.BudgetUSD <= 0 || a.BudgetUSD > maxBudget ||
				a.Timeout < minTimeout || a.Timeout > maxTimeout || a.Sessions < 1 || a.Sessions > MaxSessions || a.Mode == "" {
				t.Errorf("%+v", a)
			}
		}
	})
}

// home is a directory without links in which only we can write.
func home(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, 0o700)
	chmod(t, filepath.Dir(dir), 0o700)
	return dir
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
