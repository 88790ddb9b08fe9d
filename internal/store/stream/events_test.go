package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

func fullEvent() hook.Event {
	return hook.Event{
		ID: uuid.NewString(), Type: "PreToolUse", Agent: "claude", Attempt: 2, Spooled: true, Emitted: true, Tool: "write", Submitter: "user:1000@h1",
		Time: time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC),
		Origin: hook.Origin{Host: "höst\r\nX: y", PID: 17, AgentLabel: "a b%", ProjectDir: "/p q", Repo: hook.Repo{
			Root: "/p", Branch: "main", Head: "00ff", Remote: "https://x/y.git"}},
		Raw: []byte("{ \"a\" : \"\\u0000\xff\" }\n\n"),
	}
}

// collect reads n events from sequence from on.
func collect(t testing.TB, s *Stream, from uint64, n int) []hook.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var events []hook.Event
	err := s.Events(ctx, from, func(e hook.Event) {
		if events = append(events, e); len(events) == n {
			cancel()
		}
	})
	if len(events) < n {
		t.Fatalf("%d events of %d: %v", len(events), n, err)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Events returned %v", err)
	}
	return events
}

func mustPublish(t testing.TB, s *Stream, e hook.Event) uint64 {
	t.Helper()
	seq, err := again(func() (uint64, error) { return s.Publish(t.Context(), e) })
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestEventRoundTrip(t *testing.T) {
	s := open(t, Config{})
	for name, want := range map[string]hook.Event{
		"all":        fullEvent(),
		"least":      {ID: "x", Type: "Stop", Raw: []byte("{}")},
		"odd type":   {ID: "y", Type: "a.b *>\r\n", Raw: []byte("{}")},
		"no type":    {ID: "z", Raw: []byte("not JSON")},
		"empty":      {ID: "w", Type: "Stop"},
		"largest":    {ID: "v", Type: "Stop", Raw: bytes.Repeat([]byte("7"), hook.MaxEvent)},
		"control id": {ID: "u\r\nNats-Rollup: all", Type: "Stop", Raw: []byte("{}")},
	} {
		t.Run(name, func(t *testing.T) {
			want.Seq = mustPublish(t, s, want)
			got := collect(t, s, want.Seq, 1)[0]
			if want.Time.IsZero() {
				if got.Time.IsZero() {
					t.Error("the time of receipt is missing")
				}
				got.Time = time.Time{}
			}
			if got.Stored.IsZero() {
				t.Error("the time it was stored is missing")
			}
			got.Stored = time.Time{}
			if len(want.Raw) == 0 {
				want.Raw, got.Raw = nil, nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestPublishTwice(t *testing.T) {
	s := open(t, Config{})
	e := fullEvent()
	first := mustPublish(t, s, e)
	mustPublish(t, s, fullEvent())
	if again := mustPublish(t, s, e); again != first {
		t.Errorf("the same id again: %d, was %d", again, first)
	}
	if last, err := s.LastEventSeq(t.Context()); last != 2 || err != nil {
		t.Errorf("last is %d, %v", last, err)
	}
}

func TestOversize(t *testing.T) {
	s := open(t, Config{})
	e := fullEvent()
	e.Raw = bytes.Repeat([]byte("x"), hook.MaxEvent+1)
	seq := mustPublish(t, s, e)
	sum := sha256.Sum256(e.Raw)
	want := fmt.Sprintf(`{"assent_oversize":{"length":%d,"sha256":%q},"hook_event_name":"PreToolUse"}`, len(e.Raw), hex.EncodeToString(sum[:]))
	st, err := s.events.js.Stream(t.Context(), EventsStream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.GetMsg(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != want || m.Header.Get(HeaderOversize) != strconv.Itoa(len(e.Raw)) {
		t.Errorf("stored %q, header %q", m.Data, m.Header.Get(HeaderOversize))
	}
}

// Events that are gone are counted at the next one.
func TestEventsCountWhatIsMissing(t *testing.T) {
	s := open(t, Config{})
	for range 6 {
		mustPublish(t, s, fullEvent())
	}
	st, err := s.events.js.Stream(t.Context(), EventsStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{1, 3, 4} {
		if err := st.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	var got [][2]uint64
	for _, e := range collect(t, s, 1, 3) {
		got = append(got, [2]uint64{e.Seq, e.Missed})
	}
	// What was before the first one that a reader without a past finds is nothing it missed.
	if want := [][2]uint64{{2, 0}, {5, 2}, {6, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("sequence and missed: %v, want %v", got, want)
	}
	if e := collect(t, s, 4, 1)[0]; e.Seq != 5 || e.Missed != 1 {
		t.Errorf("from 4: %d, missed %d; want 5, missed 1", e.Seq, e.Missed)
	}
}

func TestEventsNewOnly(t *testing.T) {
	s := open(t, Config{})
	for range 3 {
		mustPublish(t, s, fullEvent())
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan uint64, 100_000)
	done := make(chan error)
	go func() { done <- s.Events(ctx, 0, func(e hook.Event) { got <- e.Seq }) }()
	// Which event is the first new one depends on when the reader began; from there on none
	// may be missing.
	var first uint64
	for first == 0 {
		select {
		case first = <-got:
		default:
			mustPublish(t, s, fullEvent())
		}
	}
	if first <= 3 {
		t.Errorf("an old event %d", first)
	}
	s.events.fail(errors.New("a test"), true)
	awaitHealthy(t, s)
	next := mustPublish(t, s, fullEvent())
	for want := first + 1; want <= next; want++ {
		if seq := receive(t, got); seq != want {
			t.Fatalf("got %d, want %d", seq, want)
		}
	}
	cancel()
	receive(t, done)
}

func TestMirrorKeepsTheLastTenThousand(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Listen: "127.0.0.1:0"})
	const n = 10_050
	for range n {
		if _, err := s.events.js.PublishAsync("hooks.Stop", []byte("{}"), jetstream.WithStallWait(patience)); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, s.events.js.PublishAsyncComplete())
	r := reader(t, s)
	var first, last uint64
	for last < n {
		st, err := r.js.Stream(t.Context(), HookEvents)
		if err != nil {
			t.Fatal(err)
		}
		first, last = st.CachedInfo().State.FirstSeq, st.CachedInfo().State.LastSeq
	}
	if first != n-10_000+1 {
		t.Errorf("the mirror begins at %d", first)
	}
	if last, err := s.LastEventSeq(t.Context()); last != n || err != nil {
		t.Errorf("EVENTS ends at %d, %v", last, err)
	}
	if got := collect(t, s, 1, n); got[0].Seq != 1 || got[n-1].Seq != n {
		t.Errorf("EVENTS has %d to %d", got[0].Seq, got[n-1].Seq)
	}
}

// The mirror goes on after the events server was restarted.
func TestMirrorAfterRestart(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Listen: "127.0.0.1:0"})
	mustPublish(t, s, fullEvent())
	s.events.fail(errors.New("a test"), true)
	awaitHealthy(t, s)
	e := fullEvent()
	mustPublish(t, s, e)
	sub, err := reader(t, s).old.SubscribeSync("hooks.>", nats.BindStream(HookEvents), nats.StartSequence(2))
	if err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Data, e.Raw) || m.Subject != "hooks.PreToolUse" {
		t.Errorf("%s %q", m.Subject, m.Data)
	}
}

// storedMsg is what EventOf needs of a message.
type storedMsg struct {
	jetstream.Msg
	m *nats.Msg
}

func (s storedMsg) Headers() nats.Header { return s.m.Header }
func (s storedMsg) Data() []byte         { return s.m.Data }
func (s storedMsg) Subject() string      { return s.m.Subject }

// Whatever an event is made of, its message is one that every server takes, and the event
// comes back from it.
func FuzzEventMessage(f *testing.F) {
	f.Add("id", "Stop", "host", 3, true, []byte("{}"), 100)
	f.Add("", "a.b", "\r\n\x00%", -1, false, []byte("xxxxx"), 2)
	f.Add("id", strings.Repeat("ä", 9000), strings.Repeat("x", 4097), 1, false, []byte("xxxxx"), 2)
	f.Fuzz(func(t *testing.T, id, eventType, host string, pid int, spooled bool, raw []byte, limit int) {
		want := hook.Event{ID: id, Type: eventType, Origin: hook.Origin{Host: host, PID: pid}, Spooled: spooled, Raw: raw}
		msg := eventMessage(want, limit)
		if len(msg.Data) > limit && !bytes.HasPrefix(msg.Data, []byte(`{"assent_oversize":{"length":`)) || !json.Valid(msg.Data) && len(raw) > limit {
			t.Fatalf("body %q for a limit of %d", msg.Data, limit)
		}
		if msg.Size()-len(msg.Data) > headerRoom {
			t.Fatalf("%d bytes of headers", msg.Size()-len(msg.Data))
		}
		for name, values := range msg.Header {
			if strings.ContainsAny(values[0], "\r\n\x00 ") {
				t.Fatalf("%s: %q", name, values)
			}
		}
		got := EventOf(storedMsg{m: msg}, 5, time.Time{})
		if got.Seq != 5 || got.Spooled != spooled || pid >= 0 && pid < 1<<31 && got.Origin.PID != pid {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for _, s := range [][2]string{{got.ID, id}, {got.Type, eventType}, {got.Origin.Host, host}} {
			if s[0] != s[1] && (len(s[1])*3 <= hook.MaxLabel || !strings.HasPrefix(s[1], s[0])) {
				t.Errorf("got %q, want %q", s[0], s[1])
			}
		}
	})
}
