package stream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// childEnv holds the state directory for a child process of this test binary.
const childEnv = "ASSENT_STREAM_TEST_CHILD"

// appendUntilKilled is the child: it writes records and events from several goroutines and
// prints each when it is acknowledged.
func appendUntilKilled() {
	s, err := Open(context.Background(), Config{Dir: os.Getenv(childEnv)})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				id := uuid.NewString()
				raw := fmt.Appendf(nil, `{"tool_input":{"id":%q}}`, id)
				a := hook.Record{ID: uuid.NewString(), RequestID: id, Step: hook.StepAsked, Request: &hook.Request{ID: id, Raw: raw, ToolInput: raw[14 : len(raw)-1]}}
				after, err := again(func() (uint64, error) { return s.Append(context.Background(), a, 0) })
				if err != nil {
					say("error %v", err)
					return
				}
				say("record %d %s %s", after, id, a.ID)
				d := decided(id)
				seq, err := again(func() (uint64, error) { return s.Append(context.Background(), d, after) })
				if err != nil {
					say("error %v", err)
					return
				}
				say("record %d %s %s", seq, id, d.ID)
			}
		})
		wg.Go(func() {
			for {
				e := hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: []byte("{}")}
				seq, err := again(func() (uint64, error) { return s.Publish(context.Background(), e) })
				if err != nil {
					say("error %v", err)
					return
				}
				say("event %d - %s", seq, e.ID)
			}
		})
	}
	wg.Wait()
}

// TestKillNine kills a writing process again and again: whatever was acknowledged is there
// afterwards, once, unchanged, and nothing else but what may have been on its way.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := map[string]string{} // "record <id>" → "<seq> <request>"
	for round := range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		// Also while it starts, and with the first writes.
		until := []int{-1, rand.IntN(5), rand.IntN(600)}[round%3]
		if until < 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		for n := 0; lines.Scan(); n++ {
			f := strings.Fields(lines.Text())
			if f[0] == "error" {
				t.Errorf("child: %s", lines.Text())
				break
			}
			acked[f[0]+" "+f[3]] = f[1] + " " + f[2]
			if n == until {
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed

		s, err := Open(t.Context(), Config{Dir: dir})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		missing := map[string]string{}
		for k, v := range acked {
			missing[k] = v
		}
		see := func(key, place string) {
			if want, ok := missing[key]; ok && want != place {
				t.Errorf("round %d: %s is at %s, was acknowledged at %s", round, key, place, want)
			} else if _, twice := acked[key]; twice && !ok {
				t.Errorf("round %d: %s is there twice", round, key)
			}
			delete(missing, key)
		}
		ctx, cancel := context.WithCancel(t.Context())
		last := uint64(0)
		_ = s.Tail(ctx, 0, func(r hook.Record) {
			if r.Seq <= last {
				t.Errorf("sequence %d after %d", r.Seq, last)
			}
			last = r.Seq
			see("record "+r.ID, fmt.Sprintf("%d %s", r.Seq, r.RequestID))
			if r.Request != nil && (!bytes.Contains(r.Request.Raw, []byte(r.RequestID)) || len(r.Request.ToolInput) == 0) {
				t.Errorf("record %d has another payload: %q", r.Seq, r.Request.Raw)
			}
		}, cancel)
		if n, err := s.LastEventSeq(t.Context()); err != nil {
			t.Error(err)
		} else if n > 0 {
			for _, e := range collect(t, s, 1, int(n)) {
				see("event "+e.ID, fmt.Sprintf("%d -", e.Seq))
			}
		}
		for k, v := range missing {
			t.Errorf("round %d: lost %s, acknowledged at %s", round, k, v)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(acked) == 0 {
		t.Error("the child wrote nothing")
	}
	t.Logf("%d acknowledged", len(acked))
}
