package broker

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestHandBackLeavesItToTheAgent hands requests back by command: the hook prints nothing and ends with 0,
// whatever it was told to do when nobody answers, so that the agent's own prompt decides.
func TestHandBackLeavesItToTheAgent(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	for _, by := range []string{"number", "id", "beginning of the id"} {
		h := d.Hook(rig.Bash("s", "make "+by), "--on-timeout", "deny", "--on-failure", "deny")
		r := d.WaitPending(1)[0]
		name := map[string]string{"number": strconv.FormatUint(r.Number, 10), "id": r.ID, "beginning of the id": r.ID[:12]}[by]
		if said := d.Command("hand-back", name, "--json"); !json.Valid([]byte(said)) || !strings.Contains(said, `"outcome":"handed_back"`) {
			t.Errorf("by its %s: hand-back says %q", by, said)
		}
		if got := h.Wait(); got != "" {
			t.Errorf("by its %s: the hook prints %q", by, got)
		}
		r = d.Request(r.ID)
		if r.Outcome != "handed_back" || r.Reason != "person" {
			t.Errorf("by its %s: %+v", by, r)
		}
		for _, words := range []string{"ended", "handed_back (person)", "by owner"} {
			if said := d.Command("trace", r.ID); !strings.Contains(said, words) {
				t.Errorf("trace without %q: %s", words, said)
			}
		}
		if said := d.Refused(4, "hand-back", r.ID); !strings.Contains(said, "handed_back") {
			t.Errorf("a second time: %q", said)
		}
	}
}
