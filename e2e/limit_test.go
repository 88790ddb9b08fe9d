package e2e

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

// TestHooksLeaveRoomForApprovers lets more hooks wait on the socket than the broker may open files:
// those beyond are told so at once, and approvers get in.
func TestHooksLeaveRoomForApprovers(t *testing.T) {
	d := newDaemon(t)
	d.files = 256
	d.start()
	const hooks = 600
	answers := make(chan int, hooks)
	for i := range hooks {
		c, err := net.Dial("unix", d.socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		body := bash("crowd", "touch "+strconv.Itoa(i))
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
	eventually(t, soon, "the others are sent away", func() bool {
		for len(answers) > 0 {
			if status := <-answers; status != http.StatusServiceUnavailable {
				t.Fatalf("a hook got %d", status)
			}
			away++
		}
		return away+len(d.pending()) == hooks
	})
	if away < hooks-256 {
		t.Errorf("%d of %d hooks were sent away, with 256 files", away, hooks)
	}
	h := d.hook(bash("crowd", "touch late"), "--timeout", "10m")
	if out := h.wait(); out != "" || !strings.Contains(h.stderr.String(), "503") {
		t.Errorf("one more printed %q, said %q", out, h.stderr.String())
	}
	if out := d.hook(payload("Stop", "another", nil)).wait(); out != "" {
		t.Errorf("a plain event printed %q", out)
	}
	r := d.pending()[0]
	d.allow(r)
	eventually(t, soon, "a hook has its answer", func() bool {
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
	d := newDaemon(t)
	d.files = 127
	d.launch()
	select {
	case <-d.ended:
	case <-time.After(soon):
		t.Fatal("it runs")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(d.out.tail(4000), "ulimit -n") {
		t.Errorf("code %d: %s", code, d.out.tail(4000))
	}
	if _, err := os.Lstat(filepath.Join(d.state, "nats")); !os.IsNotExist(err) {
		t.Errorf("it made its streams: %v", err)
	}
	d.files = 128
	d.start()
	h := d.hook(bash("s", "touch x"))
	d.allow(d.waitPending(1)[0])
	if out := h.wait(); out != allowed {
		t.Errorf("with 128 the hook printed %q", out)
	}
}
