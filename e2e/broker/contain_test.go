package broker

import (
	"encoding/json"
	"os"
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
