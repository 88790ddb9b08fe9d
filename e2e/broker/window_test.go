package broker

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
)

// windowOf waits until the public stream has its newest event and returns its state.
func windowOf(t *testing.T, d *rig.Daemon, last uint64) jetstream.StreamState {
	t.Helper()
	nc, name := rig.Connect(t, d)
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var state jetstream.StreamState
	rig.Eventually(t, 3*rig.Soon, fmt.Sprintf("event %d in the window", last), func() bool {
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
	d := rig.Serve(t)
	d.Flood(t, before, 10)
	windowOf(t, d, before)
	oneEvent := func(args ...string) []string {
		l := d.Events(t, append([]string{"--count", "1"}, args...)...)
		l.Wait()
		return l.All()
	}
	for _, args := range [][]string{{"--durable", "json", "--json"}, {"--durable", "plain"}, {"--durable", "filtered", "--json", "--filter", "Notification"}} {
		if got := oneEvent(append(args, "--all")...); !strings.Contains(got[len(got)-1], "flood") {
			t.Fatalf("%v: %q", args, got)
		}
	}
	// A reader that does not get to read while the events come.
	program := buildDocProgram(t)
	slow := stranger(t, program, d.NATSInfo(), "slow")
	slow.Await(before)
	slow.Signal(syscall.SIGSTOP)

	d.Flood(t, many, 10)
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
	slow.Signal(syscall.SIGCONT)
	var all, gaps uint64
	var lines []string
	rig.Eventually(t, 3*rig.Soon, "the slow reader's end", func() bool {
		lines = slow.All()
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
	slow.Kill()

	d.Flood(t, large, 4<<20)
	state = windowOf(t, d, before+many+large)
	if state.Bytes > 100_000_000 || state.Bytes < 90_000_000 || state.Msgs >= large {
		t.Errorf("the window has %d events of %d bytes, want at most 100 MB, and that used", state.Msgs, state.Bytes)
	}
	got := oneEvent("--durable", "json", "--json")
	if m, ok := markerOf(t, got[0]); !ok || m.Missed != state.FirstSeq-missed-3 {
		t.Errorf("after the large ones: %+v", m)
	}
}
