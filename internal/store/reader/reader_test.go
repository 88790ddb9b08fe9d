package reader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

// readFrom reads until n events were read and returns what was handed out, markers and event
// types with their sequence, in order.
func readFrom(t *testing.T, s *source, opt Options, n int) []string {
	t.Helper()
	var got []string
	opt.Count = n
	opt.Marker = func(m Marker) error {
		got = append(got, fmt.Sprintf("%s %d-%d %d %v", m.Kind, m.First, m.Last, m.Missed, m.UpperBound))
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := Read(ctx, s.info, opt, func(e hook.Event) error {
		got = append(got, fmt.Sprintf("%s %d", e.Type, e.Seq))
		return nil
	})
	if err != nil {
		t.Fatalf("after %q: %v", got, err)
	}
	return got
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

func TestRead(t *testing.T) {
	s := open(t, "")
	s.publish(t, "Stop", "PreToolUse", "Stop", "Notification", "Stop")
	all := []string{"Stop 1", "PreToolUse 2", "Stop 3", "Notification 4", "Stop 5"}
	cursors := filepath.Join(t.TempDir(), "readers")
	for _, tt := range []struct {
		name string
		opt  Options
		want []string
	}{
		{"all", Options{All: true}, all},
		{"one type", Options{All: true, Filter: "Stop"}, []string{all[0], all[2], all[4]}},
		{"since", Options{Since: time.Now().Add(-time.Hour)}, all},
		{"durable, begin", Options{All: true, Durable: "coop-1", CursorDir: cursors}, all[:2]},
		{"durable, go on", Options{Durable: "coop-1", CursorDir: cursors}, all[2:3]},
		{"durable, another filter", Options{Durable: "coop-1", CursorDir: cursors, Filter: "Stop"}, all[4:]},
		{"durable of one's own", Options{All: true, Durable: "coop-2", CursorDir: cursors}, all},
		{"durable that remembers nothing", Options{All: true, Durable: "coop-3"}, all[:3]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "events", readFrom(t, s, tt.opt, len(tt.want)), tt.want)
		})
	}
	stop := errors.New("stop")
	if err := Read(t.Context(), s.info, Options{All: true}, func(hook.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("fn's error: %v", err)
	}
}

func TestReadFailsAtTheStart(t *testing.T) {
	s := open(t, "")
	nothing := func(hook.Event) error { return nil }
	away := func() (stream.NATSInfo, error) { return stream.NATSInfo{URL: "nats://reader:geheim@127.0.0.1:1"}, nil }
	if err := Read(t.Context(), away, Options{}, nothing); !errors.Is(err, ErrNoServer) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("no server: %v", err)
	}
	guess := func() (stream.NATSInfo, error) { i := s.Info(); i.Token = "guess"; return i, nil }
	if err := Read(t.Context(), guess, Options{}, nothing); !errors.Is(err, ErrToken) {
		t.Errorf("a wrong token: %v", err)
	}
	none := errors.New("no file")
	if err := Read(t.Context(), func() (stream.NATSInfo, error) { return stream.NATSInfo{}, none }, Options{}, nothing); !errors.Is(err, none) {
		t.Errorf("no info: %v", err)
	}
}

func TestWithoutPassword(t *testing.T) {
	for in, want := range map[string]string{
		"nats://127.0.0.1:4222":                        "nats://127.0.0.1:4222",
		"nats://u:geheim@h:1,tls://geheim@h:2":         "nats://h:1,tls://h:2",
		"nats://u:geheim@h:1, nats://u:geheim@h:2/x?y": "nats://h:1,nats://h:2",
		"geheim":                  "…",
		"nats://u:geheim@h:port":  "…",
		"u:geheim@h:1":            "…",
		"nats://u:ge\x7fheim@h:1": "…",
	} {
		if got := withoutPassword(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// What eviction took before a reader came to it is said where it is missing, with its number.
func TestReadSaysWhatIsMissing(t *testing.T) {
	s := openExternal(t)
	s.publish(t, "Stop", "Stop", "PreToolUse", "Stop", "PreToolUse", "Stop", "Stop", "Stop")
	plain := Options{All: true, Durable: "plain", CursorDir: t.TempDir()}
	filtered := Options{All: true, Durable: "filtered", CursorDir: t.TempDir(), Filter: "Stop"}
	forgetful := Options{All: true, Durable: "forgetful"}
	equal(t, "first two", readFrom(t, s, plain, 2), []string{"Stop 1", "Stop 2"})
	equal(t, "first two, filtered", readFrom(t, s, filtered, 2), []string{"Stop 1", "Stop 2"})
	equal(t, "first two, without a cursor", readFrom(t, s, forgetful, 2), []string{"Stop 1", "Stop 2"})
	s.evict(t, 7)
	equal(t, "after the gap", readFrom(t, s, plain, 2), []string{"gap 3-6 4 false", "Stop 7", "Stop 8"})
	equal(t, "after the gap, filtered", readFrom(t, s, filtered, 2), []string{"gap 3-6 4 true", "Stop 7", "Stop 8"})
	equal(t, "after the gap, without a cursor", readFrom(t, s, forgetful, 2), []string{"gap 3-6 4 false", "Stop 7", "Stop 8"})
	equal(t, "all is what is there", readFrom(t, s, Options{All: true}, 2), []string{"Stop 7", "Stop 8"})

	// Not only evicted at the front: removed in the middle.
	s.publish(t, "Stop", "Stop", "Stop")
	if err := s.window(t).DeleteMsg(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	equal(t, "a hole", readFrom(t, s, plain, 2), []string{"Stop 9", "gap 10-10 1 false", "Stop 11"})
	equal(t, "a hole, from the start", readFrom(t, s, Options{All: true}, 4),
		[]string{"Stop 7", "Stop 8", "Stop 9", "gap 10-10 1 false", "Stop 11"})
}

// A reader that ended between getting an event and acknowledging it gets it again, and is told.
func TestReadSaysWhatMayComeTwice(t *testing.T) {
	s := openExternal(t)
	s.publish(t, "Stop", "PreToolUse", "Stop")
	opt := Options{All: true, Durable: "d", CursorDir: t.TempDir(), ackWait: 100 * time.Millisecond}
	var got []string
	die := errors.New("the reader's end")
	err := Read(t.Context(), s.info, opt, func(e hook.Event) error {
		if got = append(got, e.Type); len(got) == 2 {
			return die
		}
		return nil
	})
	if !errors.Is(err, die) {
		t.Fatal(err)
	}
	equal(t, "the next life", readFrom(t, s, opt, 2), []string{"repeat 2-2 0 false", "PreToolUse 2", "Stop 3"})

	// On its way to a reader when it was evicted: nobody can know whether it was read.
	s.publish(t, "Stop", "Stop", "Stop")
	if err := Read(t.Context(), s.info, opt, func(hook.Event) error { return die }); !errors.Is(err, die) {
		t.Fatal(err)
	}
	s.evict(t, 6)
	equal(t, "after an eviction", readFrom(t, s, opt, 1), []string{"gap 4-5 2 false", "Stop 6"})
}

// The server may have written its cursor down before the last acknowledgements: the reader
// knows better, and nothing is said.
func TestReadKnowsItsCursorBetter(t *testing.T) {
	s := open(t, "")
	s.publish(t, "Stop", "Stop", "Stop")
	opt := Options{All: true, Durable: "d", CursorDir: t.TempDir()}
	equal(t, "one event", readFrom(t, s, opt, 1), []string{"Stop 1"})
	c, err := openCursor(opt.CursorDir, "d")
	if err != nil {
		t.Fatal(err)
	}
	if c.tally != (tally{1, 1}) {
		t.Errorf("the cursor is %v", c.tally)
	}
	if err := errors.Join(c.put(tally{2, 2}), c.close()); err != nil { // as if 2 was printed, and the server lost that
		t.Fatal(err)
	}
	equal(t, "the next event", readFrom(t, s, opt, 1), []string{"Stop 3"})

	// A consumer that was made anew has nothing to do with the old one's cursor.
	if err := RemoveDurable(t.Context(), s.Info(), opt.CursorDir, "d"); err != nil {
		t.Fatal(err)
	}
	equal(t, "made anew", readFrom(t, s, opt, 2), []string{"Stop 1", "Stop 2"})
	if err := os.WriteFile(filepath.Join(opt.CursorDir, "d"), []byte("what is this"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "with a damaged file", readFrom(t, s, opt, 1), []string{"Stop 3"})
	if err := RemoveDurable(t.Context(), s.Info(), opt.CursorDir, "nobody"); !errors.Is(err, ErrNoDurable) {
		t.Errorf("remove what is not there: %v", err)
	}
}

// running is a Read in the background.
type running struct {
	got chan string // events and markers
	log *testLog
	end func() error
}

func readInBackground(t *testing.T, info func() (stream.NATSInfo, error), opt Options) *running {
	t.Helper()
	r := &running{got: make(chan string, 10_000), log: &testLog{}}
	r.log.show(t)
	opt.Logf = r.log.Logf
	opt.Marker = func(m Marker) error { r.got <- m.Kind; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Read(ctx, info, opt, func(e hook.Event) error { r.got <- fmt.Sprintf("%s %d", e.Type, e.Seq); return nil })
	}()
	r.end = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = r.end() })
	return r
}

func (r *running) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-r.got:
			if got != w {
				t.Fatalf("got %q, want %q", got, w)
			}
		case <-time.After(patience):
			t.Fatalf("nothing came, want %q", w)
		}
	}
}

// Readers of both kinds go on with another broker on the same directory, with another token on
// another port, and neither lose nor repeat anything, nor a gap.
func TestReadAcrossBrokers(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var s *source // guarded by mu
	next := func() *source {
		mu.Lock()
		defer mu.Unlock()
		s = open(t, dir)
		return s
	}
	info := func() (stream.NATSInfo, error) {
		mu.Lock()
		defer mu.Unlock()
		if i := s.Info(); i.URL != "" {
			return i, nil
		}
		return stream.NATSInfo{}, errNoBroker
	}
	b := next()
	b.publish(t, "Old")
	readers := map[string]*running{
		"ephemeral": readInBackground(t, info, Options{All: true}),
		"durable":   readInBackground(t, info, Options{All: true, Durable: "d", CursorDir: t.TempDir()}),
	}
	for _, r := range readers {
		r.expect(t, "Old 1")
	}
	want := uint64(1)
	for range 3 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = next()
		for range 20 {
			b.publish(t, "Stop")
			want++
			for _, r := range readers {
				r.expect(t, fmt.Sprintf("Stop %d", want))
			}
		}
	}
	b.publish(t, "Stop", "Stop", "Stop")
	for _, r := range readers {
		r.expect(t, fmt.Sprintf("Stop %d", want+1), fmt.Sprintf("Stop %d", want+2), fmt.Sprintf("Stop %d", want+3))
		if !r.log.has("waiting for the event stream") || !r.log.has("is back") {
			t.Errorf("the reader did not say that the stream was away: %q", r.log.lines)
		}
		if err := r.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
}

// A stream that is made anew, as when a state directory is lost, is read from its beginning.
func TestReadToAStreamMadeAnew(t *testing.T) {
	var mu sync.Mutex
	s := open(t, "")
	info := func() (stream.NATSInfo, error) {
		mu.Lock()
		defer mu.Unlock()
		return s.Info(), nil
	}
	s.publish(t, "Old", "Old", "Old")
	readers := []*running{
		readInBackground(t, info, Options{All: true}),
		readInBackground(t, info, Options{All: true, Durable: "d", CursorDir: t.TempDir()}),
	}
	for _, r := range readers {
		r.expect(t, "Old 1", "Old 2", "Old 3")
	}
	other := open(t, "")
	other.publish(t, "New", "New")
	mu.Lock()
	old := s
	s = other
	mu.Unlock()
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range readers {
		r.expect(t, "rewind", "New 1", "New 2")
	}
}

func TestReadOneReaderForAName(t *testing.T) {
	s := open(t, "")
	opt := Options{All: true, Durable: "d", CursorDir: t.TempDir()}
	first := readInBackground(t, s.info, opt)
	s.publish(t, "Stop")
	first.expect(t, "Stop 1")
	var busy *BusyError
	nothing := func(hook.Event) error { return nil }
	if err := Read(t.Context(), s.info, opt, nothing); !errors.As(err, &busy) || busy.Name != "d" {
		t.Fatalf("the second reader: %v", err)
	}
	if err := RemoveDurable(t.Context(), s.Info(), opt.CursorDir, "d"); !errors.As(err, &busy) {
		t.Fatalf("removed under its reader: %v", err)
	}
	// On another machine nothing keeps it out. They share the events, and are told.
	opt.CursorDir = t.TempDir()
	second := readInBackground(t, s.info, opt)
	var got []string
	for n := 2; len(got) < 40; n++ {
		s.publish(t, "Stop")
		select {
		case e := <-first.got:
			got = append(got, e)
		case e := <-second.got:
			got = append(got, e)
		case <-time.After(patience):
			t.Fatal("neither got the event")
		}
		if want := fmt.Sprintf("Stop %d", n); got[len(got)-1] != want {
			t.Fatalf("got %s, want %s", got[len(got)-1], want)
		}
	}
	if !first.log.has("each event goes to only one of you") && !second.log.has("each event goes to only one of you") {
		t.Errorf("nobody was told: %q, %q", first.log.lines, second.log.lines)
	}
}

// A durable that another program made is not bent to our use.
func TestReadForeignDurable(t *testing.T) {
	s := open(t, "")
	js, old := s.outside(t)
	for name, cfg := range map[string]jetstream.ConsumerConfig{
		"filtered": {FilterSubject: "hooks.Stop", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1},
		"wide":     {AckPolicy: jetstream.AckExplicitPolicy},
		"noacks":   {AckPolicy: jetstream.AckNonePolicy},
	} {
		cfg.Durable = name
		if _, err := js.CreateConsumer(t.Context(), stream.HookEvents, cfg); err != nil {
			t.Fatal(err)
		}
		err := Read(t.Context(), s.info, Options{Durable: name, CursorDir: t.TempDir()}, func(hook.Event) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "another kind of program") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := old.SubscribeSync("hooks.>", nats.Durable("push"), nats.BindStream(stream.HookEvents)); err != nil {
		t.Fatal(err)
	}
	err := Read(t.Context(), s.info, Options{Durable: "push", CursorDir: t.TempDir()}, func(hook.Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "another kind of program") {
		t.Errorf("push: %v", err)
	}
}

// An ephemeral reader leaves nothing behind.
func TestReadLeavesNothing(t *testing.T) {
	s := open(t, "")
	s.publish(t, "Stop")
	readFrom(t, s, Options{All: true}, 1)
	if n := s.window(t).CachedInfo().State.Consumers; n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}
