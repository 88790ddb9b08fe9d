package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestStrangersReaderMissesNothing: the program of docs/nats.md, which knows nothing of assent,
// gets every payload byte for byte and each session's events in the order of their hooks, while
// many sessions work at once and the broker is killed again and again. Events that waited in
// the spool are among them. Later readers get the same from the start.
func TestStrangersReaderMissesNothing(t *testing.T) {
	t.Parallel()
	const agents, hooks, kills = 12, 25, 6
	program := buildDocProgram(t)
	d := rig.Serve(t)
	coop := stranger(t, program, d.NATSInfo(), "coop-1")
	work := runSessions(t, d, agents, hooks)
	for i := range kills {
		work.ended((i + 1) * agents * hooks / (kills + 1))
		d.Kill()
		if i%2 == 0 { // while nobody is there events are spooled for sure
			work.ended((i+1)*agents*hooks/(kills+1) + agents)
		}
		d.Start()
	}
	work.wg.Wait()
	got := parseEvents(t, coop.Await(agents*hooks))
	work.check(got)

	for _, name := range []string{"coop-2", "coop-1-again"} {
		again := parseEvents(t, stranger(t, program, d.NATSInfo(), name).Await(agents*hooks))
		if !slices.Equal(again, got) {
			t.Errorf("%s reads something else from the start", name)
		}
	}
	// The consumer of that name is at its end: a new process gets what is new, and no more.
	coop.Kill()
	next := stranger(t, program, d.NATSInfo(), "coop-1")
	work.hook("one more", 0)
	if e := parseEvents(t, next.Await(1))[0]; e.seq != got[len(got)-1].seq+1 {
		t.Errorf("the next process of that name begins with event %d, want %d", e.seq, got[len(got)-1].seq+1)
	}
	late := 0
	for _, m := range allMessages(t, d, agents*hooks+1) {
		if m.Spooled {
			late++
		}
	}
	t.Logf("%d of %d events came late", late, agents*hooks)
	if late == 0 {
		t.Error("no event was spooled: this has shown too little")
	}
}

// marker is a line of assent events --json that is no payload.
type marker struct {
	Kind   string `json:"assent_marker"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Missed uint64 `json:"missed"`
	Upper  bool   `json:"upper_bound"`
}

// markerOf reads a line; ok is false for payloads.
func markerOf(t *testing.T, line string) (m marker, ok bool) {
	t.Helper()
	if !strings.Contains(line, "assent_marker") {
		return m, false
	}
	rig.Valid(t, "EventsMarker", []byte(line))
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m, true
}

// TestEventsCommandOutlivesBrokers: what assent events prints is every event once, whatever is
// killed, but for one that is announced as a repeat.
func TestEventsCommandOutlivesBrokers(t *testing.T) {
	t.Parallel()
	const agents, hooks, kills = 6, 30, 6
	d := rig.Serve(t)
	onlooker := d.Events(t, "--json")
	rig.Eventually(t, rig.Soon, "the onlooker reads", func() bool { // --all would not show that it goes on
		d.Hook([]byte(`{"hook_event_name":"Hello"}`)).Wait()
		return len(onlooker.All()) > 0
	})
	var lives []*rig.Lines
	live := func() { lives = append(lives, d.Events(t, "--all", "--durable", "coop-1", "--json")) }
	live()
	work := runSessions(t, d, agents, hooks)
	for i := range kills {
		work.ended((i + 1) * agents * hooks / (kills + 1))
		if i%3 == 1 {
			lives[len(lives)-1].Kill()
		}
		d.Kill()
		if i%3 == 2 {
			lives[len(lives)-1].Kill()
		}
		d.Start()
		if i%3 != 0 {
			live()
		}
	}
	work.wg.Wait()
	printed := func(all []string) int {
		seen := map[string]bool{}
		for _, line := range all {
			if strings.Contains(line, `"session_id":"session-`) {
				seen[line] = true
			}
		}
		return len(seen)
	}
	var all []string
	rig.Eventually(t, 3*rig.Soon, "all events", func() bool {
		all = nil
		for _, l := range lives {
			all = append(all, l.All()...)
		}
		return printed(all) >= agents*hooks && printed(onlooker.All()) >= agents*hooks
	})
	check := func(who string, lines []string) (repeats int) {
		seen := map[string]int{}
		announced := false
		for _, line := range lines {
			if m, ok := markerOf(t, line); ok {
				if m.Kind != "repeat" {
					t.Errorf("%s: %s", who, line)
				}
				announced = true
				repeats++
				continue
			}
			if !strings.Contains(line, "Hello") {
				if seen[line]++; seen[line] > 1 && !announced {
					t.Errorf("%s: printed twice without a word: %s", who, line)
				}
			}
			announced = false
		}
		if len(seen) != agents*hooks {
			t.Errorf("%s: %d events of %d", who, len(seen), agents*hooks)
		}
		return repeats
	}
	if n := check("the onlooker", onlooker.All()); n > 0 {
		t.Errorf("the onlooker has %d repeats", n)
	}
	t.Logf("%d lives of the durable reader, %d repeats announced", len(lives), check("the durable reader", all))
	if !strings.Contains(onlooker.Errs.Tail(10_000), "waiting for the event stream") {
		t.Error("the onlooker never said that the broker was away")
	}

	// One reader for a name.
	ctx, cancel := context.WithTimeout(t.Context(), rig.Soon)
	defer cancel()
	second := exec.CommandContext(ctx, rig.Program("assent"), "events", "--state-dir", d.State, "--durable", "coop-1")
	out, err := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(out), "another reader") {
		t.Errorf("a second reader of the same name: code %d, %v, %s", code, err, out)
	}
	// Its place is a file that nobody else reads.
	if readers, err := filepath.Glob(filepath.Join(d.State, "readers", "*")); err != nil || fmt.Sprint(readers) != fmt.Sprint([]string{filepath.Join(d.State, "readers", "coop-1")}) {
		t.Errorf("readers: %v, %v", readers, err)
	}
}
