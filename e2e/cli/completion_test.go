package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestCompletion has each shell complete assent's words with the script made for it: commands,
// values of flags, and the id of what waits, but nothing that an agent wrote.
func TestCompletion(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	marker := filepath.Join(rig.TempDir(t), "ran")
	payload, err := json.Marshal(map[string]any{
		"session_id": "s1", "cwd": "/tmp/$(touch " + marker + ")", "hook_event_name": "PermissionRequest",
		"tool_name": "Bash", "tool_input": map[string]any{"command": "$(touch " + marker + ") `touch " + marker + "`"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Hook(payload)
	id := d.WaitPending(1)[0].ID
	script := func(t *testing.T, shell string) string {
		t.Helper()
		out, err := exec.Command(rig.Program("assent"), "completion", shell).Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(rig.TempDir(t), "_assent")
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := append(os.Environ(), "PATH="+os.Getenv(rig.BinEnv)+":"+os.Getenv("PATH"), "ASSENT_STATE_DIR="+d.State, "HOME="+rig.TempDir(t))
	// What stands behind assent, and what is offered for its last word.
	wants := map[string]string{
		"pen": "pending", "rules ch": "check", "token create --role su": "submit", "allow ''": id, "deny " + id[:6]: id,
		"version --js": "--json", "completion f": "fish",
	}
	check := func(t *testing.T, complete func(words string) string) {
		t.Helper()
		for words, want := range wants {
			if got := complete(words); !strings.Contains(got, want) {
				t.Errorf("assent %s: %q is offered, want %q", words, got, want)
			}
		}
		if got := complete("allow ''"); strings.Contains(got, "touch") {
			t.Errorf("an agent's words are handed to the shell: %q", got)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("completing ran what an agent wrote")
		}
	}
	run := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	t.Run("bash", func(t *testing.T) {
		rig.Need(t, "bash")
		lib := rig.Need(t, "bash-completion")
		path := script(t, "bash")
		check(t, func(words string) string {
			return run(t, "bash", "--norc", "-c", fmt.Sprintf(`. %q; . %q
COMP_WORDS=(assent %s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="assent %s"; COMP_LINE=${COMP_LINE%%"''"}; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
compopt() { :; }; __start_assent; printf '%%s\n' "${COMPREPLY[@]}"`, lib, path, words, words))
		})
	})
	t.Run("fish", func(t *testing.T) {
		rig.Need(t, "fish")
		path := script(t, "fish")
		check(t, func(words string) string {
			return run(t, "fish", "--no-config", "-c", fmt.Sprintf("source %s; complete -C 'assent %s'", path, strings.TrimSuffix(words, "''")))
		})
	})
	t.Run("zsh", func(t *testing.T) {
		rig.Need(t, "zsh")
		path := script(t, "zsh")
		run(t, "zsh", "-f", "-n", path)
		check(t, func(words string) string { // its own completion system writes to a terminal only
			return run(t, "zsh", "-f", "-c", fmt.Sprintf(`compdef() { :; }; . %s
_describe() { print -rl -- "${(@P)4}" "${(@P)2}" 2>/dev/null; return 0 }; _arguments() { :; }; compadd() { :; }
words=(assent %s); CURRENT=$#words; _assent; print -rl -- "${completions[@]}"`, path, words))
		})
	})
}

// TestManPages has groff read every page with all its warnings: each command has one, and it says
// what the help says.
func TestManPages(t *testing.T) {
	t.Parallel()
	groff := rig.Need(t, "groff")
	dir := rig.TempDir(t)
	if out, err := exec.Command(rig.Program("assent"), "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 45 {
		t.Fatalf("%d pages (%v)", len(pages), err)
	}
	for _, page := range pages {
		var warnings bytes.Buffer
		c := exec.Command(groff, "-man", "-Tutf8", "-ww", "-rLL=65n", page)
		c.Stderr = &warnings
		out, err := c.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v %s", filepath.Base(page), err, &warnings)
		}
		if bytes.Contains(out, []byte("\u2010\n")) {
			t.Errorf("%s: a word is broken, though it may be one to type:\n%s", filepath.Base(page), out)
		}
	}
	for page, wants := range map[string][]string{
		"assent":             {"Exit codes: 0 done", "simulate", "assent-allow(1)"},
		"assent-allow":       {"assent allow NUMBER|ID [flags]", "--grant duration", "at most 2160h"},
		"assent-hook":        {"usage: assent-hook [flags]", "ASSENT HOOK", "over HTTPS"},
		"assent-hook-strict": {"usage: assent-hook-strict [flags]", "Denials pass"},
		"assent-rules-check": {"assent rules check"},
		"hookd-emit":         {"usage: hookd-emit TYPE [TOOL]"},
		"hookd-query":        {"hookd-query - List mutations, oldest first"},
	} {
		out, err := exec.Command(groff, "-man", "-Tascii", "-P-cbou", filepath.Join(dir, page+".1")).Output()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s(1) does not say %q:\n%s", page, want, out)
			}
		}
	}
}
