package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"assent/internal/hook"
)

// follower is one WebSocket on a feed, and how far it has come.
type follower struct {
	conn *websocket.Conn
	last uint64
}

// followFeed opens a WebSocket on a session's feed.
func (d *daemon) followFeed(id string, after uint64) *follower {
	d.t.Helper()
	url, token := d.owner()
	address := fmt.Sprintf("ws%s/v1/ws?feed=%s&after=%d", strings.TrimPrefix(url, "http"), id, after)
	conn, _, err := websocket.DefaultDialer.Dial(address, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return &follower{conn, after}
}

// until reads up to a position; every position has to come once, in order.
func (f *follower) until(pos uint64) error {
	for f.last < pos {
		if err := f.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		_, b, err := f.conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("after position %d: %w", f.last, err)
		}
		var m struct {
			Type   string
			Reset  bool
			Events []struct{ Pos uint64 }
		}
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		if m.Type != "feed" || m.Reset {
			return fmt.Errorf("after position %d: %s", f.last, b)
		}
		for _, e := range m.Events {
			if e.Pos != f.last+1 {
				return fmt.Errorf("position %d comes after %d", e.Pos, f.last)
			}
			f.last = e.Pos
		}
	}
	return nil
}

// notify posts n notifications of a session, as its hooks would, over the socket. Like theirs, one
// that the broker did not take, which may have been held up for seconds, comes again under its id.
func (d *daemon) notify(client *http.Client, session string, from, n int) {
	d.t.Helper()
	for i := from; i < from+n; i++ {
		body := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"Notification","message":"message %d","notification_type":"other"}`, session, i)
		id := uuid.NewString()
		eventually(d.t, soon, fmt.Sprintf("event %d is taken", i), func() bool {
			req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
			if err != nil {
				d.t.Fatal(err)
			}
			req.Header.Set(hook.HeaderAgent, "claude")
			req.Header.Set(hook.HeaderRequestID, id)
			res, err := client.Do(req)
			if err != nil {
				return false
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusServiceUnavailable {
				d.t.Fatalf("event %d: %s", i, res.Status)
			}
			return res.StatusCode == http.StatusNoContent
		})
	}
}

// TestManyFollowersOfAFeed: 200 WebSockets follow one feed while it grows; each gets all of it,
// once and in order, and so does one that comes late or resumes.
func TestManyFollowersOfAFeed(t *testing.T) {
	t.Parallel()
	d := serve(t)
	client := d.socketClient()
	const many, events = 200, 600
	followers := make([]*follower, many)
	var wg sync.WaitGroup
	var again atomic.Int32
	read := func(i int, f *follower, pos uint64) {
		wg.Go(func() {
			err := f.until(pos)
			for ; errors.Unwrap(err) != nil; err = f.until(pos) { // the connection's: it was taken for slow
				again.Add(1)
				f.conn = d.followFeed("s", f.last).conn
			}
			if err != nil {
				t.Errorf("follower %d: %v", i, err)
			}
		})
	}
	for i := range followers {
		followers[i] = d.followFeed("s", 0)
		read(i, followers[i], events) // from now on: one that reads nothing for long is taken for dead
	}
	d.notify(client, "s", 0, events/2)
	late := d.followFeed("s", 0)
	read(many, late, events)
	d.notify(client, "s", events/2, events/2)
	eventually(t, 2*soon, "all is in the feed", func() bool { return len(d.readFeed("s")) >= events })
	whole := d.wholeFeed("s")
	wg.Wait()
	last := number(t, whole[len(whole)-1], "pos")
	if last < events {
		t.Fatalf("%d events in the feed, %d were sent", last, events)
	}
	resumed := d.followFeed("s", last-10)
	for i, f := range append(followers, late, resumed) {
		read(i, f, last)
	}
	wg.Wait()
	_, body, err := d.try("GET", "/metrics", nil)
	// On a machine that is held up for many seconds some pass for slow.
	if n := again.Load(); err != nil || n > many/10 || n == 0 && !strings.Contains(string(body), "assent_websockets_dropped_total 0") {
		t.Errorf("%d followers were dropped: %v", n, err)
	}
}

// TestFeedThroughDamageAndKills: what was acknowledged is in the feed, whatever happens to the
// broker; a damaged history.db is made anew with the same feed.
func TestFeedThroughDamageAndKills(t *testing.T) {
	t.Parallel()
	d := serve(t)
	d.notify(d.socketClient(), "s", 0, 20)
	before := d.wholeFeed("s")
	d.kill()
	d.start()
	d.notify(d.socketClient(), "s", 20, 20)
	d.kill()
	path := filepath.Join(d.state, "history.db")
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
	d.start()
	var after []json.RawMessage
	eventually(t, soon, "the feed again", func() bool {
		after = d.readFeed("s")
		return len(after) >= len(before)+20
	})
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			t.Fatalf("event %d was\n%s\nand is\n%s", i+1, before[i], after[i])
		}
	}
	eventually(t, soon, "the command prints the same events", func() bool { // more of them may still come
		out := d.command("feed", "s", "--json")
		return strings.Count(out, "\n") == len(d.readFeed("s"))
	})
}
