package broker

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/audit"
)

// TestShownTo: who had a request on the screen stands in its trace, also where nobody answered, in reports, in the tree, and nowhere any
// more once it was forgotten; a program's token looks at nothing.
func TestShownTo(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.Start()
	dir := rig.TempDir(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("pub"), []byte(d.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	phone, program := d.PairBare("approve"), d.CreateToken("approve", "program")
	bearer := phone.Bearer()
	tell := func(token, id string) {
		t.Helper()
		d.Must("POST", "/v1/shown", token, map[string]any{"requests": []string{id}}, http.StatusNoContent, nil)
	}
	on := func(id string, n int) []rig.Record {
		t.Helper()
		var list []rig.Record
		rig.Eventually(t, rig.Soon, "who had it on the screen", func() bool { list = d.Screens(id); return len(list) == n })
		return list
	}

	// One that expires, one that is denied, and one that nobody looked at.
	late := d.Hook(rig.Bash("late", "make late"), "--timeout", "8s")
	expires := d.WaitPending(1)[0]
	for range 2 {
		tell(bearer, expires.ID)
		tell(program, expires.ID)
	}
	if r := on(expires.ID, 1)[0]; r.By.Kind != "device" || r.By.Name != "bare" {
		t.Errorf("recorded %+v", r)
	}
	denied := d.Hook(rig.Bash("denied", "make denied"))
	second := d.WaitPending(2)[1]
	tell(bearer, second.ID)
	on(second.ID, 1)
	d.Deny(second, "no")
	denied.Wait()
	unseen := d.Hook(rig.Bash("unseen", "make unseen"))
	third := d.WaitPending(2)[1]
	d.Deny(third, "no")
	unseen.Wait()
	late.Wait()
	d.Until(expires.ID, "expired", func(r rig.Request) bool { return r.Outcome == "expired" })
	tell(bearer, third.ID) // it is over

	if out := d.Command("trace", expires.ID); !strings.Contains(out, "on the screen of bare, says the broker") || !strings.Contains(out, "expired") || !strings.Contains(out, "leaves 1, 2, ") {
		t.Errorf("the trace says\n%s", out)
	}
	if out := d.Command("trace", third.ID); strings.Contains(out, "screen") {
		t.Errorf("the trace of what nobody saw:\n%s", out)
	}
	if out := d.Command("audit", "search", "--shown-to", "bare", "--outcome", "expired"); strings.Count(out, "shown to bare") != 1 || !strings.Contains(out, expires.ID[:8]) {
		t.Errorf("search: %s", out)
	}
	if out := d.Command("audit", "report"); strings.Count(out, "bare 20") != 2 {
		t.Errorf("report: %s", out)
	}

	verify := func(path string) (rep audit.Report) {
		t.Helper()
		cmd := exec.Command(rig.Program("assent"), "audit", "verify", path, "--key", file("pub"), "--json")
		out, err := cmd.Output()
		if jsonErr := json.Unmarshal(out, &rep); jsonErr != nil || err != nil || !rep.OK() {
			t.Fatalf("%v, %v: %s", err, jsonErr, out)
		}
		return rep
	}
	if err := os.WriteFile(file("proof"), []byte(d.Command("audit", "prove", expires.ID)), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verify(file("proof")); rep.Entries != 3 {
		t.Errorf("a proof: %+v", rep)
	}
	if out, err := exec.Command("go", "build", "-o", file("second"), "../../docs/examples/auditverify").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	for step, forgotten := range []int64{0, 3} {
		d.Command("audit", "export", "--output", file("whole"))
		if rep := verify(file("whole")); rep.Forgotten != forgotten {
			t.Errorf("step %d: %+v", step, rep)
		}
		if out, err := exec.Command(file("second"), file("whole"), file("pub")).CombinedOutput(); err != nil {
			t.Errorf("the independent program: %v, %s", err, out)
		}
		if step == 0 {
			d.Command("forget", "late", "--yes")
		}
	}
}
