package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// events is an event stream in memory. The payload of an event is a mutation as JSON.
type events struct {
	mu     sync.Mutex
	list   []hook.Event // guarded by mu
	oldest uint64       // guarded by mu; what is before it is gone
	made   time.Time
	change chan struct{} // guarded by mu; closed and replaced
}

func newEvents() *events { return &events{oldest: 1, made: time.Now(), change: make(chan struct{})} }

func (s *events) put(t *testing.T, list ...hook.Mutation) {
	t.Helper()
	for _, m := range list {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		s.raw("PostToolUse", raw)
	}
}

func (s *events) raw(typ string, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, hook.Event{Seq: uint64(len(s.list) + 1), Type: typ, Raw: raw})
	close(s.change)
	s.change = make(chan struct{})
}

// forget drops what is before oldest.
func (s *events) forget(oldest uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = oldest
}

func (s *events) bounds(context.Context) (oldest, newest uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldest, uint64(len(s.list)), nil
}

func (s *events) now(context.Context) (follow.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return follow.Stream{Made: s.made, Last: uint64(len(s.list))}, nil
}

func (s *events) follow(ctx context.Context, after follow.Cursor, fn func(hook.Event)) error {
	if !after.Made.Equal(s.made) {
		return follow.ErrAnew
	}
	for from := after.Seq + 1; ; {
		s.mu.Lock()
		from = max(from, s.oldest)
		rest, change := s.list[min(from-1, uint64(len(s.list))):], s.change
		s.mu.Unlock()
		for _, e := range rest {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fn(e)
			from = e.Seq + 1
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-change:
		}
	}
}

func decode(e hook.Event) (m hook.Mutation, ok bool, err error) {
	if e.Type != "PostToolUse" {
		return m, false, nil
	}
	return m, true, json.Unmarshal(e.Raw, &m)
}

// rig is a Follower at work.
type rig struct {
	*Follower
	t    *testing.T
	stop func()
	mu   sync.Mutex
	log  []string // guarded by mu
}

func run(t *testing.T, s *events, path string) *rig {
	r := &rig{t: t}
	r.Follower = NewFollower(Config{Path: path, Events: s.follow, EventsNow: s.now, EventBounds: s.bounds, Mutation: decode, Host: "here", Logf: func(format string, args ...any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, fmt.Sprintf(format, args...))
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// said reports how many lines of the log hold both texts.
func (r *rig) said(one, two string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.log {
		if strings.Contains(l, one) && strings.Contains(l, two) {
			n++
		}
	}
	return n
}

func TestFollow(t *testing.T) {
	root, other := repository(t), repository(t)
	path := filepath.Join(t.TempDir(), "cursor")
	synctest.Test(t, func(t *testing.T) {
		s := newEvents()
		r := run(t, s, path)
		foreign := mutation(root, 3)
		foreign.Host = "there"
		nowhere := mutation("", 4)
		mine := mutation(root, 5)
		mine.Host = "here"
		s.put(t, mutation(root, 1), mutation(other, 2), foreign, nowhere, mine, mutation(root, 1))
		s.raw("Stop", nil)
		s.raw("PostToolUse", []byte(`{"event_id":`))
		s.raw("PostToolUse", []byte(`{"event_id":1}`))
		s.put(t, mutation(root, 6))
		time.Sleep(time.Second)
		want := Stats{Stored: 5, NoRepo: 1, Elsewhere: 1, Unreadable: 2, Seq: 10}
		if got := r.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		r.stop()

		// The next one goes on behind it.
		s.put(t, mutation(other, 7))
		r = run(t, s, path)
		time.Sleep(time.Second)
		if got := r.Stats(); got != (Stats{Stored: 1, Seq: 11}) {
			t.Errorf("%+v", got)
		}
		r.stop()
		// Without its cursor it reads all again.
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		r = run(t, s, path)
		time.Sleep(time.Second)
		r.stop()
		// A stream that was made anew is read from its beginning.
		s = newEvents()
		s.put(t, mutation(other, 8))
		r = run(t, s, path)
		time.Sleep(time.Second)
		if got := r.Stats(); got != (Stats{Stored: 1, Seq: 1}) || r.said("made anew", "") != 1 {
			t.Errorf("%+v %q", got, r.log)
		}
	})
	if got := ids(rows(t, root, Filter{})); !slices.Equal(got, []string{"event-repo-1", "event-repo-5", "event-repo-6"}) {
		t.Errorf("%v", got)
	}
	if got := ids(rows(t, other, Filter{})); !slices.Equal(got, []string{"event-repo-2", "event-repo-7", "event-repo-8"}) {
		t.Errorf("%v", got)
	}
}

// A ledger that cannot be written misses nothing, and holds up nobody.
func TestHeld(t *testing.T) {
	good, bad := repository(t), repository(t)
	add(t, bad, mutation(bad, 0))
	path := filepath.Join(t.TempDir(), "cursor")
	aside := bad + ".away"
	spoil := func() {
		t.Helper()
		if err := os.Rename(bad, aside); err != nil {
			t.Fatal(err)
		}
	}
	fix := func() {
		t.Helper()
		if err := os.Rename(aside, bad); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newEvents()
		spoil()
		r := run(t, s, path)
		n := 1
		more := func(k int) {
			for range k {
				s.put(t, mutation(bad, n), mutation(good, n))
				n++
			}
			time.Sleep(time.Second)
		}
		more(1000)
		more(10)
		if got, want := r.Stats(), (Stats{Stored: 1010, Failed: 1010, Held: 1, Seq: 2020}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if r.said(Path(bad), ErrGone.Error()) != 1 {
			t.Errorf("log: %q", r.log)
		}
		// It stays so over a restart.
		r.stop()
		r = run(t, s, path)
		more(5)
		if got := r.Stats(); got.Held != 1 || got.Failed != 5 {
			t.Errorf("%+v", got)
		}
		fix()
		time.Sleep(2 * retryEvery)
		if got := r.Stats(); got.Held != 0 || r.said(Path(bad), "has what it missed") != 1 {
			t.Errorf("%+v, log %q", got, r.log)
		}
		more(5)
		// Fixed while nobody ran.
		spoil()
		more(5)
		r.stop()
		fix()
		r = run(t, s, path)
		time.Sleep(time.Second)
		if got := r.Stats(); got.Held != 0 {
			t.Errorf("%+v", got)
		}
		more(5)

		// What the stream has no more is lost, and is said to be.
		spoil()
		more(3)
		s.forget(uint64(2*(n-1)) + 1)
		time.Sleep(2 * retryEvery)
		if got := r.Stats(); got.Held != 0 || got.Lost != 1 || r.said(Path(bad), "for good") != 1 {
			t.Errorf("%+v, log %q", got, r.log)
		}
		fix()
		more(1)
		r.stop()
		for _, root := range []string{good, bad} {
			var want []string
			for k := range n {
				if root == bad && (k < n-4 || k == n-1) || root == good && k > 0 {
					want = append(want, mutation(root, k).EventID)
				}
			}
			if got := ids(rows(t, root, Filter{})); !slices.Equal(got, want) {
				t.Errorf("%s has %d rows, want %d", root, len(got), len(want))
			}
		}
	})
}

// More can come while what was missed is read again.
func TestSettle(t *testing.T) {
	c := cursor{}
	if c.hold("r", errors.New("x")) != "" || !c.miss("r", 5) || !c.miss("r", 9) || c.miss("other", 6) {
		t.Fatalf("%+v", c)
	}
	if c.settle("r", 7) || c.Held["r"].From != 8 || c.Held["r"].Last != 9 {
		t.Errorf("%+v", c)
	}
	if !c.settle("r", 9) || c.settle("r", 9) || len(c.Held) != 0 {
		t.Errorf("%+v", c)
	}
	for i := range maxHeld + 5 {
		if dropped := c.hold(fmt.Sprint(i), errors.New("x")); (dropped != "") != (i >= maxHeld) {
			t.Errorf("%d: dropped %q", i, dropped)
		}
	}
}

// While the cursor cannot be saved the follower tries again; it does not end.
func TestPlaceCannotBeKept(t *testing.T) {
	root := repository(t)
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		s := newEvents()
		r := run(t, s, filepath.Join(dir, "cursor"))
		s.put(t, mutation(root, 1))
		time.Sleep(10 * time.Second)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s.put(t, mutation(root, 2))
		time.Sleep(time.Minute)
		if r.said("trying again", dir) != 1 || r.Stats().Seq != 2 {
			t.Errorf("%+v, log %q", r.Stats(), r.log)
		}
	})
	if got := rows(t, root, Filter{}); len(got) != 2 {
		t.Errorf("%v", ids(got))
	}
}

func TestReadOnly(t *testing.T) {
	root := repository(t)
	add(t, root, mutation(root, 1))
	readOnly(t, root)
	failed := Store(t.Context(), []hook.Mutation{mutation(root, 2)})
	if err := failed[root]; err == nil || !strings.Contains(err.Error(), Path(root)) {
		t.Errorf("stored: %v", err)
	}
	if got := rows(t, root, Filter{}); len(got) != 1 {
		t.Errorf("%v", ids(got))
	}
}

// A writer that was killed leaves a journal.
func TestQueryAfterAKill(t *testing.T) {
	root := repository(t)
	add(t, root, mutation(root, 1))
	l, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	// A copy of a file in the middle of a transaction is what a kill leaves.
	if _, err := l.db.Exec("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for n := range 2000 {
		if _, err := l.db.Exec(`INSERT INTO mutations (event_type, hook_type, tool_name, agent_id, branch, head_sha, raw_payload, event_timestamp, session_id, event_id) VALUES ('','','','','','','','','',?)`, n); err != nil {
			t.Fatal(err)
		}
	}
	copies := map[string][]byte{}
	for _, end := range []string{"", "-journal"} {
		b, err := os.ReadFile(Path(root) + end)
		if err != nil {
			t.Fatal(err)
		}
		copies[end] = b
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for end, b := range copies {
		if err := os.WriteFile(Path(root)+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(rows(t, root, Filter{})); !slices.Equal(got, []string{"event-repo-1"}) {
		t.Errorf("%d rows", len(got))
	}
}

// On a full disk a ledger opens and takes nothing. The stream may be large: it is not read on.
func TestCatchUpStopsWithoutALedger(t *testing.T) {
	root := repository(t)
	add(t, root, mutation(root, 0))
	s := newEvents()
	for n := range 4 * batchItems {
		s.put(t, mutation(root, n+1))
	}
	read := 0
	f := NewFollower(Config{Events: s.follow, EventsNow: s.now, EventBounds: s.bounds, Host: "here", Mutation: func(e hook.Event) (hook.Mutation, bool, error) {
		if read++; read == 1 { // it could be opened, and is gone now
			if err := os.Rename(root, root+".away"); err != nil {
				t.Error(err)
			}
		}
		return decode(e)
	}})
	f.catchUp(t.Context(), map[string]held{root: {From: 1, Last: 4 * batchItems}}, s.made)
	if read != batchItems {
		t.Errorf("read %d events, want %d", read, batchItems)
	}
}
