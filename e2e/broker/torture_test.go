package broker

import (
	"encoding/json"
	"os/exec"
	"testing"

	"assent/e2e/rig"
)

// The short form of `assent torture`: brokers on a nats-server of their own that are killed and stopped while hooks
// ask and approvers decide. Nothing that was promised is broken.
func TestTortureShort(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(rig.Program("assent"), "torture", "-brokers", "3", "-nats", "1", "-for", "5s", "-seed", "20", "-nemesis", "kill-broker,stop-broker,stop-nats", "--json")
	cmd.Env = []string{"HOME=" + rig.TempDir(t), "TMPDIR=" + rig.TempDir(t)}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var res struct {
		Seed                    uint64
		Requests, Answered, Won int
		Violations              []string
	}
	if err := json.Unmarshal(out, &res); err != nil {
		t.Fatal(err)
	}
	if res.Seed != 20 || res.Requests == 0 || res.Answered == 0 || res.Won == 0 || len(res.Violations) > 0 {
		t.Errorf("%s", out)
	}
}
