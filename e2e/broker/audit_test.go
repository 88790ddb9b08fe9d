package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/internal/audit"
)

// TestAudit: what was recorded is proved by an export, a proof and a public key alone, and who has the state directory cannot
// change it without being found.
func TestAudit(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Start()
	dir := rig.TempDir(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(rig.Program("assent"), args...)
		cmd.Env = d.Env()
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	verify := func(path string, more ...string) audit.Report {
		t.Helper()
		cmd := exec.Command(rig.Program("assent"), append([]string{"audit", "verify", path, "--key", file("pub"), "--json"}, more...)...)
		cmd.Env = []string{"HOME=" + dir} // nothing of the broker
		out, err := cmd.Output()
		var rep audit.Report
		if jsonErr := json.Unmarshal(out, &rep); jsonErr != nil || rep.OK() != (err == nil) {
			t.Fatalf("%v, %v: %s", err, jsonErr, out)
		}
		return rep
	}
	finds := func(rep audit.Report, words string) {
		t.Helper()
		for _, f := range rep.Findings {
			if strings.Contains(f.What, words) {
				return
			}
		}
		t.Errorf("%q is not found in %+v", words, rep.Findings)
	}

	if err := os.WriteFile(file("pub"), []byte(d.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	phone := d.PairBare("approve")
	ids := map[string]string{}
	for _, session := range []string{"keep", "gone", "drop"} {
		h := d.Hook(rig.Bash(session, "make "+session))
		r := d.WaitPending(1)[0]
		ids[session] = r.ID
		full := phone.Allows(r)
		full.PublicKey = nil
		d.Must("POST", "/v1/requests/"+r.ID+"/decision", phone.Bearer(), full, http.StatusOK, nil)
		h.Wait()
		d.Until(r.ID, "delivered", func(r rig.Request) bool { return r.Delivery == "delivered" })
	}
	watch := []string{"audit", "watch", "--once", "--keep", file("kept"), "--key", file("pub"), "--state-dir", d.State}
	if out, code := run(watch...); code != 0 {
		t.Fatalf("watch: %s", out)
	}
	d.Command("audit", "export", "--output", file("whole"))
	if rep := verify(file("whole"), "--kept", file("kept")); !rep.OK() || rep.Signed != 3 || rep.Entries != 9 {
		t.Errorf("the record as it is: %+v", rep)
	}
	if err := os.WriteFile(file("proof"), []byte(d.Command("audit", "prove", ids["keep"])), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verify(file("proof")); !rep.OK() || rep.Entries != 3 || rep.Signed != 1 {
		t.Errorf("a proof: %+v", rep)
	}
	if out := d.Command("trace", ids["keep"]); !strings.Contains(out, "leaves 1, 2, 3 of 10") {
		t.Errorf("the trace has no place in the tree: %s", out)
	}

	// The independent program agrees, and so it does below.
	if out, err := exec.Command("go", "build", "-o", file("second"), "../../docs/examples/auditverify").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	second := func(path string, ok bool, more ...string) {
		t.Helper()
		cmd := exec.Command(file("second"), append([]string{path, file("pub")}, more...)...)
		if out, err := cmd.CombinedOutput(); (err == nil) != ok {
			t.Errorf("the independent program on %s: %v, %s", path, err, out)
		}
	}
	second(file("whole"), true, file("kept"))

	// What is forgotten is said to be.
	d.Command("forget", "gone", "--yes")
	d.Command("audit", "export", "--output", file("forgotten"))
	if rep := verify(file("forgotten"), "--kept", file("kept")); !rep.OK() || rep.Forgotten != 3 || rep.Entries != 6 {
		t.Errorf("after forget: %+v", rep)
	}
	second(file("forgotten"), true)
	if text, err := os.ReadFile(file("forgotten")); err != nil || bytes.Contains(text, []byte("make gone")) {
		t.Errorf("what was forgotten is in the export: %v", err)
	}

	// The state directory is kept, things go on, and it is put back: kept checkpoints are beyond it.
	d.Stop()
	copyTree(t, d.State, file("old"))
	d.Start()
	h := d.Hook(rig.Bash("later", "make later"))
	d.Deny(d.WaitPending(1)[0], "no")
	h.Wait()
	if out, code := run(watch...); code != 0 {
		t.Fatalf("watch: %s", out)
	}
	d.Stop()
	if err := os.RemoveAll(d.State); err != nil {
		t.Fatal(err)
	}
	copyTree(t, file("old"), d.State)
	d.Start()
	if out, code := run(watch...); code != 1 || !strings.Contains(out, "this broker's record is older than what this checkpoint has seen") {
		t.Errorf("watch of an older record: %d %s", code, out)
	}
	d.Command("audit", "export", "--output", file("older"))
	finds(verify(file("older"), "--kept", file("kept")), "older than what the kept checkpoint")
	second(file("older"), false, file("kept"))

	// A record is dropped. Its mark tells at the start; who then has the record repaired, for the mark to be silent, is found all the same.
	d.Stop()
	dropLast(t, d.State, ids["drop"])
	if out, code := run("repair", "--state-dir", d.State); code != 0 || !strings.Contains(out, "APPROVALS, message") {
		t.Errorf("repair: %d %s", code, out)
	}
	d.Start()
	d.Command("audit", "export", "--output", file("dropped"))
	rep := verify(file("dropped"))
	finds(rep, "the entry is missing, and nothing says that it was forgotten")
	if len(rep.Findings) != 1 || rep.Findings[0].Request != ids["drop"] {
		t.Errorf("got %+v", rep.Findings)
	}
	second(file("dropped"), false)
}

// dropLast removes the last record of a request with the means of the engine itself.
func dropLast(t *testing.T, state, id string) {
	t.Helper()
	withRecord(t, state, func(js jetstream.JetStream) {
		st, err := js.Stream(t.Context(), "APPROVALS")
		if err != nil {
			t.Fatal(err)
		}
		m, err := st.GetLastMsgForSubject(t.Context(), "approvals."+id)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.DeleteMsg(t.Context(), m.Sequence); err != nil {
			t.Fatal(err)
		}
		audits, err := js.Stream(t.Context(), "AUDIT")
		if err != nil {
			t.Fatal(err)
		}
		if err := audits.DeleteMsg(t.Context(), 1); err == nil {
			t.Error("the engine removes a block of the tree")
		}
	})
}
