package outlet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/internal/agent/claude"
)

// repoWriters are agents at work, each in a repository of its own.
type repoWriters struct {
	t      *testing.T
	d      *rig.Daemon
	roots  []string
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// mostEvents is what all writers write together: compare reads HOOK_EVENTS, which keeps the last
// 10,000.
const mostEvents = 9000

// fewest is how many events a writer tells of at least.
const fewest = 50

func newRepoWriters(t *testing.T, d *rig.Daemon, n int) *repoWriters {
	t.Helper()
	each := mostEvents / n * 10 / 11 // each tenth is written twice
	w := &repoWriters{t: t, d: d}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	t.Cleanup(w.stop)
	for i := range n {
		root := d.Repository(fmt.Sprintf("repo%d", i))
		head := d.Git(root, "rev-parse", "HEAD")
		w.roots = append(w.roots, root)
		w.wg.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			// Where the machine is busy the killing is over before there is enough to show anything.
			for n := 0; n < each && (w.ctx.Err() == nil || n < fewest && !t.Failed()); n++ {
				<-tick.C
				d.Post(root, head, mutation(fmt.Sprintf("s%d", i), n))
				if n%10 == 0 { // told twice, as two hooks of one call would
					d.Post(root, head, mutation(fmt.Sprintf("s%d", i), n))
				}
			}
		})
	}
	return w
}

func (w *repoWriters) stop() {
	w.cancel()
	w.wg.Wait()
}

// compare waits until the ledgers hold what the stream holds, and sees that each holds it once.
func (w *repoWriters) compare() {
	t := w.t
	t.Helper()
	want := map[string][]string{}
	seen := map[string]bool{}
	for _, e := range w.d.Streamed() {
		m, ok, err := claude.MutationOf(claude.DefaultMutationTools())(e)
		if err != nil || !ok {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		if !seen[m.EventID] {
			seen[m.EventID] = true
			want[m.Repo.GitRoot] = append(want[m.Repo.GitRoot], m.EventID)
		}
	}
	total := 0
	for _, root := range w.roots {
		var got []string
		rig.Eventually(t, 3*rig.Soon, root+" has all", func() bool {
			got = nil
			for _, r := range w.d.LedgerOrNone(root) {
				got = append(got, r.Event)
			}
			return len(got) >= len(want[root])
		})
		slices.Sort(got)
		slices.Sort(want[root])
		if !slices.Equal(got, want[root]) {
			t.Errorf("%s: %d rows, the stream has %d", root, len(got), len(want[root]))
		}
		total += len(got)
	}
	t.Logf("%d events, all in the ledgers", total)
	if total < 100 {
		t.Error("too few to show anything")
	}
}
