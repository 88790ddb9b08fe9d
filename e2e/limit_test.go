package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStrangersConnectionsLeaveRoomForHooks opens more TCP connections than the broker has
// descriptors: the streams must still be able to open their files, and hooks be answered.
func TestStrangersConnectionsLeaveRoomForHooks(t *testing.T) {
	d := newDaemon(t)
	d.files = 200
	d.start()
	url, _ := d.owner()
	for range 2 * d.files {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	late := false // a hook gave up, the machine being slow
	for range 20 {
		start := time.Now()
		if out := d.hook(payload("Stop", "s", nil)).wait(); out != "" {
			t.Errorf("a plain event printed %q", out)
		}
		late = late || time.Since(start) >= time.Second
	}
	if late && d.metric("assent_spool_taken_total") < 20 {
		t.Log("some events came late, on a machine that is so busy")
	} else if _, err := os.Lstat(filepath.Join(d.dir, "xdg", "assent", "spool", "s")); !os.IsNotExist(err) {
		t.Errorf("the broker did not take the events: they were spooled (%v)", err)
	}
	h := d.hook(bash("s", "touch x"))
	d.allow(d.waitPending(1)[0])
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %q", out)
	}
}
