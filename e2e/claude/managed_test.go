package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// TestClaudeManaged: where the administrator's settings let no hooks run but their own, the user's do not
// run, and assent's do, with what /etc/assent/hook.conf says. It has an /etc of its own.
func TestClaudeManaged(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	etc := rig.NewEtc(t, a.Config.Dir)
	// The socket that the administrator's file names is the broker's; what the user says does not count.
	conf := fmt.Sprintf("socket = %s\non-failure = deny\n", a.Socket)
	if err := os.WriteFile(filepath.Join(etc.Dir, "assent/hook.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	a.Config.Program = etc.Wrap(a.Config.Program)
	a.NoHooks()

	// A hook of the user's that denies, and leaves a trace.
	trace := filepath.Join(a.Config.Dir, "users-hook-ran")
	users := filepath.Join(a.Config.Dir, "users-hook")
	deny := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"the user says no"}}}`
	if err := os.WriteFile(users, []byte(fmt.Sprintf("#!/bin/sh\ncat >/dev/null\ntouch %s\necho '%s'\n", trace, deny)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(a.SettingsPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":%q}]}]}}`, users)
	if err := os.WriteFile(a.SettingsPath(), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	run := a.Headless([]modelserver.Use{a.Touch("before.txt")})
	a.Result(run)
	if _, err := os.Stat(trace); err != nil || a.Exists("before.txt") {
		t.Fatalf("without managed settings the user's hook does not decide (%v): then this test tests nothing", err)
	}
	if err := os.Remove(trace); err != nil {
		t.Fatal(err)
	}

	install := func(args ...string) (string, error) {
		cmd := etc.Command(rig.Program("assent"), args...)
		cmd.Env = []string{"HOME=" + a.Config.Home(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ASSENT_STATE_DIR=" + filepath.Join(a.Config.Dir, "root-state")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	managed := []string{"--scope", "managed", "--managed-only", "--claude-version", "2.1.329", "--yes"}
	if out, err := install(append([]string{"install"}, managed...)...); err == nil || !strings.Contains(out, "not everybody's") {
		t.Errorf("without saying whom to ask: %v\n%s", err, out)
	}
	if out, err := install(append([]string{"install", "--socket", a.Socket}, managed...)...); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	run = a.Headless([]modelserver.Use{a.Touch("after.txt")})
	a.Allow(a.WaitPending(1)[0])
	a.Result(run)
	if _, err := os.Stat(trace); !errors.Is(err, os.ErrNotExist) || !a.Exists("after.txt") {
		t.Errorf("the user's hook ran beside the managed one (%v), or the allowed command did not", err)
	}
	out, err := install("doctor", "--json")
	if !strings.Contains(out, "assent-hook runs for") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	if out, err := install("uninstall", "--scope", "managed", "--yes"); err != nil {
		t.Errorf("uninstall: %v\n%s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(etc.Dir, "claude-code")); err != nil || len(left) > 0 {
		t.Errorf("uninstall leaves %v (%v)", left, err)
	}
}
