package broker

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
)

// TestStrangersConnectionsLeaveSlotsForHooks opens more TCP connections than the broker has
// descriptors: the streams must still be able to open their files, and hooks be answered.
func TestStrangersConnectionsLeaveSlotsForHooks(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Files = 200
	d.Start()
	url, _ := d.Owner()
	for range 2 * d.Files {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	late := false // a hook gave up, the machine being slow
	for range 20 {
		start := time.Now()
		if out := d.Hook(rig.Payload("Stop", "s", nil)).Wait(); out != "" {
			t.Errorf("a plain event printed %q", out)
		}
		late = late || time.Since(start) >= time.Second
	}
	if late && d.Metric("assent_spool_taken_total") < 20 {
		t.Log("some events came late, on a machine that is so busy")
	} else if _, err := os.Lstat(filepath.Join(d.Dir, "xdg", "assent", "spool", "s")); !os.IsNotExist(err) {
		t.Errorf("the broker did not take the events: they were spooled (%v)", err)
	}
	h := d.Hook(rig.Bash("s", "touch x"))
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
}

// TestHooksLeaveSlotsForApprovers lets more hooks wait on the socket than the broker may open files:
// those beyond are told so at once, and approvers get in.
func TestHooksLeaveSlotsForApprovers(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Files = 256
	d.Start()
	const hooks = 600
	answers := make(chan int, hooks)
	for i := range hooks {
		c, err := net.Dial("unix", d.Socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		body := rig.Bash("crowd", "touch "+strconv.Itoa(i))
		go func() {
			_, _ = fmt.Fprintf(c, "POST /v1/hooks HTTP/1.1\r\nHost: assent\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				answers <- 0
				return
			}
			answers <- res.StatusCode
		}()
	}
	away := 0
	rig.Eventually(t, rig.Soon, "the others are sent away", func() bool {
		for len(answers) > 0 {
			if status := <-answers; status != http.StatusServiceUnavailable {
				t.Fatalf("a hook got %d", status)
			}
			away++
		}
		return away+len(d.Pending()) == hooks
	})
	if away < hooks-256 {
		t.Errorf("%d of %d hooks were sent away, with 256 files", away, hooks)
	}
	h := d.Hook(rig.Bash("crowd", "touch late"), "--timeout", "10m")
	if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "503") {
		t.Errorf("one more printed %q, said %q", out, h.Stderr.String())
	}
	if out := d.Hook(rig.Payload("Stop", "another", nil)).Wait(); out != "" {
		t.Errorf("a plain event printed %q", out)
	}
	r := d.Pending()[0]
	d.Allow(r)
	rig.Eventually(t, rig.Soon, "a hook has its answer", func() bool {
		select {
		case status := <-answers:
			return status == http.StatusOK
		default:
			return false
		}
	})
}

// TestTooFewFiles: a broker that could not work says so before it takes anything.
func TestTooFewFiles(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Files = 127
	d.Launch()
	select {
	case <-d.Ended:
	case <-time.After(rig.Soon):
		t.Fatal("it runs")
	}
	if code := d.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(d.Out.Tail(4000), "ulimit -n") {
		t.Errorf("code %d: %s", code, d.Out.Tail(4000))
	}
	if _, err := os.Lstat(filepath.Join(d.State, "nats")); !os.IsNotExist(err) {
		t.Errorf("it made its streams: %v", err)
	}
	d.Files = 128
	d.Start()
	h := d.Hook(rig.Bash("s", "touch x"))
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("with 128 the hook printed %q", out)
	}
}
