package broker

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// A command runs contained once in a session, whatever becomes of the broker in between; a hook that does
// not say that its machine can, and a broker that is told not to, ask. No container is needed to see that:
// nothing runs here.
func TestContainedOnce(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules("version: 1\nrules:\n  - {id: awk, action: allow, contain: read, match: {command: {program: awk}}}\n")
	d.Start()
	work, notes := filepath.Join(d.Dir, "work"), filepath.Join(d.Dir, "client", "shell-snapshots")
	for _, dir := range []string{work, notes} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(notes, "snapshot-bash-1-a.sh"), []byte("alias -- ll='ls -l'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const one, two, three = `awk '{print $1}' a`, `awk '{print $2}' a`, `awk '{print $3}' a`
	ask := func(session, command string, args ...string) *rig.HookRun {
		payload, err := json.Marshal(map[string]any{
			"session_id": session, "transcript_path": filepath.Join(d.Dir, "client", "projects", "p", session+".jsonl"), "cwd": work, "hook_event_name": "PermissionRequest",
			"permission_mode": "default", "tool_name": "Bash", "tool_input": map[string]any{"command": command, "description": "A test"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d.Hook(payload, args...)
	}
	const can = "--contain=3 /nowhere/assent-contain" // the path is the broker's own
	contained := func(session, command string) {
		t.Helper()
		if out := ask(session, command, can).Wait(); !strings.Contains(out, `"behavior":"allow","updatedInput":`) ||
			!strings.Contains(out, rig.Program("assent-contain")) || strings.Contains(out, "/nowhere") || !strings.Contains(out, `"description":"A test"`) {
			t.Errorf("%s of %s: the hook printed %q", command, session, out)
		}
	}
	asks := func(session, command, why string, args ...string) {
		t.Helper()
		h := ask(session, command, args...)
		r := d.WaitPending(1)[0]
		if !strings.Contains(string(r.Verdict), why) {
			t.Errorf("%s of %s waits with %s, want %q", command, session, r.Verdict, why)
		}
		d.Deny(r, "no")
		h.Wait()
	}
	contained("s1", one)
	asks("s1", one, "already", can)
	contained("s2", one)
	d.Kill()
	d.Start()
	asks("s1", one, "already", can)
	contained("s1", two)
	asks("s1", three, "", "--timeout", "590s")
	asks("s1", three, "", "--contain=2 /nowhere/assent-contain")
	d.Stop()
	d.Args = append(d.Args, "--contain", "off")
	d.Start()
	asks("s1", three, "not here", can)
}

// What a rule says that its programs may have besides the project they have, by the line that the hook
// prints and a shell runs: a directory without the secrets in it, and a variable. What else there is they have not.
func TestContainedHasWhatTheRuleNames(t *testing.T) {
	t.Parallel()
	rig.Need(t, "landlock")
	d := rig.NewDaemon(t)
	dir, err := filepath.EvalSymlinks(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	named, other := filepath.Join(dir, "named"), filepath.Join(dir, "other")
	d.WriteRules("version: 1\nrules:\n  - {id: awk, action: allow, contain: {read: [" + named + "], env: [GOFLAGS]}, match: {command: {program: awk}}}\n" +
		"  - {id: sed, action: allow, contain: read, match: {command: {program: sed}}}\n")
	d.Start()
	work, notes := filepath.Join(dir, "work"), filepath.Join(dir, "client", "shell-snapshots")
	for name, text := range map[string]string{
		filepath.Join(named, "a.txt"): "SHOWN-DIR\n", filepath.Join(named, ".env"): "KEPT\n", filepath.Join(other, "a.txt"): "KEPT\n", filepath.Join(work, "a.txt"): "SHOWN-WORK\n",
		filepath.Join(notes, "snapshot-bash-1-a.sh"): "alias -- ll='ls -l'\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) string {
		t.Helper()
		payload, err := json.Marshal(map[string]any{
			"session_id": "s", "transcript_path": filepath.Join(dir, "client", "projects", "p", "s.jsonl"), "cwd": work, "hook_event_name": "PermissionRequest",
			"permission_mode": "default", "tool_name": "Bash", "tool_input": map[string]any{"command": command, "description": "A test"},
		})
		if err != nil {
			t.Fatal(err)
		}
		printed := d.Hook(payload, "--contain=3 /nowhere/assent-contain").Wait()
		var out struct {
			HookSpecificOutput struct {
				Decision struct{ UpdatedInput struct{ Command string } }
			}
		}
		if err := json.Unmarshal([]byte(printed), &out); err != nil || out.HookSpecificOutput.Decision.UpdatedInput.Command == "" {
			t.Fatalf("%s: the hook printed %q (%v)", command, printed, err)
		}
		c := exec.Command("/bin/sh", "-c", out.HookSpecificOutput.Decision.UpdatedInput.Command)
		c.Dir, c.Env = work, []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "GOFLAGS=SHOWN-FLAG", "GOPRIVATE=KEPT", "ANTHROPIC_API_KEY=KEPT"}
		said, _ := c.CombinedOutput() // whatever its status
		return string(said)
	}
	said := run(`awk 1 a.txt ` + named + "/a.txt " + named + "/* " + other + "/a.txt; " +
		`awk 'BEGIN{for (k in ENVIRON) print k, ENVIRON[k]}'`)
	for _, shown := range []string{"SHOWN-WORK\n", "SHOWN-DIR\n", "GOFLAGS SHOWN-FLAG\n", "could not read these, which may hold secrets: .env"} {
		if !strings.Contains(said, shown) {
			t.Errorf("no %q in %s", shown, said)
		}
	}
	if strings.Contains(said, "KEPT") {
		t.Errorf("what no rule names is shown: %s", said)
	}
	// Another rule names nothing more, and another command has nothing of the first.
	if said := run(`sed '' a.txt ` + named + "/a.txt"); !strings.Contains(said, "SHOWN-WORK") || strings.Contains(said, "SHOWN-DIR") {
		t.Errorf("by a rule that names nothing: %s", said)
	}
}
