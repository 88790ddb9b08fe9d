package broker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"assent/e2e/rig"
)

// Whoever waits, watches or answers may go away at any time.

func TestHookGoneWithdraws(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	for name, gone := range map[string]func(*exec.Cmd, *os.File) error{
		"terminated by the agent": func(c *exec.Cmd, _ *os.File) error { return c.Process.Signal(syscall.SIGTERM) },
		"killed":                  func(c *exec.Cmd, _ *os.File) error { return c.Process.Kill() },
		// The agent was killed: the hook is orphaned and only sees its standard output hang up.
		"agent killed": func(_ *exec.Cmd, stdout *os.File) error { return stdout.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("withdrawn after %v", d.Withdrawn(t, gone))
		})
	}
}

// wsMessage is a message of the WebSocket.
type wsMessage struct {
	Type     string        `json:"type"`
	Requests []rig.Request `json:"requests"`
	Changes  []struct {
		Request rig.Request `json:"request"`
	} `json:"changes"`
}

func readWS(c *websocket.Conn) (wsMessage, error) {
	var m wsMessage
	_, b, err := c.ReadMessage()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}

// Not beside others: who is to be fast must get to read.
func TestSlowWatcherHurtsNobody(t *testing.T) {
	d := rig.Serve(t)
	slow := d.WatchWS(4096)
	fast := d.WatchWS(0)
	if m, err := readWS(fast); err != nil || m.Type != "snapshot" || len(m.Requests) != 0 {
		t.Fatalf("first message %+v, %v", m, err)
	}

	// Some 10 MB of changes, far beyond what the sockets take for one who does not read.
	const requests = 300
	client := d.SocketClient()
	answered := make(chan struct{}, requests)
	for i := range requests {
		go func() {
			defer func() { answered <- struct{}{} }()
			body := rig.Bash("s", "echo "+strings.Repeat("x", 16<<10))
			if status, _, err := rig.PostHook(t.Context(), client, body); err != nil || status != http.StatusOK {
				t.Errorf("hook %d: %d %v", i, status, err)
			}
		}()
	}
	state := map[string]string{}
	watch := func(want int, is string) {
		t.Helper()
		if err := fast.SetReadDeadline(time.Now().Add(2 * rig.Soon)); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < want; {
			m, err := readWS(fast)
			if err != nil {
				t.Fatalf("the fast watcher saw %d of %d requests %s: %v", n, want, is, err)
			}
			for _, r := range m.Requests {
				state[r.ID] = r.State
			}
			for _, c := range m.Changes {
				state[c.Request.ID] = c.Request.State
			}
			n = 0
			for _, s := range state {
				if s == is {
					n++
				}
			}
		}
	}
	watch(requests, "pending")
	list := d.Pending()
	var denying sync.WaitGroup
	denying.Go(func() { // while the fast one reads
		for _, r := range list {
			status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: "no"})
			if err != nil || status != http.StatusOK {
				t.Errorf("deny %s: %d %s %v", r.ID, status, body, err)
			}
		}
	})
	watch(requests, "ended")
	denying.Wait()
	for range requests {
		<-answered
	}
	if mem := residentMB(t, d.Cmd.Process.Pid); mem > 300 {
		t.Errorf("the broker takes %d MB for one slow watcher", mem)
	}

	// The slow one reads again: what was kept for it is bounded, and it ends with the present
	// state, on this connection or on the next.
	left := map[string]bool{}
	size := 0
	nothingMore := func() { // comes: then it looks again on another connection
		if err := slow.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	nothingMore()
	for caughtUp := false; !caughtUp; {
		_, b, err := slow.ReadMessage()
		if err != nil { // dropped: it comes back and gets a snapshot
			slow = d.WatchWS(0)
			left = map[string]bool{}
			nothingMore()
			continue
		}
		size += len(b)
		var m wsMessage
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "snapshot" {
			left = map[string]bool{}
		}
		for _, r := range m.Requests {
			left[r.ID] = true
		}
		for _, c := range m.Changes {
			if c.Request.State == "pending" {
				left[c.Request.ID] = true
			} else {
				delete(left, c.Request.ID)
			}
		}
		// The first, empty snapshot is the past; the present has no pending request either.
		caughtUp = len(left) == 0 && (size > 1000 || m.Type == "snapshot" && size != len(b))
	}
}

// residentMB is the memory of a process in MB, 0 where /proc is not there.
func residentMB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}

func TestWatchAnswersFromTheKeyboard(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	cmd := exec.Command(rig.Program("assent"), "watch", "--state-dir", d.State)
	cmd.Env = d.Env()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			lines <- s.Text()
		}
	}()
	see := func(want string) {
		t.Helper()
		var all []string
		for {
			select {
			case l, ok := <-lines:
				all = append(all, l)
				if strings.Contains(l, want) {
					return
				}
				if !ok {
					t.Fatalf("watch ended without %q: %q", want, all)
				}
			case <-time.After(rig.Soon):
				t.Fatalf("watch does not show %q: %q", want, all)
			}
		}
	}
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(stdin, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	see("Nothing waits")
	first := d.Hook(rig.Bash("s", "touch /tmp/\u202eone"))
	see("touch /tmp/⟦U+202E⟧one")
	say("d 1 not today")
	see("[1] denied by")
	if out := first.Wait(); out != rig.Denied("not today") {
		t.Errorf("the hook printed %s", out)
	}
	second := d.Hook(rig.Bash("s", "touch /tmp/two"))
	see("touch /tmp/two")
	say("a 1") // the number of what is over is not given to what comes
	see("[1]")
	number := d.WaitPending(1)[0].Number
	say(fmt.Sprintf("a %d", number))
	see(fmt.Sprintf("[%d] allowed by", number))
	if out := second.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	say("q")
	for range lines { // until it has ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
}
