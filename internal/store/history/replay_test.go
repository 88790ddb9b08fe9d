package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// agent plays one session of an agent with everything that can come at odd times.
func (r *rig) agent(rnd *rand.Rand, session string, turns int) {
	tool := func(i int) string {
		return fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"make %s %d"},"tool_use_id":"t%d"`, session, i, i)
	}
	r.event(session, "SessionStart", `"source":"startup"`)
	for i := range turns {
		r.event(session, "UserPromptSubmit", fmt.Sprintf(`"prompt":"do %d things"`, i))
		r.event(session, "PreToolUse", tool(i))
		switch rnd.IntN(5) {
		case 0:
			r.event(session, "PostToolUse", tool(i)+`,"tool_response":{"stdout":"ok"}`)
		case 1, 2: // asked, answered, ran
			id, at := r.request(session, fmt.Sprintf("rm -r %d", i))
			if rnd.IntN(2) == 0 {
				r.event(session, "Notification", `"message":"waits for you"`)
			}
			message := ""
			if rnd.IntN(2) == 0 {
				message = "not now"
			}
			at = r.decide(id, at, message)
			if rnd.IntN(2) == 0 {
				at = r.append(hook.Record{RequestID: id, Step: hook.StepDelivered}, at)
			}
			ran := r.event(session, "PostToolUse", tool(i)+`,"tool_response":null`)
			r.append(hook.Record{RequestID: id, Step: hook.StepConfirmed, EventSeq: ran}, at)
		case 3: // asked, and gone
			id, at := r.request(session, "sleep")
			r.append(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.Withdrawn, Reason: hook.ReasonHangup}, at)
		case 4: // what no agent should send
			r.publish(hook.Event{Type: "PreToolUse", Raw: []byte("no json")})
			r.publish(hook.Event{Type: "Brand.New", Raw: fmt.Appendf(nil, `{"session_id":%q,"x":"\ud800"}`, session)})
			r.publish(hook.Event{Type: "Stop", Spooled: true, Time: time.Now().Add(-time.Hour), Raw: fmt.Appendf(nil, `{"session_id":%q}`, session)})
			r.publish(hook.Event{Type: "Stop", Time: time.Now().Add(48 * time.Hour), Raw: fmt.Appendf(nil, `{"session_id":%q}`, session)})
		}
		r.event(session, "Stop", `"stop_hook_active":false`)
	}
	if rnd.IntN(2) == 0 {
		r.event(session, "SessionEnd", `"reason":"other"`)
	}
}

// run waits until history has taken n more events, or over is closed, which it reports.
func (r *rig) run(n uint64, over <-chan struct{}) bool {
	goal := r.h.committed().event + n
	for {
		r.h.mu.Lock()
		at, changed := r.h.cursor.event, r.h.changed
		r.h.mu.Unlock()
		if at >= goal {
			return false
		}
		select {
		case <-changed:
		case <-over:
			return true
		}
	}
}

// What history stores while the streams are written is, byte for byte, what it makes of them
// afterwards: with the same ids, in the same order, however often it was stopped meanwhile.
func TestReplayIsLive(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := newRig(t)
	// Streams come to history as over a slow network, each at its own pace.
	events, records := r.cfg.Events, r.cfg.Records
	lag := func(rnd *rand.Rand) { <-time.After(time.Duration(rnd.IntN(3000)) * time.Microsecond) }
	var live atomic.Bool
	live.Store(true)
	r.cfg.Events = func(ctx context.Context, from follow.Cursor, fn func(hook.Event)) error {
		rnd := rand.New(rand.NewPCG(seed, from.Seq))
		return events(ctx, from, func(e hook.Event) {
			if live.Load() && rnd.IntN(8) == 0 {
				lag(rnd)
			}
			fn(e)
		})
	}
	r.cfg.Records = func(ctx context.Context, from follow.Cursor, fn func(hook.Record)) error {
		rnd := rand.New(rand.NewPCG(from.Seq, seed))
		return records(ctx, from, func(rec hook.Record) {
			if live.Load() && rnd.IntN(2) == 0 {
				lag(rnd)
			}
			fn(rec)
		})
	}
	r.start()
	const agents, turns = 6, 12
	var wg sync.WaitGroup
	working := make(chan struct{})
	for i := range agents {
		wg.Go(func() {
			// Two of them write to one session.
			r.agent(rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprintf("session-%d", i/2*2), turns)
		})
	}
	go func() { wg.Wait(); close(working) }()
	for restarts, over := 0, false; !over; restarts++ {
		select {
		case <-working:
			over = true
		default:
			over = r.run(40, working)
			r.halt()
			r.start()
		}
	}
	r.catchUp()
	r.halt()
	live.Store(false)
	want := r.dump()
	if len(want) < agents*turns*3 {
		t.Fatalf("only %d rows", len(want))
	}
	r.removeFile()
	r.start()
	r.catchUp()
	r.halt()
	sameRows(t, r.dump(), want)
}

// Decisions go first, and history goes on all the same.
func TestMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		for name, c := range map[string]struct {
			busy func() bool
			want time.Duration
		}{
			"quiet":       {func() bool { return false }, 0},
			"always busy": {func() bool { return true }, busyMost},
			"for a while": {func() bool { looks++; return looks <= 10 }, (9 + busyLooks) * busyLook},
		} {
			h := &History{cfg: Config{Busy: c.busy}}
			begun := time.Now()
			h.makeRoom(t.Context())
			if waited := time.Since(begun); waited != c.want {
				t.Errorf("%s: waited %v, want %v", name, waited, c.want)
			}
		}
	})
}
