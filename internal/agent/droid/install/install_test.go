package install

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// Droid takes the hooks of hooks.json in the place of those in its settings: nothing is installed that it would
// pass over without a word.
func TestShadowed(t *testing.T) {
	for _, x := range []struct {
		text, want string
		fails      bool
	}{
		{"", "", false},
		{`{"PostCompact": []}`, "", false},
		{`{"Stop": [], "PreToolUse": []}`, "Stop,PreToolUse", false},
		{`{"Stop": `, "", true},
	} {
		home := t.TempDir()
		env := func(key string) string { return map[string]string{"HOME": home}[key] }
		if x.text != "" {
			if err := os.Mkdir(filepath.Join(home, ".factory"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".factory", "hooks.json"), []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, events, err := Shadowed(env)
		if strings.Join(events, ",") != x.want || (err != nil) != x.fails {
			t.Errorf("%s: %v %v", x.text, events, err)
		}
		_, err = Options(env, "/state", []string{"/opt/assent-hook"}, "")
		if refused := x.want != "" || x.fails; (err != nil) != refused {
			t.Errorf("%s: installed with %v", x.text, err)
		}
		if _, err := Options(env, "/state", nil, ""); err != nil {
			t.Errorf("%s: cannot be uninstalled: %v", x.text, err)
		}
	}
}

// What Droid runs denies where the hook cannot be run or ends with an error, and says nothing where it says
// nothing.
func TestHookFails(t *testing.T) {
	for _, x := range []struct {
		name, program string
		unanswered    hook.Fallback
		code          int
		says          string
	}{
		{"is gone", "", hook.Deny, 2, "its hook failed"},
		{"crashes", "#!/bin/sh\nkill -SEGV $$\n", hook.Deny, 2, "its hook failed"},
		{"ends with an error", "#!/bin/sh\nexit 1\n", "", 2, "its hook failed"},
		{"answers", "#!/bin/sh\necho '{}'\n", hook.Deny, 0, ""},
		{"is gone, and says nothing", "", hook.Abstain, 127, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			home := t.TempDir()
			program := filepath.Join(home, "it's here", "assent-hook")
			if x.program != "" {
				err := os.Mkdir(filepath.Dir(program), 0o700)
				if err == nil {
					err = os.WriteFile(program, []byte(x.program), 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			o, err := Options(func(string) string { return home }, t.TempDir(), []string{program}, x.unanswered)
			if err != nil {
				t.Fatal(err)
			}
			var handler struct{ Command string }
			if err := json.Unmarshal([]byte(o.Format.Handler("PreToolUse")), &handler); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", handler.Command)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			_ = cmd.Run() // its exit code says more
			if code := cmd.ProcessState.ExitCode(); code != x.code || !strings.Contains(stderr.String(), x.says) {
				t.Errorf("exit code %d, want %d; %s\n%s", code, x.code, stderr.String(), handler.Command)
			}
		})
	}
}
