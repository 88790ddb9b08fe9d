package ci

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
	"assent/internal/ci/report"
)

// standIn is a program in the place of the client: it says a version, and then does what the script
// says. $settings is the file it was given.
func standIn(t *testing.T, dir, script string) string {
	t.Helper()
	path := filepath.Join(dir, "claude")
	text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.1.329 (Claude Code)'; exit; fi\nsettings=$2\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// ciCommand is assent ci run with a stand-in for the client.
func ciCommand(t *testing.T, script string, flags ...string) (cmd *exec.Cmd, dir string, out, errs *rig.Output) {
	t.Helper()
	dir = rig.TempDir(t)
	args := append(append([]string{"ci", "run", "--report", filepath.Join(dir, "report")}, flags...), "--", standIn(t, dir, script), "-p", "hello")
	cmd = exec.Command(rig.Program("assent"), args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "BIN=" + rig.Program(""), "KEPT=yes"}
	out, errs = &rig.Output{}, &rig.Output{}
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, dir, out, errs
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func TestCIHandsOnInputOutputAndExitCode(t *testing.T) {
	t.Parallel()
	cmd, dir, out, errs := ciCommand(t, `cat; echo "args $3 $4, token ${ASSENT_TOKEN-none}, $KEPT"; echo oops >&2; exit 7`, "--fail-on-deny")
	cmd.Env = append(cmd.Env, "ASSENT_TOKEN=secret")
	cmd.Stdin = strings.NewReader("from a pipe\n")
	if code := exitOf(t, cmd.Run()); code != 86 { // no hook ever asked, which may hide a denial
		t.Errorf("exit code %d", code)
	}
	if got := out.Tail(1 << 10); got != "from a pipe\nargs -p hello, token none, yes\n" {
		t.Errorf("standard output %q", got)
	}
	if got := errs.Tail(1 << 12); !strings.Contains(got, "oops\n") || !strings.Contains(got, "no hook of this run ever asked assent") {
		t.Errorf("standard error %q", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "assent-ci-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	cmd, _, _, errs = ciCommand(t, "exit 7")
	if code := exitOf(t, cmd.Run()); code != 7 {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
}

func TestCIHandsOnSignals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		signal syscall.Signal
		want   int
	}{
		"caught":  {`trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done`, syscall.SIGTERM, 9},
		"killed":  {`echo ready; while :; do sleep 0.05; done`, syscall.SIGTERM, 128 + 15},
		"Ctrl-C":  {`trap 'exit 130' INT; echo ready; while :; do sleep 0.05; done`, syscall.SIGINT, 130},
		"hang-up": {`trap 'exit 4' HUP; echo ready; while :; do sleep 0.05; done`, syscall.SIGHUP, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, _, out, errs := ciCommand(t, tt.script)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			rig.Eventually(t, rig.Soon, "the agent runs", func() bool { return strings.Contains(out.Tail(100), "ready") })
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, cmd.Wait()); code != tt.want {
				t.Errorf("exit code %d, want %d\n%s", code, tt.want, errs.Tail(1<<12))
			}
		})
	}
}

// The settings that the agent is given: those of its own --settings, and hooks that deny.
func TestCISettings(t *testing.T) {
	t.Parallel()
	cmd, dir, out, errs := ciCommand(t, `cat "$settings"; echo; echo "$@" >&2`, "--timeout", "90s")
	own := filepath.Join(dir, "own.json")
	if err := os.WriteFile(own, []byte(`{"model": "opus", "permissions": {"allow": ["Read"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args, "--settings="+own, "--permission-mode", "plan", "--", "--settings")
	if code := exitOf(t, cmd.Run()); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	text := out.Tail(1 << 16)
	for _, want := range []string{
		`"model": "opus"`, `"allow": ["Read"]`, `"defaultMode": "default"`, `"SessionEnd"`,
		`"--on-failure", "deny", "--timeout", "90s", "--on-timeout", "deny"], "timeout": 100, "onFailure": "block"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %s:\n%s", want, text)
		}
	}
	if said := errs.Tail(1 << 14); !strings.Contains(said, "settings.json -p hello --permission-mode=plan -- --settings\n") {
		t.Errorf("the agent was called with\n%s", said)
	}
}

// A hook may ask in any number of ways at a time; a denial by rule needs no time.
func TestCIAnswersManyHooks(t *testing.T) {
	t.Parallel()
	const ask = `for i in 1 2 3 4 5 6 7 8; do
  printf '{"session_id":"s","hook_event_name":"PermissionRequest","cwd":"/","tool_name":"Bash","tool_input":{"command":"curl %d"}}' $i | "$BIN/assent-hook" --socket "$ASSENT_SOCKET" --timeout 60s &
done; wait
printf '{"session_id":"s","hook_event_name":"PermissionRequest","cwd":"/","tool_name":"Bash","tool_input":{"command":"x","command":"y"},"pad":"%01100000d"}' 1 | "$BIN/assent-hook" --timeout 60s`
	cmd, dir, out, errs := ciCommand(t, ask, "--rules", "rules.yaml")
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("version: 1\ndeny: [\"Bash(curl *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Run()); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs.Tail(1<<14))
	}
	if n := bytes.Count([]byte(out.Tail(1<<16)), []byte(`"behavior":"deny"`)); n != 9 {
		t.Errorf("%d denials in\n%s\n%s", n, out.Tail(1<<16), errs.Tail(1<<14))
	}
	c := &ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}
	rep := c.reported()
	if rep.Denied != 9 || rep.Requests[0].By.Kind != report.Rule || !strings.Contains(rep.Requests[0].NoProposal, "a rule denies it") {
		t.Errorf("report %+v", rep)
	}
	if last := rep.Requests[8]; last.By.Kind != report.Failure || !strings.Contains(last.Reason, "too large") {
		t.Errorf("the large one: %+v", last)
	}
}

// A broker with a certificate of its own is asked when it is named, and its approver is named. The agent's
// words go there where hook.conf lets them.
func TestCIAsksOverHTTPS(t *testing.T) {
	t.Parallel()
	dir := rig.TempDir(t)
	cert, key := rig.Certificate(t, dir)
	d := rig.NewDaemon(t, "--tls-cert", cert, "--tls-key", key)
	d.Client = rig.Trusting(t, cert)
	d.Start()
	url, _ := d.Owner()
	cmd, at, out, errs := ciCommand(t, `said=$HOME/.claude/projects/p/s.jsonl; mkdir -p "${said%/*}"
echo '{"type":"user","message":{"content":"fix"}}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look first."}]}}' > "$said"
printf '{"session_id":"s","transcript_path":"%s","hook_event_name":"PermissionRequest","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}' "$said" | "$BIN/assent-hook" --socket "$ASSENT_SOCKET"`,
		"--cacert", cert, "--url", url)
	conf := filepath.Join(at, ".config", "assent", "hook.conf")
	if err := errors.Join(os.MkdirAll(filepath.Dir(conf), 0o700), os.WriteFile(conf, []byte("transcript = on\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "ASSENT_TOKEN="+d.CreateToken("submit", "ci"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r := d.WaitPending(1)[0]
	var told struct {
		Context struct{ Said, SaidWhy string }
	}
	if d.Get("/v1/requests/"+r.ID, &told); told.Context.Said != "I look first." {
		t.Errorf("the approver is told %+v", told.Context)
	}
	d.Allow(r)
	if code := exitOf(t, cmd.Wait()); code != 0 || out.Tail(1<<12) != rig.Allowed {
		t.Errorf("exit code %d, the hook printed %q\n%s", code, out.Tail(1<<12), errs.Tail(1<<14))
	}
	c := &ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(at, "report")}
	if q := c.one(); q.Verdict != report.Allowed || q.By.Kind != report.Person || c.reported().Broker != url {
		t.Errorf("report %+v", q)
	}
}
