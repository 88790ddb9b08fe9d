package broker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig"
)

// TestStopHoldsThroughARestart stops everything by command: what waits is denied, and no rule allows
// anything, in the next broker either, until that is lifted.
func TestStopHoldsThroughARestart(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules("version: 1\nrules:\n  - {id: look, action: allow, match: {command: {program: ls, args: [...]}}}\n")
	d.Start()
	if got := d.Hook(rig.Bash("s", "ls")).Wait(); got != rig.Allowed {
		t.Fatalf("the rule: %q", got)
	}
	waits := d.Hook(rig.Bash("s", "make"))
	d.WaitPending(1)
	if said := d.Command("stop", "--all"); !strings.Contains(said, "Denied: 1 request") {
		t.Errorf("stop says %q", said)
	}
	if got := waits.Wait(); !strings.Contains(got, `"behavior":"deny"`) || !strings.Contains(got, "Stopped by owner") {
		t.Errorf("the agent is told %q", got)
	}
	for _, again := range []bool{false, true} {
		if again {
			d.Kill()
			d.Start()
		}
		h := d.Hook(rig.Bash("s", "ls"))
		r := d.WaitPending(1)[0]
		for _, surface := range [][]string{{}, {"pending"}, {"doctor"}, {"health"}} {
			if said := d.Said(surface...); !strings.Contains(strings.ToLower(said), "everything is stopped since") {
				t.Errorf("assent %s says %q", surface, said)
			}
		}
		d.Deny(r, "no")
		h.Wait()
	}
	d.Command("stop", "--lift")
	if got := d.Hook(rig.Bash("s", "ls")).Wait(); got != rig.Allowed {
		t.Errorf("after the lift: %q", got)
	}

	if said := d.Command("pause", "1h"); !strings.Contains(said, "Everything is paused until") {
		t.Errorf("pause says %q", said)
	}
	if got := d.Hook(rig.Bash("s", "make")).Wait(); got != "" {
		t.Errorf("while paused the hook prints %q", got)
	}
	d.Command("pause", "--end")
	h := d.Hook(rig.Bash("s", "make"))
	d.Deny(d.WaitPending(1)[0], "no")
	h.Wait()
}

// TestNoRuleAllowsAfterAStop stops everything while hooks come as fast as they can: no hook that begins
// after the stop has answered is allowed, and neither is any request recorded as allowed after it.
func TestNoRuleAllowsAfterAStop(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules("version: 1\nrules:\n  - {id: look, action: allow, match: {command: {program: ls, args: [...]}}}\n")
	d.Start()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	client := d.SocketClient()
	var hooks sync.WaitGroup
	for range 16 {
		hooks.Go(func() {
			for ctx.Err() == nil {
				_, _, _ = rig.PostHook(ctx, client, rig.Bash("s", "ls"))
			}
		})
	}
	rig.Eventually(t, rig.Soon, "rules answer", func() bool {
		n := 0
		for _, r := range d.All() {
			if r.Outcome == "allowed" {
				n++
			}
		}
		return n > 100
	})
	d.Command("stop", "--all")
	stopped := time.Now()
	d.WaitPending(16)
	end()
	hooks.Wait()
	for _, r := range d.All() {
		if r.Outcome == "allowed" && r.SettledAt.After(stopped) {
			t.Errorf("%s was allowed %s after the stop, by %+v", r.ID, r.SettledAt.Sub(stopped), r.DecidedBy)
		}
	}
}
