package ci

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
	"assent/internal/ci/report"
)

// question is a shell function of a stand-in that asks for permission to run its argument.
const question = `ask() {
  printf '{"session_id":"s","hook_event_name":"PermissionRequest","cwd":"/","tool_name":"Bash","tool_input":{"command":"%s"}}' "$1" |
    "$BIN/assent-hook" --socket "$ASSENT_SOCKET" --timeout 60s --on-failure deny --on-timeout deny
}
`

// nothingLeft checks that a run took away what it made.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"assent-ci-*", ".assent-report-*", ".local/state/assent/spool/*"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// A repository can bring a link or a pipe under the name of the report.
func TestCIReportIsNotWrittenThroughLinks(t *testing.T) {
	t.Parallel()
	// Again while the agent runs: it may do the same.
	cmd, dir, _, errs := ciCommand(t, `rm report.json; ln -s victim report.json; rm report.md; ln -s victim report.md`)
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("victim", filepath.Join(dir, "report.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "report.xml"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if code := exitOf(t, cmd.Run()); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the file behind the link is %q now, %v", b, err)
	}
	for _, ext := range []string{".md", ".xml", ".json"} {
		if fi, err := os.Lstat(filepath.Join(dir, "report"+ext)); err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm() != 0o600 || fi.Size() == 0 {
			t.Errorf("report%s: %v, %v", ext, fi, err)
		}
	}
	nothingLeft(t, dir)
}

// A form of the report that cannot be written costs neither the others nor the agent's exit code.
func TestCIReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	cmd, dir, _, errs := ciCommand(t, `rm report.md; mkdir report.md; exit 7`)
	if code := exitOf(t, cmd.Run()); code != 7 {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	if got := errs.Tail(1 << 12); !strings.Contains(got, "write the report") || !strings.Contains(got, "0 allowed, 0 denied") {
		t.Errorf("standard error %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "report.json")); err != nil || !strings.Contains(string(b), `"exit": 7`) {
		t.Errorf("report.json %s, %v", b, err)
	}
	nothingLeft(t, dir)
}

// A signal that comes before there is an agent ends the run, and the report says so.
func TestCISignalBeforeTheAgentStarts(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd, dir, out, errs := ciCommand(t, `echo started`)
			slow := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo $$ > asked; while [ ! -e go ]; do sleep 0.05; done; echo 2.1.329; exit; fi\necho started\n"
			if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(slow), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			rig.Eventually(t, rig.Soon, "the version is asked for", func() bool {
				_, err := os.Stat(filepath.Join(dir, "asked"))
				return err == nil
			})
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			// Should the signal be lost, the run goes on.
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, cmd.Wait()); code != 128+int(sig) || strings.Contains(out.Tail(100), "started") {
				t.Errorf("exit code %d, %q\n%s", code, out.Tail(100), errs.Tail(1<<12))
			}
			rep := (&ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}).reported()
			if rep.Exit != 128+int(sig) || rep.AgentExit != nil || len(rep.Problems) != 1 || rep.Problems[0].Key != "not-started" {
				t.Errorf("report %+v", rep)
			}
			nothingLeft(t, dir)
		})
	}
}

// Whoever stops reading the output does not end the run: it would leave the agent without its broker.
func TestCIOutputThatNobodyReads(t *testing.T) {
	t.Parallel()
	cmd, dir, out, _ := ciCommand(t, question+`ask 'curl x'; ask 'curl y'`, "--rules", "rules.yaml")
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("version: 1\ndeny: [\"Bash(curl *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	if code := exitOf(t, cmd.Wait()); code != 0 || strings.Count(out.Tail(1<<12), `"deny"`) != 2 {
		t.Errorf("exit code %d, %q", code, out.Tail(1<<12))
	}
	nothingLeft(t, dir)
}

// What still waits when the agent is killed is in the report too.
func TestCIReportsWhatWaitedWhenTheAgentDied(t *testing.T) {
	t.Parallel()
	cmd, dir, _, errs := ciCommand(t, strings.Replace(question, "60s", "15s", 1)+`ask 'mkdir x' & while [ ! -e go ]; do sleep 0.05; done; kill -9 $$`, "--timeout", "60s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	rig.Eventually(t, rig.Soon, "the request waits", func() bool { return strings.Contains(errs.Tail(1<<12), "waits, for 1m0s at most") })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Wait()); code != 128+9 {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	if q := (&ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}).one(); q.Verdict != report.Withdrawn {
		t.Errorf("report %+v", q)
	}
	nothingLeft(t, dir)
}

// The agent runs as the same person as its broker, and finds nothing there that decides.
func TestCIAgentCannotAnswerItself(t *testing.T) {
	t.Parallel()
	cmd, dir, out, errs := ciCommand(t, question+`ask 'mkdir x' & state=$(dirname "$ASSENT_SOCKET"); ls "$state"
for i in 1 2 3 4 5 6 7 8 9 10; do
  "$BIN/assent" pending --json --state-dir "$state" >pending
  id=$(grep -o '"id": *"[^"]*' pending | head -1 | sed 's/.*"//'); [ -n "$id" ] && break; sleep 0.1
done
"$BIN/assent" allow --state-dir "$state" "$id"; wait`, "--timeout", "5s", "--fail-on-deny")
	if code := exitOf(t, cmd.Run()); code != 86 {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	if got := out.Tail(1 << 12); strings.Contains(got, "owner.token") || strings.Contains(got, `"allow"`) {
		t.Errorf("standard output %q", got)
	}
	if q := (&ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}).one(); q.Verdict != report.Denied {
		t.Errorf("report %+v", q)
	}
}

// Rules that the agent changes while it runs are not its rules.
func TestCIRulesDoNotChangeDuringARun(t *testing.T) {
	t.Parallel()
	cmd, dir, out, errs := ciCommand(t, question+`ask 'curl before'
printf 'version: 1\nallow: ["Bash(curl *)"]\n' >rules.yaml
sleep 3; ask 'curl after'`, "--rules", "rules.yaml")
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("version: 1\ndeny: [\"Bash(curl *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Run()); code != 0 || strings.Count(out.Tail(1<<12), `"deny"`) != 2 {
		t.Errorf("exit code %d, %s\n%s", code, out.Tail(1<<12), errs.Tail(1<<12))
	}
}

// What a runner would carry out wherever it stands in a line loses its meaning.
func TestCIPrintsNoCommandsForTheRunner(t *testing.T) {
	t.Parallel()
	cmd, _, _, errs := ciCommand(t, question+`ask 'curl ##[add-mask]x ##vso[task.setvariable variable=y]z'`, "--rules", "rules.yaml")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "rules.yaml"), []byte("version: 1\ndeny: [\"Bash(curl *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Run()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := errs.Tail(1 << 12); !strings.Contains(got, "## [add-mask]x") || strings.Contains(got, "##[") || strings.Contains(got, "##vso[") {
		t.Errorf("standard error %q", got)
	}
}

// A broker that takes connections and says nothing leaves no events behind in the person's own state.
func TestCIBrokerThatSaysNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	// A hook that had no answer for a second, the machine being so slow, keeps the event.
	cmd, dir, out, errs := ciCommand(t, `tell() { before=$(date +%s%N); printf '{"session_id":"s","hook_event_name":"%s","cwd":"/"}' "$1" | "$BIN/assent-hook" --socket "$ASSENT_SOCKET"
[ $((($(date +%s%N) - before) / 1000000)) -lt 1000 ] || touch slow; }
`+question+`tell SessionStart; tell Stop; ask 'mkdir x'; tell SessionEnd`, "--timeout", "2s", "--url", "http://"+l.Addr().String())
	cmd.Env = append(cmd.Env, "ASSENT_TOKEN=t")
	if code := exitOf(t, cmd.Run()); code != 0 || !strings.Contains(out.Tail(1<<12), `"deny"`) {
		t.Errorf("exit code %d, %s\n%s", code, out.Tail(1<<12), errs.Tail(1<<12))
	}
	if _, err := os.Stat(filepath.Join(dir, "slow")); err == nil {
		t.Skip("the machine is so busy that a hook gave up before it was answered")
	}
	nothingLeft(t, dir)
}

// A repository's own settings can allow what then never reaches a hook. The report says so.
func TestCISaysWhatTheRepositoryAllows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, want string }{
		"rules of the client": {"settings.json", `{"permissions": {"allow": ["Bash", "Edit"]}}`, "allows 2 kinds of calls"},
		"a hook before tools": {"settings.local.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./yes"}]}]}}`, "PreToolUse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, dir, _, errs := ciCommand(t, "exit 0")
			if err := os.Mkdir(filepath.Join(dir, ".claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			// The home is another one: these are the project's.
			cmd.Env = append(cmd.Env, "HOME="+t.TempDir())
			if err := os.WriteFile(filepath.Join(dir, ".claude", tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, cmd.Run()); code != 0 {
				t.Errorf("exit code %d", code)
			}
			b, err := os.ReadFile(filepath.Join(dir, "report.md"))
			if err != nil || !strings.Contains(string(b), tt.want) || !strings.Contains(errs.Tail(1<<12), tt.want) {
				t.Errorf("the report says\n%s%v", b, err)
			}
		})
	}
}

// Odd homes and temporary directories are no reason to fail, and leave nothing.
func TestCIOddDirectories(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]func(dir string) []string{
		"spaces":            func(dir string) []string { return []string{"TMPDIR=" + filepath.Join(dir, "a b 'c")} },
		"relative":          func(string) []string { return []string{"TMPDIR=a b 'c"} },
		"no home":           func(string) []string { return []string{"HOME="} },
		"home is not there": func(string) []string { return []string{"HOME=/nowhere"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, dir, out, errs := ciCommand(t, question+`ask 'curl x'`, "--rules", "rules.yaml")
			if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("version: 1\ndeny: [\"Bash(curl *)\"]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "a b 'c"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, env(dir)...)
			if code := exitOf(t, cmd.Run()); code != 0 || !strings.Contains(out.Tail(1<<12), `"deny"`) {
				t.Errorf("exit code %d, %q\n%s", code, out.Tail(1<<12), errs.Tail(1<<12))
			}
			nothingLeft(t, filepath.Join(dir, "a b 'c"))
			nothingLeft(t, dir)
		})
	}
}
