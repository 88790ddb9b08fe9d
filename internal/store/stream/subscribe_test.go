package stream

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
)

// subscribeTo reads until n events were read and returns what was handed out, notes and event
// types with their sequence, in order.
func subscribeTo(t *testing.T, s *Stream, opt SubscribeOptions, n int) []string {
	t.Helper()
	var got []string
	opt.Count = n
	opt.Note = func(n Note) error {
		got = append(got, fmt.Sprintf("%s %d-%d %d %v", n.Kind, n.First, n.Last, n.Missed, n.UpperBound))
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := Subscribe(ctx, infoOf(s), opt, func(e hook.Event) error {
		got = append(got, fmt.Sprintf("%s %d", e.Type, e.Seq))
		return nil
	})
	if err != nil {
		t.Fatalf("after %q: %v", got, err)
	}
	return got
}

func infoOf(s *Stream) func() (NATSInfo, error) {
	return func() (NATSInfo, error) { return s.Info(), nil }
}

// publishTypes publishes events of these types and waits until the mirror has them.
func publishTypes(t *testing.T, s *Stream, types ...string) {
	t.Helper()
	var last uint64
	for _, typ := range types {
		e := fullEvent()
		e.Type = typ
		last = mustPublish(t, s, e)
	}
	awaitMirror(t, s, last)
}

func awaitMirror(t *testing.T, s *Stream, last uint64) {
	t.Helper()
	js := mirrorOf(t, s)
	for {
		st, err := js.Stream(t.Context(), HookEvents)
		if err != nil {
			t.Fatal(err)
		}
		if st.CachedInfo().State.LastSeq >= last {
			return
		}
	}
}

// mirrorOf is JetStream in the readers' account, with all rights.
func mirrorOf(t *testing.T, s *Stream) jetstream.JetStream {
	t.Helper()
	js, done, err := s.events.mirrorJS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return js
}

// evict takes the oldest events out of the mirror, so that it begins at first. Younger ones
// would do the same, ten thousand of them.
func evict(t *testing.T, s *Stream, first uint64) {
	t.Helper()
	st, err := mirrorOf(t, s).Stream(t.Context(), HookEvents)
	if err != nil {
		t.Fatal(err)
	}
	info := st.CachedInfo()
	cfg := info.Config
	cfg.MaxMsgs = int64(info.State.LastSeq - first + 1)
	if _, err := mirrorOf(t, s).UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.MaxMsgs = 10_000
	if _, err := mirrorOf(t, s).UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

func TestSubscribe(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, s, "Stop", "PreToolUse", "Stop", "Notification", "Stop")
	all := []string{"Stop 1", "PreToolUse 2", "Stop 3", "Notification 4", "Stop 5"}
	places := filepath.Join(t.TempDir(), "readers")
	for _, tt := range []struct {
		name string
		opt  SubscribeOptions
		want []string
	}{
		{"all", SubscribeOptions{All: true}, all},
		{"one type", SubscribeOptions{All: true, Filter: "Stop"}, []string{all[0], all[2], all[4]}},
		{"since", SubscribeOptions{Since: time.Now().Add(-time.Hour)}, all},
		{"durable, begin", SubscribeOptions{All: true, Durable: "coop-1", Places: places}, all[:2]},
		{"durable, go on", SubscribeOptions{Durable: "coop-1", Places: places}, all[2:3]},
		{"durable, another filter", SubscribeOptions{Durable: "coop-1", Places: places, Filter: "Stop"}, all[4:]},
		{"durable of one's own", SubscribeOptions{All: true, Durable: "coop-2", Places: places}, all},
		{"durable that remembers nothing", SubscribeOptions{All: true, Durable: "coop-3"}, all[:3]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "events", subscribeTo(t, s, tt.opt, len(tt.want)), tt.want)
		})
	}
	stop := errors.New("stop")
	if err := Subscribe(t.Context(), infoOf(s), SubscribeOptions{All: true}, func(hook.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("fn's error: %v", err)
	}
}

func TestSubscribeFailsAtTheStart(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	nothing := func(hook.Event) error { return nil }
	away := func() (NATSInfo, error) { return NATSInfo{URL: "nats://reader:geheim@127.0.0.1:1"}, nil }
	if err := Subscribe(t.Context(), away, SubscribeOptions{}, nothing); !errors.Is(err, ErrNoServer) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("no server: %v", err)
	}
	guess := func() (NATSInfo, error) { i := s.Info(); i.Token = "guess"; return i, nil }
	if err := Subscribe(t.Context(), guess, SubscribeOptions{}, nothing); !errors.Is(err, ErrToken) {
		t.Errorf("a wrong token: %v", err)
	}
	none := errors.New("no file")
	if err := Subscribe(t.Context(), func() (NATSInfo, error) { return NATSInfo{}, none }, SubscribeOptions{}, nothing); !errors.Is(err, none) {
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

// What eviction took before a reader came to it is said in its place, with its number.
func TestSubscribeSaysWhatIsMissing(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, s, "Stop", "Stop", "PreToolUse", "Stop", "PreToolUse", "Stop", "Stop", "Stop")
	plain := SubscribeOptions{All: true, Durable: "plain", Places: t.TempDir()}
	filtered := SubscribeOptions{All: true, Durable: "filtered", Places: t.TempDir(), Filter: "Stop"}
	forgetful := SubscribeOptions{All: true, Durable: "forgetful"}
	equal(t, "first two", subscribeTo(t, s, plain, 2), []string{"Stop 1", "Stop 2"})
	equal(t, "first two, filtered", subscribeTo(t, s, filtered, 2), []string{"Stop 1", "Stop 2"})
	equal(t, "first two, without a place", subscribeTo(t, s, forgetful, 2), []string{"Stop 1", "Stop 2"})
	evict(t, s, 7)
	equal(t, "after the gap", subscribeTo(t, s, plain, 2), []string{"gap 3-6 4 false", "Stop 7", "Stop 8"})
	equal(t, "after the gap, filtered", subscribeTo(t, s, filtered, 2), []string{"gap 3-6 4 true", "Stop 7", "Stop 8"})
	equal(t, "after the gap, without a place", subscribeTo(t, s, forgetful, 2), []string{"gap 3-6 4 false", "Stop 7", "Stop 8"})
	equal(t, "all is what is there", subscribeTo(t, s, SubscribeOptions{All: true}, 2), []string{"Stop 7", "Stop 8"})

	// Not only evicted at the front: removed in the middle.
	publishTypes(t, s, "Stop", "Stop", "Stop")
	st, err := mirrorOf(t, s).Stream(t.Context(), HookEvents)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.DeleteMsg(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	equal(t, "a hole", subscribeTo(t, s, plain, 2), []string{"Stop 9", "gap 10-10 1 false", "Stop 11"})
	equal(t, "a hole, from the start", subscribeTo(t, s, SubscribeOptions{All: true}, 4),
		[]string{"Stop 7", "Stop 8", "Stop 9", "gap 10-10 1 false", "Stop 11"})
}

// A reader that ended between getting an event and acknowledging it gets it again, and is told.
func TestSubscribeSaysWhatMayComeTwice(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, s, "Stop", "PreToolUse", "Stop")
	opt := SubscribeOptions{All: true, Durable: "d", Places: t.TempDir(), ackWait: 100 * time.Millisecond}
	var got []string
	die := errors.New("the reader's end")
	err := Subscribe(t.Context(), infoOf(s), opt, func(e hook.Event) error {
		if got = append(got, e.Type); len(got) == 2 {
			return die
		}
		return nil
	})
	if !errors.Is(err, die) {
		t.Fatal(err)
	}
	equal(t, "the next life", subscribeTo(t, s, opt, 2), []string{"repeat 2-2 0 false", "PreToolUse 2", "Stop 3"})

	// On its way to a reader when it was evicted: nobody can know whether it was read.
	publishTypes(t, s, "Stop", "Stop", "Stop")
	if err := Subscribe(t.Context(), infoOf(s), opt, func(hook.Event) error { return die }); !errors.Is(err, die) {
		t.Fatal(err)
	}
	evict(t, s, 6)
	equal(t, "after an eviction", subscribeTo(t, s, opt, 1), []string{"gap 4-5 2 false", "Stop 6"})
}

// The server may have written its place down before the last acknowledgements: the reader
// knows better, and nothing is said.
func TestSubscribeKnowsItsPlaceBetter(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, s, "Stop", "Stop", "Stop")
	opt := SubscribeOptions{All: true, Durable: "d", Places: t.TempDir()}
	equal(t, "one event", subscribeTo(t, s, opt, 1), []string{"Stop 1"})
	p, err := openPlace(opt.Places, "d")
	if err != nil {
		t.Fatal(err)
	}
	if p.tally != (tally{1, 1}) {
		t.Errorf("the place is %v", p.tally)
	}
	if err := errors.Join(p.put(tally{2, 2}), p.close()); err != nil { // as if 2 was printed, and the server lost that
		t.Fatal(err)
	}
	equal(t, "the next event", subscribeTo(t, s, opt, 1), []string{"Stop 3"})

	// A consumer that was made anew has nothing to do with the old one's place.
	if err := RemoveDurable(t.Context(), s.Info(), opt.Places, "d"); err != nil {
		t.Fatal(err)
	}
	equal(t, "made anew", subscribeTo(t, s, opt, 2), []string{"Stop 1", "Stop 2"})
	if err := os.WriteFile(filepath.Join(opt.Places, "d"), []byte("what is this"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "with a damaged file", subscribeTo(t, s, opt, 1), []string{"Stop 3"})
	if err := RemoveDurable(t.Context(), s.Info(), opt.Places, "nobody"); !errors.Is(err, ErrNoDurable) {
		t.Errorf("remove what is not there: %v", err)
	}
}

// running is a Subscribe in the background.
type running struct {
	got  chan string // events and notes
	said *testLog
	end  func() error
}

func subscribeInBackground(t *testing.T, info func() (NATSInfo, error), opt SubscribeOptions) *running {
	t.Helper()
	r := &running{got: make(chan string, 10_000), said: &testLog{}}
	r.said.show(t)
	opt.Logf = r.said.Logf
	opt.Note = func(n Note) error { r.got <- n.Kind; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Subscribe(ctx, info, opt, func(e hook.Event) error { r.got <- fmt.Sprintf("%s %d", e.Type, e.Seq); return nil })
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
func TestSubscribeAcrossBrokers(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var s *Stream // guarded by mu
	next := func() *Stream {
		mu.Lock()
		defer mu.Unlock()
		s = open(t, Config{Dir: dir, Listen: "127.0.0.1:0"})
		return s
	}
	info := func() (NATSInfo, error) {
		mu.Lock()
		defer mu.Unlock()
		if i := s.Info(); i.URL != "" {
			return i, nil
		}
		return NATSInfo{}, errors.New("no broker")
	}
	b := next()
	publishTypes(t, b, "Old")
	readers := map[string]*running{
		"ephemeral": subscribeInBackground(t, info, SubscribeOptions{All: true}),
		"durable":   subscribeInBackground(t, info, SubscribeOptions{All: true, Durable: "d", Places: t.TempDir()}),
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
			publishTypes(t, b, "Stop")
			want++
			for _, r := range readers {
				r.expect(t, fmt.Sprintf("Stop %d", want))
			}
		}
	}
	publishTypes(t, b, "Stop", "Stop", "Stop")
	for _, r := range readers {
		r.expect(t, fmt.Sprintf("Stop %d", want+1), fmt.Sprintf("Stop %d", want+2), fmt.Sprintf("Stop %d", want+3))
		if !r.said.has("waiting for the event stream") || !r.said.has("is back") {
			t.Errorf("the reader did not say that the stream was away: %q", r.said.lines)
		}
		if err := r.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
}

// A stream that is made anew, as when a state directory is lost, is read from its beginning.
func TestSubscribeToAStreamMadeAnew(t *testing.T) {
	var mu sync.Mutex
	s := open(t, Config{Listen: "127.0.0.1:0"})
	info := func() (NATSInfo, error) {
		mu.Lock()
		defer mu.Unlock()
		return s.Info(), nil
	}
	publishTypes(t, s, "Old", "Old", "Old")
	readers := []*running{
		subscribeInBackground(t, info, SubscribeOptions{All: true}),
		subscribeInBackground(t, info, SubscribeOptions{All: true, Durable: "d", Places: t.TempDir()}),
	}
	for _, r := range readers {
		r.expect(t, "Old 1", "Old 2", "Old 3")
	}
	other := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, other, "New", "New")
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

func TestSubscribeOneReaderForAName(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	opt := SubscribeOptions{All: true, Durable: "d", Places: t.TempDir()}
	first := subscribeInBackground(t, infoOf(s), opt)
	publishTypes(t, s, "Stop")
	first.expect(t, "Stop 1")
	var busy *BusyError
	nothing := func(hook.Event) error { return nil }
	if err := Subscribe(t.Context(), infoOf(s), opt, nothing); !errors.As(err, &busy) || busy.Name != "d" {
		t.Fatalf("the second reader: %v", err)
	}
	if err := RemoveDurable(t.Context(), s.Info(), opt.Places, "d"); !errors.As(err, &busy) {
		t.Fatalf("removed under its reader: %v", err)
	}
	// On another machine nothing keeps it out. They share the events, and are told.
	opt.Places = t.TempDir()
	second := subscribeInBackground(t, infoOf(s), opt)
	var got []string
	for n := 2; len(got) < 40; n++ {
		publishTypes(t, s, "Stop")
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
	if !first.said.has("each event goes to only one of you") && !second.said.has("each event goes to only one of you") {
		t.Errorf("nobody was told: %q, %q", first.said.lines, second.said.lines)
	}
}

// A durable that another program made is not bent to our use.
func TestSubscribeForeignDurable(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	r := reader(t, s)
	for name, cfg := range map[string]jetstream.ConsumerConfig{
		"filtered": {FilterSubject: "hooks.Stop", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1},
		"wide":     {AckPolicy: jetstream.AckExplicitPolicy},
		"noacks":   {AckPolicy: jetstream.AckNonePolicy},
	} {
		cfg.Durable = name
		if _, err := r.js.CreateConsumer(t.Context(), HookEvents, cfg); err != nil {
			t.Fatal(err)
		}
		err := Subscribe(t.Context(), infoOf(s), SubscribeOptions{Durable: name, Places: t.TempDir()}, func(hook.Event) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "another kind of program") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.old.SubscribeSync("hooks.>", nats.Durable("push"), nats.BindStream(HookEvents)); err != nil {
		t.Fatal(err)
	}
	err := Subscribe(t.Context(), infoOf(s), SubscribeOptions{Durable: "push", Places: t.TempDir()}, func(hook.Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "another kind of program") {
		t.Errorf("push: %v", err)
	}
}

// An ephemeral reader leaves nothing behind.
func TestSubscribeLeavesNothing(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	publishTypes(t, s, "Stop")
	subscribeTo(t, s, SubscribeOptions{All: true}, 1)
	st, err := mirrorOf(t, s).Stream(t.Context(), HookEvents)
	if err != nil {
		t.Fatal(err)
	}
	if n := st.CachedInfo().State.Consumers; n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}
