package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestEffects: a command as an argument and in a file, and lines of JSON, without a broker.
func TestEffects(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	assent := func(in string, args ...string) string {
		t.Helper()
		var out, errw bytes.Buffer
		if code := run(t.Context(), append([]string{"effects"}, args...), strings.NewReader(in), &out, &errw); code != 0 {
			t.Fatalf("exit %d: %s", code, errw.String())
		}
		return out.String()
	}
	if got := assent("", "--", "git push origin main"); !strings.HasPrefix(got, "Pushes to origin/main\nattention: Others will see it") {
		t.Error(got)
	}
	file := filepath.Join(dir, "command.sh")
	if err := os.WriteFile(file, []byte("rm -rf /home/dev\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{assent("", "--json", "--", "rm", "-rf", "/home/dev"), assent("", "--json", "--file", file), assent("rm -rf /home/dev", "--json", "--file", "-")} {
		var e hook.Effects
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Risk != hook.Danger || e.Effects[0].Effect != "deletes" || !e.Effects[0].Outside {
			t.Errorf("%v: %s", err, text)
		}
	}
	lines := assent(`{"id":7,"command":"ls"}
{"tool":"Read","input":{"file_path":"/etc/shadow"}}
{"command":5}
`, "--file", "-")
	want := []string{`{"id":7,"risk":"calm"`, `{"risk":"danger"`, `{"risk":"attention","error":`}
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"effects"}, strings.NewReader(""), &out, &errw); code != exitUsage {
		t.Errorf("without a command: exit %d", code)
	}
}
