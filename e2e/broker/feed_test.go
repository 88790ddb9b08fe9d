package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assent/e2e/rig"
)

// TestManyFollowersOfAFeed: 200 WebSockets follow one feed while it grows; each gets all of it,
// once and in order, and so does one that comes late or resumes.
func TestManyFollowersOfAFeed(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	client := d.SocketClient()
	const many, events = 200, 600
	followers := make([]*rig.Follower, many)
	var wg sync.WaitGroup
	var again atomic.Int32
	read := func(i int, f *rig.Follower, pos uint64) {
		wg.Go(func() {
			err := f.Until(pos)
			for ; errors.Unwrap(err) != nil; err = f.Until(pos) { // the connection's: it was taken for slow
				again.Add(1)
				f.Conn = d.FollowFeed("s", f.Last).Conn
			}
			if err != nil {
				t.Errorf("follower %d: %v", i, err)
			}
		})
	}
	for i := range followers {
		followers[i] = d.FollowFeed("s", 0)
		read(i, followers[i], events) // from now on: one that reads nothing for long is taken for dead
	}
	d.Notify(client, "s", 0, events/2)
	late := d.FollowFeed("s", 0)
	read(many, late, events)
	d.Notify(client, "s", events/2, events/2)
	rig.Eventually(t, 2*rig.Soon, "all is in the feed", func() bool { return len(d.ReadFeed("s")) >= events })
	whole := d.WholeFeed("s")
	wg.Wait()
	last := rig.Number(t, whole[len(whole)-1], "pos")
	if last < events {
		t.Fatalf("%d events in the feed, %d were sent", last, events)
	}
	resumed := d.FollowFeed("s", last-10)
	for i, f := range append(followers, late, resumed) {
		read(i, f, last)
	}
	wg.Wait()
	_, body, err := d.Try("GET", "/metrics", nil)
	// On a machine that is held up for many seconds some pass for slow.
	if n := again.Load(); err != nil || n > many/10 || n == 0 && !strings.Contains(string(body), "assent_websockets_dropped_total 0") {
		t.Errorf("%d followers were dropped: %v", n, err)
	}
}

// TestFeedThroughDamageAndKills: what was acknowledged is in the feed, whatever happens to the
// broker; a damaged history.db is made anew with the same feed.
func TestFeedThroughDamageAndKills(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	d.Notify(d.SocketClient(), "s", 0, 20)
	before := d.WholeFeed("s")
	d.Kill()
	d.Start()
	d.Notify(d.SocketClient(), "s", 20, 20)
	d.Kill()
	path := filepath.Join(d.State, "history.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(b); i += 97 {
		b[i] ^= 0x5a
	}
	for _, name := range []string{path + "-wal", path + "-shm"} {
		_ = os.Remove(name)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Start()
	var after []json.RawMessage
	rig.Eventually(t, rig.Soon, "the feed again", func() bool {
		after = d.ReadFeed("s")
		return len(after) >= len(before)+20
	})
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			t.Fatalf("event %d was\n%s\nand is\n%s", i+1, before[i], after[i])
		}
	}
	rig.Eventually(t, rig.Soon, "the command prints the same events", func() bool { // more of them may still come
		out := d.Command("feed", "s", "--json")
		return strings.Count(out, "\n") == len(d.ReadFeed("s"))
	})
}
