package docs

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestExampleApprover builds the approver of docs/protocol.md and lets it settle two requests:
// one that contains its word, and one about which it asks.
func TestExampleApprover(t *testing.T) {
	t.Parallel()
	const source = "../../docs/examples/approver"
	text, err := os.ReadFile(filepath.Join(source, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 40 {
		t.Errorf("the example has %d lines, the docs promise 40", lines)
	}
	approver := filepath.Join(rig.TempDir(t), "approver")
	if out, err := exec.Command("go", "build", "-o", approver, source).CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}

	d := rig.Serve(t)
	url, _ := d.Owner()
	cmd := exec.Command(approver)
	cmd.Env = append(d.Env(), "ASSENT_URL="+url, "ASSENT_TOKEN="+d.CreateToken("approve", "bot"), "DENY=push --force")
	var said rig.Output
	cmd.Stdout, cmd.Stderr = &said, &said
	answers, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("the approver said:\n%s", said.Tail(4000))
		}
	})

	if out := d.Hook(rig.Bash("one", "git push --force")).Wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("the hook printed %q", out)
	}
	asked := d.Hook(rig.Bash("two", "git status \u202e"))
	rig.Eventually(t, rig.Soon, "a question", func() bool { return strings.Contains(said.Tail(4000), "allow or deny?") })
	if !strings.Contains(said.Tail(4000), "git status ⟦U+202E⟧") {
		t.Error("the request is not shown with its invisible characters")
	}
	if _, err := io.WriteString(answers, "allow\n"); err != nil {
		t.Fatal(err)
	}
	if out := asked.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
	settled := d.Settled()
	if len(settled) != 2 {
		t.Errorf("%d requests are settled, want 2", len(settled))
	}
	for _, r := range settled {
		if r.DecidedBy == nil || r.DecidedBy.Kind != "token" || r.DecidedBy.Name != "bot" {
			t.Errorf("%s was decided by %+v", r.ID, r.DecidedBy)
		}
	}
}
