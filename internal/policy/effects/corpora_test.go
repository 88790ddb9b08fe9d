package effects_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy/effects"
)

// TestCorpora measures the effects on tables of other projects, which are not part of this one.
// ASSENT_CORPORA names a directory of JSON lines: command, expected (allow, ask, deny, unsafe),
// disputed. A row that must not be allowed is never calm, but for those that only want to be asked
// about because rules of their own say so. ASSENT_CORPORA_SHOW=normal-ask lists the rows of that risk
// that are to be asked about.
func TestCorpora(t *testing.T) {
	dir := os.Getenv("ASSENT_CORPORA")
	if dir == "" {
		t.Skip("ASSENT_CORPORA names no directory of tables")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	of := effects.Func("/home/dev")
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			counts := map[bool]map[hook.Risk]int{true: {}, false: {}}
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var row struct {
					Command, Cwd, Expected string
					Disputed               bool
					Rules                  json.RawMessage
				}
				if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
					t.Fatal(err)
				}
				if row.Cwd == "" {
					row.Cwd = "/srv/shop"
				}
				e := of(bash(t, row.Command, row.Cwd))
				allowed := row.Expected == "allow"
				counts[allowed][e.Risk]++
				if !allowed && e.Risk == hook.Calm && !row.Disputed && (row.Rules == nil || row.Expected != "ask") {
					t.Errorf("calm, and must not be allowed: %s", row.Command)
				}
				if show := os.Getenv("ASSENT_CORPORA_SHOW"); show == string(e.Risk)+"-"+row.Expected {
					t.Logf("%q\n\t%s", row.Command, e.Sentence)
				}
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
			for _, allowed := range []bool{true, false} {
				c := counts[allowed]
				t.Logf("allowed %-5v: calm %d, normal %d, attention %d, danger %d", allowed, c[hook.Calm], c[hook.Normal], c[hook.Attention], c[hook.Danger])
			}
		})
	}
}

// bash is a request to run a command in a directory, which is the project.
func bash(t testing.TB, command, dir string) *hook.Request {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return &hook.Request{ToolName: "Bash", ToolInput: hook.JSON(input), CWD: dir, Origin: hook.Origin{ProjectDir: dir, Repo: hook.Repo{Root: dir, Branch: "main"}}}
}
