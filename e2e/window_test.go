package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// flood sends n events of about size bytes through the broker's socket, over a few connections
// that stay: it is about the stream, not about processes.
func (d *daemon) flood(t *testing.T, n, size int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 8,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
		},
	}}
	defer client.CloseIdleConnections()
	filling := strings.Repeat("x", size)
	var wg sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range work {
				body := fmt.Appendf(nil, `{"session_id":"flood","hook_event_name":"Notification","n":%d,"message":%q}`, i, filling)
				// 503 is a busy disk, where a hook would spool.
				id, tick, end := uuid.NewString(), time.NewTicker(5*time.Millisecond), time.Now().Add(3*soon)
				for !d.send(client, id, body) {
					if <-tick.C; time.Now().After(end) {
						t.Errorf("event %d is not taken", i)
						break
					}
				}
				tick.Stop()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// send posts an event as a hook client would and reports whether it is stored.
func (d *daemon) send(client *http.Client, id string, body []byte) bool {
	req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
	if err != nil {
		panic(err) // a bug in the test
	}
	req.Header.Set("Assent-Request-Id", id)
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Body.Close() == nil && res.StatusCode == http.StatusNoContent
}

// windowOf waits until the public stream has its newest event and returns its state.
func windowOf(t *testing.T, d *daemon, last uint64) jetstream.StreamState {
	t.Helper()
	nc, name := connect(t, d)
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var state jetstream.StreamState
	eventually(t, 3*soon, fmt.Sprintf("event %d in the window", last), func() bool {
		st, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		state = st.CachedInfo().State
		return state.LastSeq >= last
	})
	return state
}

// TestWindow: the public stream keeps 10,000 events or 100 MB, and whoever was not there in time
// learns how many events are missing, from assent events and by the program of docs/nats.md.
func TestWindow(t *testing.T) {
	t.Parallel()
	const before, many, large = 5, 10_200, 30
	d := serve(t)
	d.flood(t, before, 10)
	windowOf(t, d, before)
	oneEvent := func(args ...string) []string {
		l := d.events(t, append([]string{"--count", "1"}, args...)...)
		l.wait()
		return l.all()
	}
	for _, args := range [][]string{{"--durable", "json", "--json"}, {"--durable", "plain"}, {"--durable", "filtered", "--json", "--filter", "Notification"}} {
		if got := oneEvent(append(args, "--all")...); !strings.Contains(got[len(got)-1], "flood") {
			t.Fatalf("%v: %q", args, got)
		}
	}
	// A reader that does not get to read while the events come.
	program := buildDocProgram(t)
	slow := stranger(t, program, d.natsInfo(), "slow")
	slow.await(before)
	slow.signal(syscall.SIGSTOP)

	d.flood(t, many, 10)
	state := windowOf(t, d, before+many)
	if state.Msgs != 10_000 || state.FirstSeq != before+many-10_000+1 {
		t.Errorf("the window has %d events from %d on, want 10,000 from %d on", state.Msgs, state.FirstSeq, before+many-10_000+1)
	}
	missed := state.FirstSeq - 2
	for _, tt := range []struct {
		args  []string
		upper bool
	}{{[]string{"--durable", "json", "--json"}, false}, {[]string{"--durable", "filtered", "--json", "--filter", "Notification"}, true}} {
		got := oneEvent(tt.args...)
		if len(got) != 2 {
			t.Fatalf("%v printed %q", tt.args, got)
		}
		want := marker{Kind: "gap", First: 2, Last: missed + 1, Missed: missed, Upper: tt.upper}
		if m, ok := markerOf(t, got[0]); !ok || m != want {
			t.Errorf("%v: %+v, want %+v", tt.args, m, want)
		}
	}
	if got := oneEvent("--durable", "plain"); len(got) != 3 || !strings.HasPrefix(got[0], fmt.Sprintf("*** %d events missing here", missed)) {
		t.Errorf("for a person: %q", got)
	}

	// The server goes on delivering, one for each that was evicted on its way. All that comes out
	// and all that is said to be missing is what there was.
	slow.signal(syscall.SIGCONT)
	var all, gaps uint64
	var lines []string
	eventually(t, 3*soon, "the slow reader's end", func() bool {
		lines = slow.all()
		return strings.HasPrefix(lines[len(lines)-1], fmt.Sprintf("%d ", state.LastSeq))
	})
	for _, line := range lines {
		var n uint64
		if _, err := fmt.Sscanf(line, "gap: %d events are missing", &n); err == nil {
			gaps++
			all += n
		} else if e, err := parseEvent(line); err != nil || e.seq != all+1 {
			t.Fatalf("the program of docs/nats.md counts %d events, and then prints %q, %v", all, line, err)
		} else {
			all++
		}
	}
	if gaps == 0 {
		t.Error("the program of docs/nats.md noticed no gap")
	}
	slow.kill()

	d.flood(t, large, 4<<20)
	state = windowOf(t, d, before+many+large)
	if state.Bytes > 100_000_000 || state.Bytes < 90_000_000 || state.Msgs >= large {
		t.Errorf("the window has %d events of %d bytes, want at most 100 MB, and that used", state.Msgs, state.Bytes)
	}
	got := oneEvent("--durable", "json", "--json")
	if m, ok := markerOf(t, got[0]); !ok || m.Missed != state.FirstSeq-missed-3 {
		t.Errorf("after the large ones: %+v", m)
	}
}
