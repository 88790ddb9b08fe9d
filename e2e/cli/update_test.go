package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestUpdateRestartsTheService updates a broker that a real systemd runs, while twenty requests wait: the
// new one has them all, and answers them.
func TestUpdateRestartsTheService(t *testing.T) {
	t.Parallel()
	u := newUserSystemd(t)
	dist := rig.HostRelease(t)
	bin := filepath.Join(u.dir, "programs")
	if err := rig.BuildOlder(bin, "9.8.6", dist); err != nil {
		t.Fatal(err)
	}
	assent := func(args ...string) ([]byte, error) {
		return u.run(append([]string{filepath.Join(bin, "assent")}, args...)...)
	}
	if out, err := assent("service", "install", "--", "--listen", "127.0.0.1:0", "--nats-listen", "off"); err != nil {
		t.Fatalf("install: %v\n%s\n%s", err, out, u.log.Tail(2000))
	}
	const requests = 20
	answers := make(chan string, requests)
	for i := range requests {
		payload := filepath.Join(u.dir, fmt.Sprintf("payload-%d", i))
		if err := os.WriteFile(payload, rig.Bash("update", fmt.Sprintf("touch %d", i)), 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			out, _ := u.run("sh", "-c", `exec "$0" --socket "$1" <"$2"`, filepath.Join(bin, "assent-hook"), u.socket(), payload)
			answers <- string(out)
		}()
	}
	pending := func() (ids []string) {
		out, _ := assent("pending", "--json") // no list while the broker is away
		var list []struct{ ID string }
		if json.Unmarshal(out, &list) != nil {
			return nil
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		return ids
	}
	rig.Eventually(t, 3*rig.Soon, "all wait", func() bool { return len(pending()) == requests })
	before := u.pid()
	out, err := assent("update")
	if err != nil || !bytes.Contains(out, []byte("assent is "+rig.ReleaseVersion+" now; it was 9.8.6")) || !bytes.Contains(out, []byte("The service runs it")) {
		t.Fatalf("update: %v\n%s\n%s", err, out, u.log.Tail(2000))
	}
	if u.pid() == before {
		t.Error("the broker was not restarted")
	}
	rig.Eventually(t, 3*rig.Soon, "all are back", func() bool { return len(pending()) == requests })
	for _, id := range pending() {
		if out, err := assent("allow", id); err != nil {
			t.Errorf("allow: %v\n%s", err, out)
		}
	}
	for range requests {
		if answer := <-answers; !strings.Contains(answer, `"behavior":"allow"`) {
			t.Errorf("a hook got %q", answer)
		}
	}
}
