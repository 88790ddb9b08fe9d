package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/store/stream"
)

// repoWriters are agents at work, each in a repository of its own.
type repoWriters struct {
	t      *testing.T
	d      *daemon
	roots  []string
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newRepoWriters(t *testing.T, d *daemon, n int) *repoWriters {
	t.Helper()
	w := &repoWriters{t: t, d: d}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	t.Cleanup(w.stop)
	for i := range n {
		root := d.repository(fmt.Sprintf("repo%d", i))
		head := d.git(root, "rev-parse", "HEAD")
		w.roots = append(w.roots, root)
		w.wg.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for n := 0; w.ctx.Err() == nil; n++ {
				<-tick.C
				d.post(root, head, mutation(fmt.Sprintf("s%d", i), n))
				if n%10 == 0 { // told twice, as two hooks of one call would
					d.post(root, head, mutation(fmt.Sprintf("s%d", i), n))
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
	for _, e := range w.d.streamed() {
		m, ok, err := claude.Mutation(e)
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
		eventually(t, 3*soon, root+" has all", func() bool {
			got = nil
			for _, r := range w.d.ledgerOrNone(root) {
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

// post sends an event as a hook in the work tree root would, until the broker has taken it.
func (d *daemon) post(root, head string, body []byte) {
	host, err := os.Hostname()
	if err != nil {
		d.t.Error(err)
		return
	}
	id := uuid.NewString()
	for end := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
		if err != nil {
			d.t.Error(err)
			return
		}
		for name, value := range map[string]string{
			hook.HeaderRequestID: id, hook.HeaderAgent: "claude", hook.HeaderEvent: "PostToolUse", hook.HeaderHost: host,
			hook.HeaderRepoRoot: root, hook.HeaderRepoBranch: "main", hook.HeaderRepoHead: head,
		} {
			req.Header.Set(name, hook.EscapeHeader(value))
		}
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
		}}
		res, err := (&http.Client{Transport: transport, Timeout: soon}).Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if err == nil && res.StatusCode/100 != 5 {
			return
		}
		if time.Now().After(end) {
			d.t.Errorf("the broker does not take an event: %v", err)
			return
		}
	}
}

// streamed is all that the stream holds, up to now.
func (d *daemon) streamed() (list []hook.Event) {
	d.t.Helper()
	end := uuid.NewString()
	d.post("", "", fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"Stop"}`, end))
	info := func() (info stream.NATSInfo, err error) {
		b, err := os.ReadFile(d.natsInfo())
		if err != nil {
			return info, err
		}
		return info, json.Unmarshal(b, &info)
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), 3*soon)
	defer cancel()
	enough := errors.New("enough")
	err := stream.Subscribe(ctx, info, stream.SubscribeOptions{All: true}, func(e hook.Event) error {
		if bytes.Contains(e.Raw, []byte(end)) {
			return enough
		}
		list = append(list, e)
		return nil
	})
	if !errors.Is(err, enough) {
		d.t.Fatal(err)
	}
	return list
}
